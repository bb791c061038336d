import { z } from "zod";
import { isJsonObject } from "../json.js";

/** Length in code points; a text of UTF-16 length n has at most n. */
function withinCodePoints(text: string, max: number): boolean {
  if (text.length <= max) return true;
  if (text.length > max * 2) return false;
  let count = 0;
  for (const _ of text) if (++count > max) return false;
  return true;
}

/** A text of `min` to `max` code points, kept byte for byte. */
export function text(min: number, max: number, description: string) {
  return z
    .string()
    .refine((value) => value.length >= min && withinCodePoints(value, max), {
      error: `Send ${min} to ${max} characters.`,
    })
    .meta({ description, minLength: min, maxLength: max });
}

/** A text of at most `max` bytes of UTF-8. */
export function bytes(max: number, description: string) {
  return z
    .string()
    .refine((value) => value.length * 3 <= max || Buffer.byteLength(value) <= max, {
      error: `Send at most ${max} bytes of UTF-8.`,
    })
    .meta({ description: `${description} At most ${max} bytes of UTF-8.`, maxLength: max });
}

/** Any JSON object, kept as it is. Zod's record copies it member by member: a list of fifty costs a tenth more. */
export function anyObject() {
  return z
    .custom<Record<string, unknown>>(isJsonObject, { error: "Send a JSON object.", abort: true })
    .meta({ override: { type: "object", additionalProperties: {} } });
}

/** A name of an open set: providers add values monthly, so any is taken that has no control characters. */
export function openName(description: string) {
  return (
    z
      .string()
      .regex(/^[^\p{Cc}]*$/u, { error: "Send a text without control characters." })
      .refine((value) => value.length >= 1 && withinCodePoints(value, 128), { error: "Send 1 to 128 characters." })
      // The same characters as \p{Cc}, for validators that read patterns without the flag u.
      .meta({ description, minLength: 1, maxLength: 128, pattern: "^[^\\u0000-\\u001F\\u007F-\\u009F]*$" })
  );
}

const INSTANT_PATTERN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** RFC 3339, UTC, milliseconds. */
export function instant(description: string) {
  return z
    .string()
    .regex(INSTANT_PATTERN)
    .meta({ description, format: "date-time", example: "2026-01-31T08:00:00.000Z" });
}

/** A counter that starts at 1. */
export function version(description: string) {
  return z.int().min(1).meta({ description, example: 1 });
}

/** Input of a versioned mutation. */
export const IfMatchVersion = {
  if_match_version: z
    .number()
    .min(1)
    .refine(Number.isInteger, { error: "Send an integer." })
    // What no column holds is just stale; the bound keeps it an exact integer.
    .overwrite((value) => Math.min(value, Number.MAX_SAFE_INTEGER))
    .meta({
      override: { type: "integer" },
      description: "The version last read; over REST it travels in the If-Match-Version header.",
      example: 1,
    }),
};

/** Input of an idempotent operation. */
export const IdempotencyKey = {
  idempotency_key: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{1,128}$/, { error: "Send 1 to 128 of the characters A-Z a-z 0-9 . _ : -" })
    .optional()
    .meta({ description: "Makes the request safe to send again; over REST it travels in the Idempotency-Key header." }),
};

/** Query of a list. */
export function page(defaultLimit: number) {
  return {
    limit: z.int().min(1).max(100).default(defaultLimit).meta({ description: "How many to return, 1 to 100." }),
    offset: z.int().min(0).default(0).meta({ description: "How many of the newest to skip." }),
  };
}

/** The reference under which an integrator finds a resource again; 1 to 255 characters. */
export const externalReference = (scope: string) =>
  text(1, 255, `Your own reference: any characters, compared byte for byte. ${scope}`);

/** Path of a look-up by reference: any text is looked up. */
export const ExternalReferencePath = {
  external_reference: z.string().meta({ description: "The reference given on create.", example: "listing-4711" }),
};
