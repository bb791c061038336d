import type { ColumnOptions, ValueTransformer } from "typeorm";

/** Database text `2026-01-31 08:00:00.000` (UTC) to RFC 3339 `2026-01-31T08:00:00.000Z`; a `Date` is taken too. */
export function fromDatabaseTime(value: string | Date): string {
  if (typeof value !== "string") return value.toISOString();
  // mysql2 leaves trailing zero parts out of what the binary protocol sends short.
  const whole = value.length === 23 ? value : value + " 00:00:00.000".slice(value.length - 10);
  return `${whole.slice(0, 10)}T${whole.slice(11)}Z`;
}

/** RFC 3339 UTC with milliseconds to the text both databases store. */
export function toDatabaseTime(value: string): string {
  return `${value.slice(0, 10)} ${value.slice(11, 23)}`;
}

const timeTransformer: ValueTransformer = {
  from: (value: string | Date | null) => (value === null ? null : fromDatabaseTime(value)),
  to: (value: string | null | undefined) => (typeof value === "string" ? toDatabaseTime(value) : value),
};

/** An instant, UTC, milliseconds; an RFC 3339 string on the entity, so that a row costs no `Date`. */
export const instant: ColumnOptions = { type: "datetime", precision: 3, transformer: timeTransformer };

/** A SHA-256 digest. */
export const digest = { type: "binary", length: 32 } as const;
