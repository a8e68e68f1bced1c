/** What `smpcore/live/figure.js` is built from: a component, a widget, and what opens a figure in a file. */

import { render } from "./notebook.js";
import { open } from "./saved.js";
import mount from "./streamlit.js";

/** Streamlit hands over what it mounts; anywidget asks for a widget. */
export default (given) => (given ? mount(given) : { render });

const place = document.getElementById("saved-figure");
if (place) open(place);
