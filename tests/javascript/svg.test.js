import assert from "node:assert/strict";
import test from "node:test";

import { SvgPen, escapeXml } from "../../assets/canvas/svg.js";

test("text of users is text: no markup, and no sign that XML does not have", () => {
  assert.equal(escapeXml(`<b onload='x'>&"`), "&#60;b onload=&#39;x&#39;&#62;&#38;&#34;");
  assert.equal(escapeXml("a\u0000b\ud800c😀"), "abc😀");
  const pen = new SvgPen();
  pen.fillText("</text><script>", 0, 0);
  assert.ok(!pen.toString(10, 10, "<title>").includes("<script"));
});

test("paths follow the transform that they were drawn under", () => {
  const pen = new SvgPen();
  pen.save();
  pen.translate(10, 20);
  pen.scale(2, 2);
  pen.beginPath();
  pen.moveTo(1, 1);
  pen.lineTo(2, 3);
  pen.restore();
  pen.lineTo(5, 5);
  pen.stroke();
  assert.ok(pen.content().includes('d="M12 22L14 26L5 5"'));
});

test("styles come back with restore, and a clip ends with it", () => {
  const pen = new SvgPen();
  pen.save();
  pen.fillStyle = "rgb(1 2 3 / 0.5)";
  pen.beginPath();
  pen.rect(0, 0, 4, 4);
  pen.clip();
  pen.fillRect(0, 0, 2, 2);
  pen.restore();
  pen.fillRect(0, 0, 2, 2);
  const [clipped, free] = pen.content().split("</g>");
  assert.ok(clipped.startsWith('<g clip-path="url(#clip0)">'));
  assert.ok(clipped.includes('fill="rgb(1,2,3)" fill-opacity="0.5"'));
  assert.ok(free.includes('fill="#000"') && !free.includes("clip-path"));
});

test("a mark is drawn once, however often it is used", () => {
  const pen = new SvgPen();
  const image = { width: 8, height: 8, draw: (own) => own.fillRect(-1, -1, 2, 2) };
  pen.drawImage(image, 6, 6);
  pen.drawImage(image, 16, 6);
  assert.equal(pen.defs.length, 1);
  assert.deepEqual(pen.content().split("\n"), ['<use href="#mark0" x="10" y="10"/>', '<use href="#mark0" x="20" y="10"/>']);
});

test("an arc that is no circle is refused", () => {
  assert.throws(() => new SvgPen().arc(0, 0, 1, 0, 3), RangeError);
});
