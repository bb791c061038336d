import { isUtf8 } from "node:buffer";

const MAX_DEPTH = 64;

/** The text is not JSON as this service reads it; the message says why, in words safe to show. */
export class StrictJsonError extends Error {}

function check(value: unknown, depth: number): void {
  if (typeof value === "string") checkText(value);
  else if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new StrictJsonError("A number is too large for a double.");
  } else if (typeof value === "object" && value !== null) {
    if (depth > MAX_DEPTH) throw new StrictJsonError(`Nesting is deeper than ${MAX_DEPTH} levels.`);
    if (Array.isArray(value)) for (const item of value) check(item, depth + 1);
    else
      for (const name of Object.keys(value)) {
        if (name === "__proto__") throw new StrictJsonError("A member may not be named __proto__.");
        checkText(name);
        check((value as Record<string, unknown>)[name], depth + 1);
      }
  }
}

function checkText(text: string): void {
  if (!text.isWellFormed()) throw new StrictJsonError("A string holds a lone surrogate.");
  if (text.includes("\0")) throw new StrictJsonError("A string holds a NUL character.");
}

/** Whether a JSON value is an object: no array, not null. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses JSON; refuses depth over 64, numbers no double holds, lone surrogates, NUL and `__proto__`. Throws StrictJsonError. */
export function parseStrictJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new StrictJsonError("The text is not valid JSON.");
  }
  check(value, 1);
  return value;
}

/** Parses JSON bytes, which must be UTF-8 without BOM. Throws StrictJsonError. */
export function parseStrictJsonBytes(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new StrictJsonError("The body is not valid UTF-8.");
  return parseStrictJson(bytes.toString());
}
