/** The tools of the figure: everything that differs between them stands in this one table. */

const CHOSEN = "Keyboard: arrow keys, then Enter.";
const READ = "Keyboard: focus it, then move a crosshair with the arrow keys.";
const pan = (hand, gesture, px, py, dx, dy) => hand.plot.pan(dx, dy);
const nothing = () => {};

/**
 * Of each tool: `label` on its button, whose first letter is its key, below its `icon`, and
 * `name` for those who hear the page; `hint`, two lines below the figure, the second for the
 * keyboard (`valued` and `curved`: the first line where a number is predicted, and where it
 * is on a curve); `cursor` of the pointer; `adds`: whether it makes points of the chosen class
 * or value; `act(hand, place, index)` on a click or Enter; `drag(hand, gesture, px, py, dx, dy)`
 * while the pressed pointer moves.
 */
export const TOOLS = {
  look: {
    label: "Look", name: "Look (tool)", cursor: "default", adds: false,
    icon: "M2 12q10-13 20 0-10 13-20 0zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
    hint: ["Point at the figure to read the scores.", READ],
    valued: "Point at the figure to read the predictions.",
    act: nothing, drag: pan,
  },
  box: {
    label: "Box", name: "Select rows in a box (tool)", cursor: "crosshair", adds: false,
    icon: "M4 8V4h4M11 4h3M17 4h3v4M20 11v3M20 17v3h-4M13 20h-3M7 20H4v-4M4 13v-2",
    hint: ["Drag a box around rows to select them. With Ctrl, they are added.", "Keyboard: Enter at one corner, arrow keys, Enter at the opposite one."],
    act: (hand, place) => hand.corner(place), drag: (hand, ...rest) => hand.stretch(...rest),
  },
  add: {
    label: "Add", name: "Add (tool)", cursor: "crosshair", adds: true,
    icon: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 8v8M8 12h8",
    hint: ["Click to add a point of the class chosen above.", CHOSEN],
    valued: "Click to add a point of the value above.", curved: "Click to add a point there.",
    act: (hand, place) => hand.add(place), drag: nothing,
  },
  spray: {
    label: "Spray", name: "Spray (tool)", cursor: "crosshair", adds: true,
    icon: "M3 10h8v11H3zM5 10V6h4v4M14 6h.1M18 4h.1M18 8h.1M21 6h.1M15 10h.1M20 11h.1",
    hint: ["Press and drag to add several points around the pointer.", CHOSEN],
    act: (hand, { x, y }) => hand.spray([[x, y]], false), drag: (hand, ...rest) => hand.stroke(...rest),
  },
  outliers: {
    label: "Outliers", name: "Two outliers (tool)", cursor: "crosshair", adds: true,
    icon: "M4 20h.1M8 18h.1M5 16h.1M9 21h.1M17 3a2 2 0 1 0 .1 0zM20 8a2 2 0 1 0 .1 0z",
    hint: ["Click far from a class to add two training points of the class chosen above.", CHOSEN],
    valued: "Click to add two training points of the value above.", curved: "Click to add two training points there.",
    act: (hand, place) => hand.outliers(place), drag: nothing,
  },
  move: {
    label: "Move", name: "Move (tool)", cursor: "grab", adds: false,
    icon: "M12 3v18M3 12h18M9 6l3-3 3 3M9 18l3 3 3-3M6 9l-3 3 3 3M18 9l3 3-3 3",
    hint: ["Drag a point, or click it and then its new position.", "Keyboard: [ or ] selects a point, Enter picks it up and puts it down."],
    act: (hand, place, index) => hand.hold(index),
    drag: (hand, gesture, px, py, ...by) => (gesture.kind === "grip" ? hand.drag(hand.plot.place(px, py), true) : pan(hand, gesture, px, py, ...by)),
  },
  erase: {
    label: "Erase", name: "Erase (tool)", cursor: "crosshair", adds: false,
    icon: "M9 20h12M3 14L14 3l7 7-10 10H9zM8 9l7 7",
    hint: ["Click a point, or drag over several.", "Keyboard: [ or ] selects a point, Delete erases it."],
    act: (hand, place, index) => hand.erase(index), drag: (hand, ...rest) => hand.sweep(...rest),
  },
};

/** What a tool does, with the pointer and with keys. */
export function hintOf(tool, target) {
  const { hint: [first, second], valued, curved } = TOOLS[tool];
  return [(target && ((target.curve && curved) || valued)) || first, second];
}
