/** What a saved page computes: `node saved_answers.mjs PAGE` reads places as [knot, x, y] and rows as [knot, index]. */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

import { Answers } from "../../assets/canvas/answers.js";
import { decode } from "../../assets/canvas/payload.js";

const page = readFileSync(process.argv[2], "utf8");
const inside = (id) => page.match(new RegExp(`id="${id}">(.*?)</script>`, "s"))[1];
new Function(inside("saved-programs"))();
const { answers, knots, scene } = decode(new Uint8Array(gunzipSync(Buffer.from(inside("saved-payload"), "base64"))));
const model = new Answers(answers, globalThis.savedPrograms);
const { places, rows } = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify({
  places: places.map(([knot, x, y]) => model.of(knots[knot], model.inputAt({ x, y }, scene.view))),
  rows: rows.map(([knot, index]) => model.why(knots[knot], model.inputOf(index))),
}));
