/**
 * Saves a file that the server has made, once, and tells it: until then the file stays on
 * the page, whatever run draws it. It comes with the message itself, so that there is no
 * address at which it could be gone.
 *
 * data: one line of JSON, { id, name, type }, and then the content of the file.
 */
const KEPT = 60000; // milliseconds in which a browser has taken the file

export default function ({ data, setTriggerValue }) {
  const end = data.indexOf(10);
  const { id, name, type } = JSON.parse(new TextDecoder().decode(data.subarray(0, end)));
  const saved = (globalThis.savedFiles ??= new Set());
  setTriggerValue("saved", id);
  if (saved.has(id)) return;
  saved.add(id);
  const href = URL.createObjectURL(new Blob([data.subarray(end + 1)], { type }));
  Object.assign(document.createElement("a"), { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), KEPT);
}
