// SPDX-License-Identifier: Apache-2.0
// The report's controls. All data stand in the page; nothing is fetched. Text goes in as text,
// never as markup.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const byId = (id) => document.getElementById(id);
  const SVG = 'http://www.w3.org/2000/svg';
  const state = {subset: 0, coefficient: 'kendall', order: 'given', filter: '', pair: null};

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  function draw(tag, attributes, text) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  }

  // Tables: a click on a heading sorts, a second one turns the order around. Rows without a value
  // stay last.
  function makeSortable(table) {
    table.querySelectorAll('thead th').forEach((head, column) => {
      const button = make('button', {type: 'button'}, head.textContent);
      head.replaceChildren(button);
      button.addEventListener('click', () => {
        const up = head.getAttribute('aria-sort') === 'descending' ||
            (head.getAttribute('aria-sort') === null && !head.classList.contains('number'));
        table.querySelectorAll('thead th').forEach((th) => th.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
        const body = table.tBodies[0];
        const key = (row) => row.cells[column].dataset.v;
        const rows = [...body.rows];
        rows.sort((x, y) => {
          const [a, b] = [key(x), key(y)];
          if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
          const numbers = head.classList.contains('number');
          const order = numbers ? Number(a) - Number(b) : a.localeCompare(b);
          return up ? order : -order;
        });
        body.append(...rows);
      });
    });
  }
  function makeFilterable(input) {
    const table = byId(input.dataset.table);
    const count = byId(input.dataset.count);
    input.addEventListener('input', () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const text = (row.dataset.text || row.textContent).toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = `${shown} of ${table.tBodies[0].rows.length} rows`;
    });
  }

  const matrix = () => data.subsets[state.subset].matrices[state.coefficient];
  function pairIndex(a, b) {
    const [i, j] = a < b ? [a, b] : [b, a];
    return i * (2 * data.benchmarks.length - i - 1) / 2 + (j - i - 1);
  }
  const firstNames = (approaches, most) => {
    const names = approaches.slice(0, most).map((i) => data.approaches[i].name).join('; ');
    return approaches.length > most ? `${names} and ${approaches.length - most} more` : names;
  };
  const fixed = (value, decimals = 2) => value.toFixed(decimals).replace(/^-(0\.0+)$/, '$1');
  const intervalText = (k) => `[${fixed(matrix().low[k])}, ${fixed(matrix().high[k])}]`;
  // The mark of analysis/statistics/intervals.h: an interval without width.
  const dagger = (k) => matrix().low[k] !== null && matrix().low[k] === matrix().high[k] ? '†' : '';
  // Long names lose their middle, as in report/text.h.
  function shortName(name, max) {
    const letters = [...name];
    if (letters.length <= max) return name;
    const head = Math.floor(max / 2);
    return `${letters.slice(0, head).join('')}…${letters.slice(letters.length - (max - 1 - head)).join('')}`;
  }
  function pairText(k, withInterval) {
    const m = matrix();
    let text = m.value[k] === null ? 'undef' : fixed(m.value[k]);
    if (withInterval && m.low[k] !== null) text += ` ${intervalText(k)}`;
    return text + dagger(k) + (m.missing[k].length ? '*' : '');
  }

  function shownBenchmarks() {
    const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const list = data.benchmarks.map((b, i) => i).filter((i) => {
      const text = data.benchmarks[i].text.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    if (state.order === 'name') {
      list.sort((a, b) => data.benchmarks[a].name.localeCompare(data.benchmarks[b].name));
    } else if (state.order === 'mean') {
      const mean = (a) => {
        const values = list.filter((b) => b !== a).map((b) => matrix().value[pairIndex(a, b)])
            .filter((v) => v !== null);
        return values.length ? values.reduce((x, y) => x + y, 0) / values.length : -2;
      };
      const means = new Map(list.map((a) => [a, mean(a)]));
      list.sort((a, b) => means.get(b) - means.get(a));
    }
    return list;
  }

  // The colours of report/figures/svg_canvas.cc, brown over white to blue, and lighter ones for
  // paper, on which black can be read.
  function mix(zero, end, value) {
    return end.map((c) => Math.round(zero + Math.min(1, Math.abs(value)) * (c - zero)));
  }
  const cellColor = (value) => mix(247, value < 0 ? [224, 130, 20] : [67, 147, 195], value);
  const paperColor = (value) => mix(255, value < 0 ? [230, 185, 140] : [157, 191, 227], value);
  function luminance(color) {
    const [r, g, b] = color.map((c) => c / 255)
        .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  const inkOn = (color) => (luminance(color) + 0.05) ** 2 >= 0.05 * 1.05 ? '#000000' : '#ffffff';

  function matrixCell(a, b) {
    const k = pairIndex(a, b);
    const m = matrix();
    const tells = m.value[k] !== null && m.n[k] > 2; // two approaches agree wholly, or not at all
    const color = tells ? cellColor(m.value[k]) : [224, 224, 224];
    const button = make('button', {type: 'button', 'aria-pressed': state.pair === k},
        pairText(k, false));
    button.title = `${data.benchmarks[a].name} – ${data.benchmarks[b].name}: ` +
        `${pairText(k, true)}, n = ${m.n[k]}`;
    button.setAttribute('aria-label', button.title);
    button.style.setProperty('--cell', `rgb(${color})`);
    button.style.setProperty('--cell-ink', inkOn(color));
    button.style.setProperty('--cell-paper',
        `rgb(${tells ? paperColor(m.value[k]) : color})`);
    if (m.low[k] !== null) button.append(make('small', {}, intervalText(k)));
    button.addEventListener('click', () => {
      state.pair = k;
      renderMatrix();
      renderPair(Math.min(a, b), Math.max(a, b));
    });
    return make('td', {}, button);
  }

  // The notes name benchmarks by their numbers.
  const numbered = (b) => `${b + 1}  ${shortName(data.benchmarks[b].name, 28)}`;

  function renderMatrix() {
    const list = shownBenchmarks();
    const m = matrix();
    const head = make('tr', {}, make('th', {scope: 'col'}, 'benchmark'));
    for (const b of list) {
      head.append(make('th', {scope: 'col', title: data.benchmarks[b].name},
          make('div', {}, numbered(b))));
    }
    const body = make('tbody');
    for (const a of list) {
      const row = make('tr', {}, make('th', {scope: 'row', title: data.benchmarks[a].name},
          numbered(a)));
      for (const b of list) row.append(a === b ? make('td', {class: 'self'}) : matrixCell(a, b));
      body.append(row);
    }
    byId('matrix').replaceChildren(make('thead', {}, head), body);
    byId('matrix-title').textContent = m.title;
    byId('matrix-notes').replaceChildren(...m.notes.map((note) => make('p', {class: 'quiet'}, note)));
    byId('matrix-count').textContent = `${list.length} of ${data.benchmarks.length} benchmarks`;
    renderPairs(new Set(list));
  }

  function renderPairs(shown) {
    const m = matrix();
    const body = make('tbody');
    const number = (value, text) => {
      const cell = make('td', {class: 'number'}, text);
      if (value !== null) cell.dataset.v = value;
      return cell;
    };
    let k = 0;
    for (let a = 0; a < data.benchmarks.length; ++a) {
      for (let b = a + 1; b < data.benchmarks.length; ++b, ++k) {
        if (!shown.has(a) || !shown.has(b)) continue;
        const [first, second] = [data.benchmarks[a].name, data.benchmarks[b].name];
        const row = make('tr', {},
            make('th', {scope: 'row', 'data-v': first}, first),
            make('td', {'data-v': second}, second),
            number(m.value[k], m.value[k] === null ? 'undef' : fixed(m.value[k])),
            number(m.low[k], m.low[k] === null ? '—' : fixed(m.low[k])),
            number(m.high[k], m.high[k] === null ? '—' : fixed(m.high[k]) + dagger(k)),
            number(m.n[k], m.n[k] + (m.missing[k].length ? '*' : '')),
            number(m.free[k], m.free[k] === null ? '—' : fixed(m.free[k])),
            make('td', {'data-v': m.missing[k].length},
                firstNames(m.missing[k], 3)));
        body.append(row);
      }
    }
    const table = byId('pairs');
    table.tBodies[0].replaceWith(body);
    table.querySelectorAll('thead th').forEach((th) => th.removeAttribute('aria-sort'));
  }

  const groupTag = () => data.group_by;
  function groupsOf() {
    const values = [...new Set(data.approaches.map((a) => a.tags[groupTag()] || ''))].sort();
    return {values, of: (i) => values.indexOf(data.approaches[i].tags[groupTag()] || '')};
  }
  const shapes = ['m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z', 'm0 -5l4.8 8.4h-9.6z',
    'm-3.6 -3.6h7.2v7.2h-7.2z', 'm0 -5l5 5l-5 5l-5 -5z', 'm-4 -4l8 8m0 -8l-8 8',
    'm0 5l4.8 -8.4h-9.6z'];
  function marker(group, x, y, title) {
    const color = `var(--group-${group % shapes.length})`;
    const node = draw('path', {d: `M${x.toFixed(1)} ${y.toFixed(1)}${shapes[group % shapes.length]}`,
      fill: color, 'fill-opacity': 0.85, stroke: color});
    if (title) node.append(draw('title', {}, title));
    return node;
  }
  function ticksOf(low, high) {
    const rough = (high - low) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999);
    const ticks = [];
    for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + 1e-9 * step; t += step) {
      ticks.push(Number(t.toPrecision(6)));
    }
    return ticks;
  }

  // Names beside their points, over no other point or name, where there is room
  // (report/figures/label_places.h).
  function drawLabels(svg, points) {
    const taken = points.map((p) => [p.x - 4.5, p.y - 4.5, p.x + 4.5, p.y + 4.5]);
    for (const p of points) {
      const text = draw('text', {class: 'name'}, shortName(p.name, 24));
      const width = 5.2 * [...text.textContent].length;
      const lefts = [p.x + 6.5, p.x - 6.5 - width, p.x - width / 2];
      const tops = [p.y - 5, p.y - 16.5, p.y + 6.5];
      const free = [[0, 0], [1, 0], [2, 1], [2, 2], [0, 1], [0, 2], [1, 1], [1, 2]]
          .map(([column, row]) => [lefts[column], tops[row], lefts[column] + width, tops[row] + 10])
          .find((box) => box[0] >= 52 && box[2] <= 352 && box[1] >= 10 && box[3] <= 310 &&
              !taken.some((t) => box[0] < t[2] && t[0] < box[2] && box[1] < t[3] && t[1] < box[3]));
      if (!free) continue;
      taken.push(free);
      text.setAttribute('x', free[0].toFixed(1));
      text.setAttribute('y', (free[3] - 1.5).toFixed(1));
      svg.append(text);
    }
  }

  function renderPair(a, b) {
    const inSubset = data.subsets[state.subset].approaches;
    const points = inSubset.filter((i) => data.scores[a][i] !== null && data.scores[b][i] !== null);
    const range = (benchmark) => {
      const values = points.map((i) => data.scores[benchmark][i]);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const room = high > low ? 0.06 * (high - low) : 0.5;
      return points.length ? [low - room, high + room] : [0, 1];
    };
    const [xLow, xHigh] = range(a);
    const [yLow, yHigh] = range(b);
    // Better is right and up, also where less is better.
    const lessIsBetter = (benchmark) => data.benchmarks[benchmark].sign < 0;
    const share = (v, low, high, turned) => turned ? (high - v) / (high - low) : (v - low) / (high - low);
    const X = (v) => 52 + share(v, xLow, xHigh, lessIsBetter(a)) * 300;
    const Y = (v) => 310 - share(v, yLow, yHigh, lessIsBetter(b)) * 300;
    const svg = draw('svg', {viewBox: '0 0 370 350', class: 'plot', role: 'img',
      'aria-label': `${data.benchmarks[a].name} against ${data.benchmarks[b].name}`});
    for (const t of ticksOf(xLow, xHigh)) {
      svg.append(draw('path', {d: `M${X(t)} 10V310`, class: 'grid'}),
          draw('text', {x: X(t), y: 325, 'text-anchor': 'middle'}, t));
    }
    for (const t of ticksOf(yLow, yHigh)) {
      svg.append(draw('path', {d: `M52 ${Y(t)}H352`, class: 'grid'}),
          draw('text', {x: 47, y: Y(t) + 4, 'text-anchor': 'end'}, t));
    }
    const label = (benchmark) => shortName(data.benchmarks[benchmark].name, 44) +
        (lessIsBetter(benchmark) ? ' (less is better)' : '');
    svg.append(draw('rect', {x: 52, y: 10, width: 300, height: 300, class: 'frame'}),
        draw('text', {x: 202, y: 343, 'text-anchor': 'middle'}, label(a)),
        draw('text', {x: 12, y: 160, 'text-anchor': 'middle', transform: 'rotate(-90 12 160)'},
            label(b)));
    const groups = groupsOf();
    for (const i of points) {
      svg.append(marker(groups.of(i), X(data.scores[a][i]), Y(data.scores[b][i]),
          `${data.approaches[i].name}: ${data.scores[a][i]}, ${data.scores[b][i]}`));
    }
    if (byId('labels').checked) {
      drawLabels(svg, points.map((i) => (
          {name: data.approaches[i].name, x: X(data.scores[a][i]), y: Y(data.scores[b][i])})));
    }
    const legend = make('ul', {class: 'legend'});
    if (groups.values.length > 1) {
      groups.values.forEach((value, g) => {
        const mark = draw('svg', {width: 14, height: 14, 'aria-hidden': 'true'});
        mark.append(marker(g, 7, 7));
        legend.append(make('li', {}, mark, value === '' ? ` no ${groupTag()}` : ` ${groupTag()}=${value}`));
      });
    }
    const k = pairIndex(a, b);
    const facts = make('dl');
    const m = matrix();
    const add = (name, text) => facts.append(make('dt', {}, name), make('dd', {}, text));
    add(data.coefficient_names[state.coefficient], pairText(k, true));
    add('approaches', String(m.n[k]));
    if (m.free[k] !== null) add('without noise of seeds', fixed(m.free[k]));
    if (m.reason[k]) add('undefined', m.reason[k]);
    if (m.missing[k].length) {
      add('without both scores', firstNames(m.missing[k], 20));
    }
    byId('pair-title').textContent = `${data.benchmarks[a].name} – ${data.benchmarks[b].name}`;
    byId('pair-plot').replaceChildren(svg, legend);
    byId('pair-facts').replaceChildren(facts, swapsOf(a, b, points));
    byId('pair').hidden = false;
  }

  // The approaches that swap places, the largest lesser margin (in standard deviations) first.
  function swapsOf(a, b, points) {
    const spread = (benchmark) => {
      const values = points.map((i) => data.scores[benchmark][i]);
      const mean = values.reduce((x, y) => x + y, 0) / values.length;
      return Math.sqrt(values.reduce((x, y) => x + (y - mean) ** 2, 0) / (values.length - 1)) || 1;
    };
    const [sa, sb] = [spread(a), spread(b)];
    const swaps = [];
    for (const i of points) {
      for (const j of points) {
        const da = data.benchmarks[a].sign * (data.scores[a][i] - data.scores[a][j]);
        const db = data.benchmarks[b].sign * (data.scores[b][j] - data.scores[b][i]);
        if (da > 0 && db > 0) swaps.push({i, j, da, db, key: Math.min(da / sa, db / sb)});
      }
    }
    swaps.sort((x, y) => y.key - x.key);
    const list = make('ul');
    for (const s of swaps.slice(0, 8)) {
      list.append(make('li', {}, `${data.approaches[s.i].name} ahead by ${fixed(s.da, data.benchmarks[a].decimals)}, then ` +
          `${data.approaches[s.j].name} by ${fixed(s.db, data.benchmarks[b].decimals)}`));
    }
    const rest = swaps.length - Math.min(8, swaps.length);
    return make('div', {}, make('p', {}, `${swaps.length} of ` +
        `${points.length * (points.length - 1) / 2} pairs of approaches swap places` +
        (swaps.length ? ':' : '.')), list, rest ? make('p', {class: 'quiet'},
        `and ${rest} closer ones`) : '');
  }

  const theme = byId('theme');
  const setTheme = (value) => {
    if (value === 'auto') document.documentElement.removeAttribute('data-theme');
    else document.documentElement.dataset.theme = value;
    theme.value = value;
  };
  theme.addEventListener('change', () => setTheme(theme.value));
  if (location.hash === '#dark' || location.hash === '#light') setTheme(location.hash.slice(1));

  document.querySelectorAll('table.sortable').forEach(makeSortable);
  document.querySelectorAll('input[data-table]').forEach(makeFilterable);
  document.querySelectorAll('[data-needs-script]').forEach((node) => { node.hidden = false; });
  if (!data.subsets.length) return;
  const react = (id, field, convert) => byId(id).addEventListener('input', () => {
    if (field) state[field] = convert(byId(id).value);
    renderMatrix();
    if (state.pair !== null && !byId('pair').hidden) {
      for (let a = 0, k = 0; a < data.benchmarks.length; ++a) {
        for (let b = a + 1; b < data.benchmarks.length; ++b, ++k) {
          if (k === state.pair) renderPair(a, b);
        }
      }
    }
  });
  data.subsets.forEach((subset, i) => byId('subset').append(
      make('option', {value: i}, `${subset.name} (${subset.approaches.length})`)));
  react('coefficient', 'coefficient', String);
  react('subset', 'subset', Number);
  react('order', 'order', String);
  react('filter', 'filter', String);
  react('labels');
  renderMatrix();
  state.pair = 0;
  renderMatrix();
  renderPair(0, 1);
})();
