/** The layer of assignments: rows tied to their prototypes, and borders between prototypes of one class. */

import { UNKNOWN, classColour, css, disc, strokes } from "./marks.js";
import { innerBorders } from "./regions.js";

const HUB = 8; // px: radius of the disc with a prototype's number

/**
 * Where the ties of each prototype meet: at an invented case itself, otherwise in the middle
 * of the rows tied to it, since a direction has no place. Null where no row is tied.
 * @param {Uint8Array} rows prototype of each row @param {object} points
 * @param {object} prototypes of the picture
 */
export function hubs(rows, { x, y }, { owner, marks, mark_size: stars }) {
  const sums = Array.from(owner, () => [0, 0, 0]);
  rows.forEach((j, i) => {
    if (j === UNKNOWN) return;
    sums[j][0] += x[i];
    sums[j][1] += y[i];
    sums[j][2] += 1;
  });
  return sums.map(([sx, sy, n], j) => {
    if (!n) return null;
    return stars ? { x: marks[2 * j], y: marks[2 * j + 1], n } : { x: sx / n, y: sy / n, n };
  });
}

/** Can this layer be drawn: is it known which rows belong to what? */
const fits = (picture, points) => picture.assignments?.rows.length === points.x.length;

/** Thin borders between the prototypes of one class. */
export function drawInnerBorders(pen, theme, plot, picture) {
  plot.tracePath(pen, innerBorders(picture), picture.grid);
  strokes(pen, [2.4, css(theme.back, 0.6)], [0.9, css(theme.text, 0.85)]);
}

/** A thin line from each row to its prototype, in the colour of the prototype's class. */
export function drawTies(pen, theme, plot, picture) {
  const { points } = plot;
  if (!fits(picture, points)) return;
  const { prototypes, assignments: { rows } } = picture;
  const places = hubs(rows, points, prototypes);
  const many = rows.length > 500;
  places.forEach((hub, j) => {
    if (!hub) return;
    pen.beginPath();
    rows.forEach((k, i) => {
      if (k !== j) return;
      pen.moveTo(plot.px(points.x[i]), plot.py(points.y[i]));
      pen.lineTo(plot.px(hub.x), plot.py(hub.y));
    });
    strokes(pen, many ? [0.5, css(theme.text, 0.3)] : [0.9, css(theme.text, 0.5)]);
  });
}

/** The number of each prototype where its ties meet. */
export function drawHubs(pen, theme, plot, picture) {
  if (!fits(picture, plot.points)) return;
  const { prototypes, assignments: { rows } } = picture;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  hubs(rows, plot.points, prototypes).forEach((hub, j) => {
    if (!hub) return;
    const [x, y] = [plot.px(hub.x), plot.py(hub.y) - (prototypes.mark_size ? 2 * HUB : 0)];
    disc(pen, x, y, HUB, css(theme.back));
    strokes(pen, [2, css(classColour(prototypes.owner[j], theme))]);
    pen.fillStyle = css(theme.text);
    pen.fillText(`${j + 1}`, x, y + 0.5, 2 * HUB - 3);
  });
}
