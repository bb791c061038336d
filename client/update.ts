import { type Backoff, DEFAULT_BACKOFF, waitMs } from "./backoff.js";
import { isGatewayError } from "./errors.js";

/**
 * Reads, then changes what was read; where somebody else was faster, both again, on the version that now stands. `change`
 * must pass on the version it was given, and may run several times. Throws the last conflict when the attempts are spent.
 */
export async function updateWithLatest<Current, Result>(
  read: () => Promise<Current>,
  change: (current: Current) => Promise<Result>,
  options: Partial<Backoff> = {},
): Promise<Result> {
  const backoff = { ...DEFAULT_BACKOFF, attempts: 8, baseMs: 20, ...options };
  for (let attempt = 1; ; attempt++) {
    try {
      return await change(await read());
    } catch (error) {
      if (attempt >= backoff.attempts || !isGatewayError(error, "RESOURCE_VERSION_CONFLICT")) throw error;
      await new Promise((resolve) => setTimeout(resolve, waitMs(backoff, attempt)));
    }
  }
}
