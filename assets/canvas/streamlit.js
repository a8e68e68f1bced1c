/** The figure as Streamlit's component (v2), mounted once, and what a page of the app has around it. */

import { Figure } from "./figure.js";
import { Led } from "./led.js";

const LEAVING_MS = 20_000; // that a page takes at most to begin

/** The transport of one figure: what the visitor does becomes messages of the trigger "msg". */
class Place {
  constructor(host, style) {
    this.tours = true;
    this.leaving = 0; // until when nothing is sent
    const { signal } = (this.stopper = new AbortController());
    this.grown = new ResizeObserver(([{ target }]) => target.scrollIntoView({ block: "nearest" }));
    this.drawn = new MutationObserver(() => (this.keepFocus(), this.showAsked()));
    document.addEventListener("focusin", ({ target }) => (this.focused = target), { signal });
    this.drawn.observe(document.body, { childList: true, subtree: true });
    // A message behind a click on a page's link would name this page: Streamlit draws the
    // other one and then an empty one. Behind Back it would take its place: Streamlit then
    // forgets that it was Back.
    const leave = () => (this.leaving = performance.now() + LEAVING_MS);
    document.addEventListener("click", (event) => {
      if (event.defaultPrevented && event.target.closest?.("a[href]")) leave();
    }, { signal });
    window.addEventListener("popstate", () => location.hash || leave(), { signal });
    this.figure = new Figure(host, style, this);
    // On the wall of a class nothing is pressed.
    this.figure.root.inert = this.figure.root.classList.toggle("wall", Boolean(document.querySelector(".st-key-wall")));
  }

  /** Pictures come from a class's teacher, beside Streamlit's runs; or do so no longer. */
  follow({ url, turns }) {
    if (url !== (this.led?.url ?? "")) {
      this.led?.stop();
      this.led = url ? new Led(url, (picture) => this.figure.lead(picture)) : null;
    }
    this.led?.show(turns);
  }

  /** While the page is being left nothing else goes: if it stays, the figure sends it again. */
  post(message) {
    if (message.kind === "tour" || performance.now() >= this.leaving) this.trigger("msg", message);
  }

  /** The page has begun anew. */
  begin() {
    this.leaving = 0;
  }

  /** Streamlit makes a lesson's buttons anew: its text takes the focus that is lost with them. */
  keepFocus() {
    if (document.activeElement !== document.body || this.focused?.isConnected || !navigator.userActivation?.hasBeenActive) return;
    const lesson = document.querySelector(".st-key-lesson");
    if (!lesson) return;
    lesson.tabIndex = -1;
    lesson.focus({ preventScroll: true });
  }

  /** A lesson's question has been opened, or its answer is there: it comes into sight. */
  showAsked() {
    const asked = document.querySelector("[class*=st-key-lesson_asked]");
    if (asked?.className === this.asked) return;
    this.asked = asked?.className;
    this.grown.disconnect(); // what is in it comes piece by piece
    if (asked) this.grown.observe(asked);
  }

  stop() {
    this.stopper.abort();
    this.led?.stop();
    this.drawn.disconnect();
    this.grown.disconnect();
    this.figure.stop();
  }
}

const places = new WeakMap();

/** The figure at its place, at the mount and again with every new payload. */
function receive({ data, parentElement, setTriggerValue }, style) {
  let place = places.get(parentElement);
  if (!place) {
    parentElement.querySelectorAll(".spe").forEach((old) => old.remove());
    place = new Place(parentElement, style);
    places.set(parentElement, place);
  }
  place.trigger = setTriggerValue;
  place.keepFocus();
  place.figure.receive(data);
  // Streamlit also cleans up a call that a newer one has overtaken: only a figure that has
  // left the page is really over.
  return () => setTimeout(() => {
    if (parentElement.isConnected) return;
    place.stop();
    places.delete(parentElement);
  });
}

/** Streamlit calls this where the script is mounted, with the figure's style sheet. */
export default function ({ data: style }) {
  globalThis.spe = (call) => receive(call, style);
  dispatchEvent(new Event("spe"));
}
