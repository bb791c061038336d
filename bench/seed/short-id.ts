import { ALPHABET } from "../servers/qr-code.js";

/** MurmurHash3's finalizer: every bit of the input moves every bit of the output. */
function mix(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * The short_id of a seeded row, computed so that the load generator knows every id without being told. Scattered over the
 * index as random ids are: neighbours in the table are not neighbours there.
 */
export function shortIdOf(ownerIndex: number, row: number): string {
  let text = "";
  for (const salt of [0x9e37_79b9, 0x7f4a_7c15]) {
    let rest = mix(row ^ mix(ownerIndex + salt));
    for (let digit = 0; digit < 5; digit++) {
      text += ALPHABET.charAt(rest % ALPHABET.length);
      rest = Math.floor(rest / ALPHABET.length);
    }
  }
  return text;
}
