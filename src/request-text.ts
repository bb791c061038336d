import { z } from "zod";
import type { RequestIssue } from "./errors.js";

/** How the text of a path or query member is read. */
export type TextKind = "integer" | "boolean" | "string";

/** The kind a member's schema asks for. */
export function textKind(schema: z.ZodType): TextKind {
  const { type } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return type === "integer" || type === "boolean" ? type : "string";
}

const BOOLEANS = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);
const DIGITS = /^\d+$/;

/** Percent-decodes a part of a request target; undefined where it cannot be decoded. */
export function decodePart(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Decodes each path parameter once into `members`; returns them as text, for the fingerprint. */
export function readPath(
  kinds: ReadonlyMap<string, TextKind>,
  encoded: Record<string, string>,
  members: Record<string, unknown>,
  issues: RequestIssue[],
): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, kind] of kinds) {
    const text = decodePart(encoded[name] as string);
    if (text === undefined) {
      issues.push({ location: "path", path: name, message: "The percent-encoding is malformed." });
    } else if (kind === "integer" && !DIGITS.test(text)) {
      issues.push({ location: "path", path: name, message: "Send decimal digits." });
    } else {
      texts[name] = text;
      // A number that no column holds is looked up like any other; the bound keeps it an exact integer.
      members[name] = kind === "integer" ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : text;
    }
  }
  return texts;
}

function readValue(kind: TextKind, text: string): unknown {
  if (kind === "string") return text;
  if (kind === "boolean") return BOOLEANS.get(text);
  const value = DIGITS.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
}

const EXPECTED: Record<TextKind, string> = {
  integer: "Send decimal digits, up to 9007199254740991.",
  boolean: "Send true, false, 1 or 0.",
  string: "Send text.",
};

/** Reads the query string into `members`; one that is unknown, given twice or malformed is an issue. */
export function readQuery(
  kinds: ReadonlyMap<string, TextKind>,
  query: string,
  members: Record<string, unknown>,
  issues: RequestIssue[],
): void {
  if (query === "") return;
  const report = (name: string, message: string) => issues.push({ location: "query", path: name, message });
  const seen = new Set<string>();
  // One `?` in front is dropped, so that one of the caller's own stays part of the first name.
  for (const [name, text] of new URLSearchParams(`?${query}`)) {
    const kind = kinds.get(name);
    if (kind === undefined) report(name, "There is no such parameter.");
    else if (seen.has(name)) report(name, "Send the parameter once.");
    else {
      const value = readValue(kind, text);
      if (value === undefined) report(name, EXPECTED[kind]);
      else members[name] = value;
    }
    seen.add(name);
  }
}
