/** How long and how often to try again. */
export interface Backoff {
  /** How often a call is sent at most, the first time included. */
  attempts: number;
  /** The longest wait before the first repetition; it doubles with each. In milliseconds. */
  baseMs: number;
  /** The longest wait that is ever accepted; a gateway that asks for more gets the failure handed on. In milliseconds. */
  maxMs: number;
}

/** Four attempts within about a second, unless the gateway asks for more. */
export const DEFAULT_BACKOFF: Backoff = { attempts: 4, baseMs: 100, maxMs: 10_000 };

/** A wait in milliseconds: random, so that callers who failed together do not come back together, and never below `atLeastMs`. */
export function waitMs({ baseMs, maxMs }: Backoff, attempt: number, atLeastMs = 0): number {
  const jitter = Math.random() * Math.min(maxMs, baseMs * 2 ** (attempt - 1));
  return atLeastMs + jitter;
}
