/** The tools of the figure: everything that differs between them stands in this one table. */

const CHOSEN = "keyboard: arrow keys, then Enter.";
const READ = "keyboard: focus it, then move a crosshair with the arrow keys.";
const pan = (hand, gesture, px, py, dx, dy) => hand.plot.pan(dx, dy);
const nothing = () => {};

/**
 * Of each tool: `label` on its button and `name` for those who hear the page; `hint`, two
 * lines below the figure, the second for the keyboard (`valued` and `curved`: the first line
 * where a number is predicted, in a plane and on a curve); `cursor` of the pointer;
 * `adds`: whether it makes points of the chosen class or value; `act(hand, place, index)` on
 * a click or Enter; `drag(hand, gesture, px, py, dx, dy)` while the pressed pointer moves.
 */
export const TOOLS = {
  look: {
    label: "Look", name: "Look (tool)", cursor: "default", adds: false,
    hint: ["Point at the figure to read the scores;", READ],
    valued: "Point at the figure to read the predictions;", curved: "Point at the figure to read the predictions;",
    act: nothing, drag: pan,
  },
  add: {
    label: "Add", name: "Add (tool)", cursor: "crosshair", adds: true,
    hint: ["Click to add a point of the class chosen above;", CHOSEN],
    valued: "Click to add a point of the value above;", curved: "Click to add a point there;",
    act: (hand, place) => hand.add(place), drag: nothing,
  },
  spray: {
    label: "Spray", name: "Spray (tool)", cursor: "crosshair", adds: true,
    hint: ["Press and drag to add several points around the pointer;", CHOSEN],
    act: (hand, { x, y }) => hand.spray([[x, y]], false), drag: (hand, ...rest) => hand.stroke(...rest),
  },
  outliers: {
    label: "Outliers", name: "Two outliers (tool)", cursor: "crosshair", adds: true,
    hint: ["Click far from a class to add two training points of the class chosen above;", CHOSEN],
    valued: "Click to add two training points of the value above;", curved: "Click to add two training points there;",
    act: (hand, place) => hand.outliers(place), drag: nothing,
  },
  move: {
    label: "Move", name: "Move (tool)", cursor: "grab", adds: false,
    hint: ["Drag a point, or click it and then its new position;", "keyboard: [ or ] selects a point, Enter picks it up and puts it down."],
    act: (hand, place, index) => hand.hold(index),
    drag: (hand, gesture, px, py, ...by) => (gesture.kind === "grip" ? hand.drag(hand.plot.place(px, py), true) : pan(hand, gesture, px, py, ...by)),
  },
  erase: {
    label: "Erase", name: "Erase (tool)", cursor: "crosshair", adds: false,
    hint: ["Click a point, or drag over several;", "keyboard: [ or ] selects a point, Delete erases it."],
    act: (hand, place, index) => hand.erase(index), drag: (hand, ...rest) => hand.sweep(...rest),
  },
};

/** What a tool does, with the pointer and with keys. */
export function hintOf(tool, target) {
  const { hint: [first, second], valued, curved } = TOOLS[tool];
  return [(target && (target.curve ? curved : valued)) || first, second];
}
