/** The terms of a prediction: of classes, of the lead over the runner-up. */
function leadOf(x) {
  const terms = contributions(x);
  const apart = (own, other) =>
    terms[own].map((term, i) => {
      const here = term - (REFERENCE.length ? REFERENCE[own][i] : 0);
      if (other < 0) return here;
      return here - (terms[other][i] - (REFERENCE.length ? REFERENCE[other][i] : 0));
    });
  if (!CLASSES.length) return { total: value(x), parts: apart(0, -1) };
  const found = scores(x);
  const first = (values, matches) =>
    values.reduce(
      (best, one, k) => (matches(k) && !(one <= values[best]) ? k : best),
      -1,
    );
  const winner = predict(x);
  const runner = first(found, (k) => k !== winner);
  const rows = rowScores(x);
  const [own, other] = [winner, runner].map((k) => first(rows, (r) => OWNER[r] === k));
  const total = found[winner] - found[runner];
  return { total, parts: apart(own, other), winner, runner };
}
