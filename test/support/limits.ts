import { expect } from "chai";
import { type Answer, expectIssues } from "./http.js";

const ACCENTED = "e\u0301";

/** Texts of exactly `max` code points that a careless length, collation or trim would change. */
export function textsOf(max: number): string[] {
  const astral = "\u{1F600}".repeat(max);
  const rightToLeft = "\u05D0".repeat(max);
  const combining = ACCENTED.repeat(Math.ceil(max / 2)).slice(0, max);
  return ["a".repeat(max), astral, rightToLeft, combining, `${"b".repeat(max - 1)} `, ` ${"C".repeat(max - 1)}`];
}

/** Texts one code point past `max`. */
export const textsPast = (max: number) => ["a".repeat(max + 1), "\u{1F600}".repeat(max + 1), " ".repeat(max + 1)];

/** Texts of exactly `max` bytes of UTF-8. */
export const textsOfBytes = (max: number) => [
  "a".repeat(max),
  "\u{1F600}".repeat(Math.floor(max / 4)) + "b".repeat(max % 4),
  "\u00E9".repeat(Math.floor(max / 2)) + "c".repeat(max % 2),
];

/** Texts one byte past `max`. */
export const textsPastBytes = (max: number) => ["a".repeat(max + 1), textsOfBytes(max)[1] + "b"];

/** What no text field takes. */
export const NO_TEXT: unknown[] = [1, true, ["a"], { a: "b" }, "nul \0"];

/** What no boolean field takes. */
export const NO_BOOLEAN: unknown[] = ["false", "true", 0, 1, "", [], {}];

/** One field: what it takes, what it refuses on create and PATCH alike, and what null does to it in a PATCH. */
export interface Field {
  name: string;
  taken: unknown[];
  refused: unknown[];
  null: "clears" | "keeps";
}

/** A value in a message, short. */
export const shown = (value: unknown) => (JSON.stringify(value) ?? "undefined").slice(0, 60);

/** Asserts one 422 issue on this field of the body. */
export function expectFieldIssue(answer: Answer, field: string, value: unknown): void {
  const issues = expectIssues(answer);
  expect(issues[0], shown(value)).to.include({ location: "body" });
  expect(issues[0]?.path.split(".")[0], shown(value)).to.be.oneOf([field, ""]);
  expect(issues[0]?.message).to.be.a("string").and.not.equal("");
}
