// SPDX-License-Identifier: Apache-2.0
// Colours of coefficients: blue for agreement, white for none, orange for the opposite. The pair is
// told apart with every common colour blindness. Pure function.

const WHITE = [255, 255, 255];
const BLACK = [0, 0, 0];
const ENDS = { positive: [5, 72, 135], negative: [166, 77, 4] };

// Background and text of a coefficient from −1 to 1; the text's contrast is at least 4.5 : 1.
export function coefficientColours(value) {
  const share = Math.min(1, Math.abs(value));
  const end = value < 0 ? ENDS.negative : ENDS.positive;
  const background = end.map((channel) => Math.round(255 + (channel - 255) * share));
  return {
    background: `rgb(${background.join(",")})`,
    text: contrast(background, WHITE) > contrast(background, BLACK) ? "#ffffff" : "#000000",
  };
}

// WCAG's contrast of two colours.
export function contrast(a, b) {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(channels) {
  const [red, green, blue] = channels.map((channel) => {
    const share = channel / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
