import { hash, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const KEY_PATTERN = /^qrv_([0-9A-Za-z]{12})_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

/** A string of `length` characters of `alphabet`, from a CSPRNG. */
export function randomText(alphabet: string, length: number): string {
  let text = "";
  for (let index = 0; index < length; index++) text += alphabet[randomInt(alphabet.length)];
  return text;
}

/** The CRC32 of `text` in base62, six characters: refuses typos before any look-up. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (; rest > 0; rest = Math.floor(rest / 62)) digits = BASE62[rest % 62] + digits;
  return digits.padStart(6, "0");
}

/** An API key, `qrv_<id>_<secret><checksum>`, in its parts. */
export interface KeyParts {
  id: string;
  secretHash: Buffer;
}

/** SHA-256 of a text. */
export function sha256(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

/** A new key: the text to show once, and what is stored of it. */
export function generateKey(): KeyParts & { text: string } {
  const id = randomText(BASE62, 12);
  const secret = randomText(BASE62, 32);
  const body = `qrv_${id}_${secret}`;
  return { text: body + checksum(body), id, secretHash: sha256(secret) };
}

/** The parts of a well-formed key, else null. */
export function parseKey(text: string): KeyParts | null {
  const match = KEY_PATTERN.exec(text);
  if (match === null || checksum(text.slice(0, -6)) !== match[3]) return null;
  return { id: match[1] as string, secretHash: sha256(match[2] as string) };
}
