/** The figure in a notebook cell (smpcore/live/notebook.py): a widget of anywidget, with its model as transport. */

import { Figure } from "./figure.js";

export class Place {
  constructor(model, el) {
    this.model = model;
    const host = document.createElement("div");
    host.className = "notebook";
    el.append(host);
    this.figure = new Figure(host.attachShadow({ mode: "open" }), model.get("_style"), this);
    this.figure.share.copy.hidden = true;
    this.told = (_, [buffer]) => this.figure.receive(bytesOf(buffer));
    model.on("msg:custom", this.told);
    // Without a kernel this is all there is.
    const last = model.get("_last");
    if (last?.byteLength) this.figure.receive(bytesOf(last));
    this.figure.send({ kind: "set", values: {}, dragging: false });
    this.themes = new MutationObserver(() => this.figure.readTheme());
    for (const node of [document.documentElement, document.body]) this.themes.observe(node, { attributes: true });
  }

  post(message) {
    this.model.send(message);
  }

  begin() {}

  stop() {
    this.model.off("msg:custom", this.told);
    this.themes.disconnect();
    this.figure.stop();
  }
}

const bytesOf = ({ buffer, byteOffset = 0, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength).slice();

/** What anywidget calls for each place where the widget is shown. */
export function render({ model, el }) {
  const place = new Place(model, el);
  return () => place.stop();
}
