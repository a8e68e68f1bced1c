/** Payloads: uint32 header length | JSON header | arrays (see pages/ui/canvas.py). */

const ARRAY_TYPES = { u1: Uint8Array, i4: Int32Array, f4: Float32Array };

/**
 * Decode a payload: the JSON header with its arrays as typed views (with a `shape`).
 * @param {Uint8Array} bytes
 */
export function decode(bytes) {
  const { buffer } = bytes.slice(); // a copy starts at 0, so that every view is aligned
  const length = new DataView(buffer).getUint32(0, true);
  const blob = (4 + length + 7) & ~7;
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  return JSON.parse(text, (_, value) => {
    if (!value || !Array.isArray(value.$)) return value;
    const [type, offset, ...shape] = value.$;
    const size = shape.reduce((product, n) => product * n, 1);
    return Object.assign(new ARRAY_TYPES[type](buffer, blob + offset, size), { shape });
  });
}

/** @param {Uint8Array} a @param {Uint8Array} b */
export function sameBytes(a, b) {
  if (a === b) return true;
  if (!a || !b || a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
