/** Messages to the server: one in flight, what waits is merged, the latest value wins. */

/** What is asked for while nothing else goes on. */
export const BACKGROUND = new Set(["knots", "steps", "poll"]);

const DROPPED = new Set(["knots", "steps"]); // asked for anew if no answer comes
/** ms that an answer has: a shorter time for what may be asked for later. */
const SHORT = 3_000, LONG = 10_000;

/** One message in flight; what waits is merged, so that the latest value wins. */
export class Messenger {
  /**
   * @param {(message: object) => void} post @param {(stale: boolean) => void} onStale
   * @param {() => void} onLost knots or steps were asked for in vain
   */
  constructor(post, onStale, onLost = () => {}) {
    Object.assign(this, { post, onStale, onLost, seq: 0, queue: [], flight: null, timers: [], took: 0 });
  }

  /** Is a message of the user on its way (knots are only fetched when none is)? */
  get busy() {
    return this.queue.length > 0 || (this.flight !== null && !BACKGROUND.has(this.flight.kind));
  }

  send(message) {
    const last = this.queue.at(-1);
    const same = last?.kind === "edit" && last.dragging && last.op === message.op;
    const moves = message.op === "move" && last?.op === "move" && last.row === message.row;
    const sweeps = same && message.op === "erase"; // the places of a sweep add up
    if (message.kind === "set" && last?.kind === "set") {
      Object.assign(last.values, message.values);
      last.dragging = message.dragging;
    } else if (same && message.op === "spray") {
      last.places.push(...message.places);
      last.dragging = message.dragging;
    } else if (moves || sweeps) Object.assign(last, message);
    else this.queue.push(message);
    this.pump();
  }

  /** A message of the user does not wait for background ones: the server drops them for it. */
  pump() {
    if (this.flight && !BACKGROUND.has(this.flight.kind)) return;
    if (this.queue.length) this.launch(this.queue.shift());
  }

  /**
   * The server may drop what a newer message overtakes: each has twice the time that the
   * one before took, or was given in vain, so that a slow server comes to answer.
   */
  launch(message, seq = ++this.seq) {
    this.flight = { ...message, seq };
    this.stop();
    const patience = Math.max(DROPPED.has(message.kind) ? SHORT : LONG, 2 * this.took);
    this.launched = performance.now();
    this.timers = [setTimeout(() => this.resend(patience), patience)];
    if (!BACKGROUND.has(message.kind)) this.timers.push(setTimeout(() => this.onStale(true), 300));
    this.post(this.flight);
  }

  /** The answer to `seq` has been painted; 0: the page began anew, perhaps on another server. */
  answered(seq) {
    if (!this.flight) return;
    if (seq === 0) return this.resend(0);
    if (seq < this.flight.seq) return;
    this.took = performance.now() - this.launched;
    this.flight = null;
    this.stop();
    this.onStale(false);
    this.pump();
  }

  /**
   * No answer: values go again with those that wait; an edit keeps its number, so that it
   * counts once; knots can be asked for later.
   */
  resend(took) {
    const lost = this.flight;
    const next = this.queue[0];
    this.took = took;
    this.flight = null;
    this.stop();
    if (lost.kind === "edit") return this.launch(lost, lost.seq);
    if (lost.kind === "set" && next?.kind === "set") next.values = { ...lost.values, ...next.values };
    else if (!DROPPED.has(lost.kind)) this.queue.unshift(lost);
    this.pump();
    if (DROPPED.has(lost.kind)) this.onLost();
  }

  /** Edits the server has not answered yet. */
  waiting(op, answered) {
    const flying = this.flight?.op === op && this.flight.seq > answered ? 1 : 0;
    return flying + this.queue.filter((message) => message.op === op).length;
  }

  stop() {
    this.timers.forEach(clearTimeout);
  }
}
