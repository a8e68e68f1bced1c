/** Decision regions from winner and margin at grid nodes, exact inside the cells. */

import { clamp } from "./elements.js";
import { BANDS } from "./marks.js";

/** Cell and fraction of every pixel centre on one axis, and where each cell's run starts. */
export function locate(pixels, nodes, from, to) {
  const cell = new Int32Array(pixels);
  const part = new Float32Array(pixels);
  const runs = [];
  for (let i = 0; i < pixels; i++) {
    const at = clamp(from + ((to - from) * (i + 0.5)) / pixels, 0, nodes - 1);
    cell[i] = Math.min(Math.floor(at), nodes - 2);
    part[i] = at - cell[i];
    if (i === 0 || cell[i] !== cell[i - 1]) runs.push(i);
  }
  return { cell, part, runs: Int32Array.from([...runs, pixels]) };
}

export const SQUARES = Float32Array.from({ length: 256 }, (_, q) => (q / 255) ** 2);
const bandOf = (m) => (m < BANDS[1] ? (m < BANDS[0] ? 0 : 1) : m < BANDS[2] ? 2 : 3);

/**
 * Fill `out` with region colours. Between nodes a class weighs the interpolated margin of
 * the nodes it wins; the heaviest class wins the pixel. For two classes that is the sign of
 * the interpolated gap, so the boundary is exact inside a cell.
 * @param {Uint32Array} out @param {object} picture @param {object} cols @param {object} rows
 * @param {Uint32Array} table colour of class * 4 + band
 */
export function paintRegions(out, picture, cols, rows, table) {
  const { winner, margin } = picture;
  const gx = picture.grid[0];
  const width = cols.cell.length;
  const mass = new Float64Array(4);
  for (let r = 0; r + 1 < rows.runs.length; r++) {
    for (let c = 0; c + 1 < cols.runs.length; c++) {
      const [x0, x1, y0, y1] = [cols.runs[c], cols.runs[c + 1], rows.runs[r], rows.runs[r + 1]];
      const node = rows.cell[y0] * gx + cols.cell[x0];
      const k0 = winner[node];
      const k1 = winner[node + 1];
      const k2 = winner[node + gx];
      const k3 = winner[node + gx + 1];
      const m0 = SQUARES[margin[node]];
      const m1 = SQUARES[margin[node + 1]];
      const m2 = SQUARES[margin[node + gx]];
      const m3 = SQUARES[margin[node + gx + 1]];
      const same = k0 === k1 && k0 === k2 && k0 === k3;
      const band = bandOf(m0);
      const plain = same && band === bandOf(m1) && band === bandOf(m2) && band === bandOf(m3);
      const s1 = k1 === k0 ? 0 : 1;
      const s2 = k2 === k0 ? 0 : k2 === k1 ? 1 : 2;
      const s3 = k3 === k0 ? 0 : k3 === k1 ? 1 : k3 === k2 ? s2 : 3;
      for (let y = y0; y < y1; y++) {
        const fy = rows.part[y];
        let p = y * width + x0;
        if (plain) {
          const colour = table[k0 * 4 + band];
          for (let x = x0; x < x1; x++) out[p++] = colour;
        } else if (same) {
          const left = m0 + (m2 - m0) * fy;
          const slope = m1 + (m3 - m1) * fy - left;
          for (let x = x0; x < x1; x++)
            out[p++] = table[k0 * 4 + bandOf(left + slope * cols.part[x])];
        } else {
          for (let x = x0; x < x1; x++) {
            const fx = cols.part[x];
            mass.fill(0);
            mass[0] = m0 * (1 - fx) * (1 - fy);
            mass[s1] += m1 * fx * (1 - fy);
            mass[s2] += m2 * (1 - fx) * fy;
            mass[s3] += m3 * fx * fy;
            let best = 0;
            let second = -1;
            for (let s = 1; s < 4; s++) {
              if (mass[s] > mass[best]) {
                second = mass[best];
                best = s;
              } else if (mass[s] > second) second = mass[s];
            }
            const k = best === 0 ? k0 : best === s1 ? k1 : best === s2 ? k2 : k3;
            out[p++] = table[k * 4 + bandOf(mass[best] - Math.max(second, 0))];
          }
        }
      }
    }
  }
}

/** Line segments (x0, y0, x1, y1 in grid units) where the winner changes, by marching squares. */
export function boundaries(picture) {
  picture.segments ??= segments(picture.winner, picture.margin, picture.grid);
  return picture.segments;
}

/** The same where the deciding prototype changes inside the region of one class. */
export function innerBorders({ winner, grid, assignments }) {
  const gx = grid[0];
  const same = (node) =>
    winner[node] === winner[node + 1] && winner[node] === winner[node + gx] && winner[node] === winner[node + gx + 1];
  assignments.segments ??= segments(assignments.winner, assignments.lead, grid, same);
  return assignments.segments;
}

const CORNERS = [[0, 0], [1, 0], [1, 1], [0, 1]];

/** Where a line cuts the sides of a cell: of those between nodes that `isCut` at a `share` of their length. */
export function cutsOf(x, y, gx, isCut, share) {
  const step = [0, 1, gx + 1, gx];
  const cuts = [];
  for (let e = 0; e < 4; e++) {
    const [a, b] = [y * gx + x + step[e], y * gx + x + step[(e + 1) % 4]];
    if (!isCut(a, b)) continue;
    const t = share(a, b);
    const [from, to] = [CORNERS[e], CORNERS[(e + 1) % 4]];
    cuts.push([x + from[0] + t * (to[0] - from[0]), y + from[1] + t * (to[1] - from[1])]);
  }
  return cuts;
}

/** The node of a grid that is nearest to a place. */
export function nodeAt([gx, gy], { x, y }, view) {
  const step = (v, [low, high], n) => Math.round(clamp((v - low) / (high - low), 0, 1) * (n - 1));
  return step(y, view.y, gy) * gx + step(x, view.x, gx);
}

/** Segments between unlike winners, in the cells that `counts` takes (by their first node). */
function segments(winner, margin, [gx, gy], counts = () => true) {
  const found = [];
  const isCut = (a, b) => winner[a] !== winner[b];
  const share = (a, b) => {
    const [ma, mb] = [SQUARES[margin[a]], SQUARES[margin[b]]];
    return ma + mb > 0 ? ma / (ma + mb) : 0.5;
  };
  for (let y = 0; y + 1 < gy; y++) {
    for (let x = 0; x + 1 < gx; x++) {
      const node = y * gx + x;
      const k = winner[node];
      if (k === winner[node + 1] && k === winner[node + gx] && k === winner[node + gx + 1]) continue;
      if (!counts(node)) continue;
      const cuts = cutsOf(x, y, gx, isCut, share);
      const saddle = k === winner[node + gx + 1] && winner[node + 1] === winner[node + gx];
      if (cuts.length === 2) found.push(...cuts[0], ...cuts[1]);
      else if (saddle) {
        const own = margin[node] ** 2 + margin[node + gx + 1] ** 2;
        const other = margin[node + 1] ** 2 + margin[node + gx] ** 2;
        const [a, b, c, d] = own > other ? [0, 1, 2, 3] : [3, 0, 1, 2];
        found.push(...cuts[a], ...cuts[b], ...cuts[c], ...cuts[d]);
      } else {
        const middle = [0, 1].map((i) => cuts.reduce((sum, p) => sum + p[i], 0) / cuts.length);
        for (const cut of cuts) found.push(...cut, ...middle);
      }
    }
  }
  return Float32Array.from(found);
}
