/** What belongs to a scene: pictures of another one are not shown in it. */

/** The window of a scene: pictures of the same one lie on each other. */
export const frameOf = ({ view }) => String([...view.x, ...view.y, view.xlabel, view.ylabel]);

/** Painted until the first picture of a scene comes: its axes and rows, and nothing of a model. */
export const WAITING = {
  grid: [2, 2], winner: [0, 0, 0, 0], margin: [0, 0, 0, 0], margin_max: 0, predicted: [], hollow: [], own_share: 1,
  readouts: [], prototypes: null, strip: null, lines: null, knot: null, canonical: false, coarse: "Waiting for the model",
};

/**
 * What of the shown picture stays when a scene takes the place of another one: nothing, but
 * for an edit of the same table all that is not said row by row.
 * @param {object} picture @param {object} before the scene it was painted in @param {object} scene
 * @param {object} [message] that is answered
 */
export function pictureIn(picture, before, scene, message) {
  if (!picture || before?.id === scene.id) return picture;
  const edited = message?.kind === "edit" && message.op !== "undo";
  const same = before && frameOf(before) === frameOf(scene) && String(before.classes) === String(scene.classes);
  return edited && same ? { ...picture, predicted: [], hollow: [], codes: null, doubts: null, assignments: null } : null;
}
