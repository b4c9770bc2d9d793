# SPDX-License-Identifier: Apache-2.0
"""Progress in notebooks."""

from __future__ import annotations

import html
import time
from typing import Any, Callable, Iterable, Mapping

_REDRAW_SECONDS = 0.5


def show_in_notebook(get: Callable[[], Mapping[str, Any]], events: Iterable[Any]) -> None:
    """A bar (a line of text where there is no HTML) that follows the events until they end."""
    from IPython.display import display

    # An element of HTML and not a widget, which would need an extension of the page to show.
    handle = display({"text/plain": ""}, raw=True, display_id=True)

    def draw() -> None:
        sweep = get()
        counts = sweep["counts"]
        states = ("succeeded", "failed", "skipped", "stopped", "canceled")
        ended = {state: counts[state] for state in states}
        text = f"{sweep['name']}: " + ", ".join(f"{n} {state}" for state, n in ended.items() if n)
        text += f" of {sweep['jobs']} jobs"
        bar = f'<progress max="{sweep["jobs"]}" value="{sweep["done"]}"></progress> '
        handle.update({"text/plain": text, "text/html": bar + html.escape(text)}, raw=True)

    drawn = 0.0
    for _ in events:
        if time.monotonic() - drawn >= _REDRAW_SECONDS:
            draw()
            drawn = time.monotonic()
    draw()
