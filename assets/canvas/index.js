/** What `../canvas.js` is built from: the app's component, and what opens a figure in a file. */

export { default } from "./streamlit.js";
import { open } from "./saved.js";

const place = document.getElementById("saved-figure");
if (place) open(place);
