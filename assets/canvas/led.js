/** The pictures that the teacher of a class shows: each is asked for once the one before is here. */

import { decode } from "./payload.js";

const AGAIN_MS = 1_000; // after a lost connection

export class Led {
  /** @param {string} url a number behind it names the last picture that is here @param {(picture: object) => void} onPicture */
  constructor(url, onPicture) {
    Object.assign(this, { url, onPicture, last: null, stopper: new AbortController() });
    this.read();
  }

  /** Only pictures of where the class is: so often it has been moved. */
  show(turns) {
    this.turns = turns;
    queueMicrotask(() => this.draw()); // behind the answer that has said so
  }

  draw() {
    if (this.last?.shown.turns === this.turns) this.onPicture(this.last);
  }

  async read() {
    const { signal } = this.stopper;
    while (!signal.aborted)
      try {
        const answer = await fetch(this.url + (this.last?.shown.number ?? 0), { signal });
        if (answer.status === 404) return; // the class is over
        if (!answer.ok) throw new Error(answer.statusText);
        if (answer.status === 204) continue; // nothing for a while
        this.last = decode(new Uint8Array(await answer.arrayBuffer()));
        this.draw();
      } catch {
        await new Promise((resume) => setTimeout(resume, AGAIN_MS));
      }
  }

  stop() {
    this.stopper.abort();
  }
}
