/** The state of a figure: one plain object, which all parts read, and one way to change it. */

/** @param {(what: string) => void} schedule painting @returns the state, to be read, and what changes it */
export function beginState(schedule) {
  const values = {
    theme: null, // colours and type of the place
    scene: null, // rows, classes and window
    path: null, // of solved values, if the method has one
    knots: new Map(), // index on the path -> its picture
    list: null, // controls
    shown: null, // the picture on the screen
    settled: false, // nothing moves: what is shown is the fit of what the controls say
    waits: false, // the table is too large for previews: a drag is answered when it ends
    job: null, // a fit that takes long
    layingOut: null, // a map that takes long
    tool: "look", // in the hand
    show: { bands: true, arrows: true, points: true, assignments: false, equal: false },
    answers: null, // in a file: computes scores of places and rows
    selected: new Set(), // rows of the table
    selection: null, // what the engine says of them
    lit: "", // the marks that a term of the formula moves, while it is pointed at
    phone: false, // a narrow place
  };
  const set = (changes, what) => {
    Object.assign(values, changes);
    if (what) schedule(what);
  };
  return [Object.freeze(Object.create(values)), set];
}
