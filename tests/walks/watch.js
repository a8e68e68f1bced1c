/** What a visit reads of the page; laid into every document before its own scripts. */
globalThis.speWatch = (() => {
  const CONTROLS = "button, [role=button], [role=tab], [role=radio], [role=switch], input[type=checkbox], input[type=radio], summary, a[download]";
  /** What belongs to the framework: each is tested once, or by walks. */
  const PLACES = {
    toolbar: "[data-testid=stElementToolbar]",
    chart: "[data-testid=stPlotlyChart]",
    help: "button[aria-label^='Help for ']",
    code: "[data-testid=stCode]",
    list: "[data-testid=stSelectbox], [data-testid=stMultiSelect]",
    picker: "[data-testid=stFileUploaderDropzone]",
    frame: "[data-testid=stHeader], [data-testid=stMainMenu]",
  };
  const UNANSWERED = 30_000; // ms: some messages have no answer
  const DIALOG = "[role=dialog], [data-testid=stPopoverBody]";

  function* all(root, selector) {
    for (const node of root.querySelectorAll("*")) {
      if (node.matches(selector)) yield node;
      if (node.shadowRoot) yield* all(node.shadowRoot, selector);
    }
  }
  /** Drawn, and not beside the window as a closed sidebar is. */
  const visible = (node) => node.checkVisibility({ visibilityProperty: true }) && node.getBoundingClientRect().right > 0;
  const target = (node) => {
    const label = node.matches("input") && node.closest("label");
    return label || node;
  };
  const clean = (text) => (text ?? "").replace(/\s+/g, " ").trim().slice(0, 120);
  /** What a node says, without the names of its icons. */
  const words = (node) => {
    const copy = node.cloneNode(true);
    copy.querySelectorAll("[data-testid*=Icon], [translate=no], style").forEach((icon) => icon.remove());
    return clean(copy.textContent);
  };
  const name = (node) => {
    const label = node.labels?.[0] ?? node.closest("label");
    const found = clean(node.getAttribute("aria-label")) || words(label ?? node) || clean(node.title);
    return found.replace(/^Undo .*/, "Undo"); // what it would undo is another thing each time
  };
  const role = (node) => {
    if (node.matches("summary")) return "expander";
    if (node.matches("a")) return "link";
    return node.getAttribute("role") || (node.matches("input") ? node.type : "button");
  };
  const host = (node, selector) => {
    for (let at = node; at; at = at.getRootNode().host) {
      const found = at.closest(selector);
      if (found) return found;
    }
    return null;
  };
  const top = () => [...document.querySelectorAll(DIALOG)].filter(visible).at(-1) ?? document;

  function list() {
    const counts = new Map();
    const found = [];
    for (const node of all(top(), CONTROLS)) {
      if (host(node, ".spe [hidden]")) continue; // the figure does not offer it now
      const place = Object.keys(PLACES).find((key) => host(node, PLACES[key])) ?? "";
      const shown = target(node);
      const one = { role: role(node), name: name(node), visible: visible(shown), place };
      // Streamlit draws some a second time, out of sight, to measure them.
      const key = `${one.role} ${one.name} ${one.visible}`;
      one.nth = counts.get(key) ?? 0;
      counts.set(key, one.nth + 1);
      one.enabled = !node.disabled && node.getAttribute("aria-disabled") !== "true";
      const icons = [...node.querySelectorAll("[data-testid=stIconMaterial]")].map((icon) => icon.textContent.trim());
      one.kind = icons.includes("download") || /^Save as (PNG|SVG)/.test(one.name) ? "download" : "";
      if (node.matches("details[open] > summary")) one.kind = "open";
      found.push([one, shown]);
    }
    return found;
  }

  /** Messages to the server and back: one that was sent has an answer to come. */
  const wire = { sent: 0, received: 0 };
  const Socket = globalThis.WebSocket;
  globalThis.WebSocket = class extends Socket {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", () => (wire.received = performance.now()));
    }
    send(data) {
      wire.sent = performance.now();
      super.send(data);
    }
  };

  let last = 0;
  let quiet = 0;
  /** What the page waits for; empty once it has rested for `pause` ms. */
  async function rest(pause) {
    const started = performance.now();
    while (performance.now() - started < 500) {
      const why = busy(pause);
      const now = performance.now();
      if (now - last > 300) quiet = 0; // another question than the last one
      last = now;
      if (why) quiet = 0;
      else if (!quiet) quiet = now;
      else if (now - quiet > pause) {
        quiet = 0;
        return "";
      }
      await new Promise((done) => setTimeout(done, 20));
    }
    return busy(pause) || "a quiet moment";
  }

  function busy(pause) {
    const app = document.querySelector("[data-testid=stApp]");
    if (!app) return "the app";
    if (app.dataset.testScriptState !== "notRunning") return "the script";
    if (app.dataset.testConnectionState && app.dataset.testConnectionState !== "CONNECTED") return "the connection";
    const now = performance.now();
    if (wire.sent > wire.received && now - wire.sent < UNANSWERED) return "an answer";
    if (now - wire.sent < pause) return "a moment for what was sent";
    if (!document.querySelector("[data-testid=stMain] [data-testid=stElementContainer]")) return "the page";
    const figures = [...all(document, ".spe")].filter(visible);
    if (/\/$/.test(location.pathname) && !figures.length) return "the figure";
    for (const node of figures) {
      if (node.classList.contains("stale")) return "the figure, which is stale";
      const canvas = node.querySelector("canvas.marks");
      if (canvas && !canvas.dataset.paintCount) return "the first picture";
    }
    if ([...document.querySelectorAll("[data-testid=stSpinner]")].some(visible)) return "a spinner";
    return "";
  }

  /** What can be seen to be wrong; words that nobody may come to read are. */
  function wrong(broken) {
    const found = [...(text().match(broken) ?? [])].map((words) => `the page says: ${words}`);
    for (const node of document.querySelectorAll("[data-testid=stException], .stException")) {
      if (visible(node)) found.push(`exception: ${clean(node.innerText)}`);
    }
    for (const node of all(document, ".news li.error")) {
      if (visible(node)) found.push(`the figure says: ${clean(node.innerText)}`);
    }
    const width = document.documentElement.scrollWidth;
    if (width > innerWidth + 1) found.push(`the page is ${width} px wide in a window of ${innerWidth}`);
    return found;
  }

  function text() {
    const parts = [document.body.innerText];
    for (const node of all(document, ".spe")) parts.push(node.innerText);
    return parts.join("\n");
  }

  return {
    rest, wrong, text,
    controls: () => list().map(([one]) => one),
    find: (kind, label, nth) => list().find(([one]) => one.visible && one.role === kind && one.name === label && one.nth === nth)?.[1] ?? null,
    dialog: () => top() !== document,
  };
})();
