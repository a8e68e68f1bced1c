/** What a lesson draws on the figure: the border before an answer, and a marked place. */

import { Ghost } from "./ghost.js";
import { Guess } from "./guess.js";

export class LessonLayer {
  constructor() {
    Object.assign(this, { ghost: new Ghost(), guess: new Guess() });
  }

  /** A picture comes in the place of another one, maybe with the question's mark. */
  follow(scene, before, after, mark) {
    this.ghost.follow(scene, before, after);
    this.guess.take(mark);
  }

  paint(pen, plot) {
    this.ghost.paint(pen, plot);
    this.guess.paint(pen, plot);
  }

  /** What there is to say in the legend. */
  get words() {
    return [this.ghost.lines && "dashed: border before the answer", this.guess.mark?.at && "your mark; ring: where it was"];
  }
}
