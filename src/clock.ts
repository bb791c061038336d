/** Now, RFC 3339, UTC, milliseconds. */
export function now(): string {
  return new Date().toISOString();
}
