"""JavaScript of `SparseCode`: the search for the code of an input, and its votes."""

from __future__ import annotations

#: Reads constants of `operations`.
SPARSE_CODE = """\
/** Prototypes that together reconstruct the input, and their amounts: greedily. */
function codeOf(alike) {
  const free = alike.map((value) => !Number.isNaN(value));
  const sizes = alike.filter((_, j) => free[j]).map(Math.abs);
  const largest = sizes.reduce((most, size) => Math.max(most, size), 0);
  const flat = round(FLAT * largest);
  const equal = round(EQUAL * largest);
  const pair = (i, j) => GRAM[i * alike.length + j];
  let support = [];
  let amount = [];
  let factor = []; // its diagonal holds reciprocals

  function append(chosen) {
    const row = [];
    let pivot = pair(chosen, chosen);
    factor.forEach((above, r) => {
      let rest = pair(chosen, support[r]);
      for (let t = 0; t < r; ++t) rest = round(rest - round(above[t] * row[t]));
      row.push(round(rest * above[r]));
      pivot = round(pivot - round(row[r] * row[r]));
    });
    factor.push([...row, inverseRoot(pivot)]);
    return pivot;
  }

  function solve() {
    const z = [];
    support.forEach((j, r) => {
      let rest = alike[j];
      for (let t = 0; t < r; ++t) rest = round(rest - round(factor[r][t] * z[t]));
      z.push(round(rest * factor[r][r]));
    });
    for (let r = z.length - 1; r >= 0; --r) {
      let rest = z[r];
      for (let t = r + 1; t < z.length; ++t) {
        rest = round(rest - round(factor[t][r] * z[t]));
      }
      z[r] = round(rest * factor[r][r]);
    }
    return z;
  }

  // Go towards the solution until a weight is 0, and take it out.
  function drop(z) {
    const shares = amount.map((x, r) => {
      if (z[r] > 0) return 2;
      if (!(x > z[r])) return 0;
      const root = inverseRoot(round(x - z[r]));
      return round(round(x * root) * root);
    });
    const share = Math.min(...shares);
    const first = shares.findIndex((own) => Object.is(own, share));
    const moved = amount.map((x, r) => round(x + round(share * round(z[r] - x))));
    const gone = round(GONE * moved.reduce((most, x) => (x > most ? x : most), 0));
    const before = support;
    support = [];
    amount = [];
    factor = [];
    before.forEach((j, r) => {
      if (r === first || (!(z[r] > 0) && moved[r] <= gone)) {
        free[j] = true;
      } else {
        append(j);
        support.push(j);
        amount.push(moved[r]);
      }
    });
  }

  let value = 0;
  let step = 0;
  while (step < MOST_STEPS) {
    const slopes = alike.map((own, j) => {
      let slope = -own;
      support.forEach((i, r) => {
        slope = round(slope + round(amount[r] * pair(i, j)));
      });
      return free[j] && !Number.isNaN(slope) ? slope : Infinity;
    });
    const near = round(slopes.reduce((least, slope) => Math.min(least, slope)) + equal);
    const chosen = slopes.findIndex((slope) => slope <= near && slope < -flat);
    if (chosen < 0) break;
    free[chosen] = false;
    if (!(append(chosen) > round(DEPENDENT * pair(chosen, chosen)))) {
      factor.pop(); // it depends on the others
      continue;
    }
    support.push(chosen);
    amount.push(0);
    ++step;
    let z = solve();
    while (!z.every((weight) => weight > 0)) {
      drop(z);
      z = solve();
    }
    amount = z;
    const lower = support.reduce(
      (sum, j, r) => round(sum + round(round(-0.5 * alike[j]) * amount[r])),
      0,
    );
    const fell = round(value - lower) > round(LITTLE * Math.abs(lower));
    if (!fell || support.length === CODE_SIZE) break;
    value = lower;
  }
  return { support, amount };
}

/** Votes of those prototypes. */
function sparseCode(alike) {
  const { support, amount } = codeOf(alike);
  const votes = new Array(N_OUTPUTS).fill(0);
  support.forEach((j, r) => {
    for (let k = 0; k < N_OUTPUTS; ++k) {
      votes[k] = round(votes[k] + round(VOTES[j * N_OUTPUTS + k] * amount[r]));
    }
  });
  if (!support.length) votes[WITHOUT_CODE] = UNREPRESENTED;
  return votes;
}
"""
