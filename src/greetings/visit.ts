import type { Logger } from "pino";
import type { Database } from "../database/sql.js";
import { type Speech, SynthesisError, type Synthesizer } from "../speech/synthesizer.js";
import { isCurrent, type Missing, planFor } from "./plan.js";
import { type Claim, endClaim, isMarked, renewClaim } from "./queue.js";
import { dropAudio, saveAudio } from "./store.js";

/** Fits MariaDB's default `max_allowed_packet` of 16 MiB; three minutes at 22 kHz. */
const MAX_STORED_BYTES = 8 * 1024 * 1024;
/** With doubling pauses of up to an hour: about five hours of trying. */
const MAX_ATTEMPTS = 16;
const MAX_DROPPED = 500;

/** Paces of the worker, in milliseconds. */
export interface GreetingTimings {
  /** How long a claim outlives its worker's last sign of life. */
  leaseMs: number;
  /** Between signs of life, at which a text that has changed is given up too. */
  heartbeatMs: number;
  /** Between looks at the queue while nothing wakes the worker. */
  idleMs: number;
  /** The first pause after a failure; each one more doubles it, up to `maxBackoffMs`. */
  backoffMs: number;
  maxBackoffMs: number;
}

/** What a visit works with. */
export interface VisitTools {
  database: Database;
  synthesizer: Synthesizer;
  log: Logger;
  timings: GreetingTimings;
  /** Aborts when the process stops. */
  stopping: AbortSignal;
  /** Asks all visits to leave the synthesizer alone for so many milliseconds. */
  pause(ms: number): void;
  /** How much is left of that. */
  pausedMs(): number;
}

/** An exponential pause, of which the second half is random: attempts of many agents do not come together again. */
function backoff({ backoffMs, maxBackoffMs }: GreetingTimings, attempts: number): number {
  const full = Math.min(backoffMs * 2 ** (attempts - 1), maxBackoffMs);
  return full / 2 + (Math.random() * full) / 2;
}

/** Speaks one greeting, without any connection or lock, giving up when the claim or the text is lost, or the process stops. */
async function speak(tools: VisitTools, claim: Claim, missing: Missing): Promise<Speech> {
  const { database, timings } = tools;
  const lost = new AbortController();
  const beat = async () => {
    const held = await database.transaction((sql) => renewClaim(sql, claim, timings.leaseMs), {
      rerunAfterLostCommit: true,
    });
    if (!held || !(await isCurrent(database, claim.agentId, missing))) lost.abort();
  };
  const timer = setInterval(() => {
    // A database that does not answer now is asked again, here or when the audio is stored.
    beat().catch((error: unknown) => tools.log.debug({ err: error }, "A greeting's claim was not renewed"));
  }, timings.heartbeatMs);
  timer.unref();
  try {
    const signal = AbortSignal.any([tools.stopping, lost.signal]);
    const speech = await tools.synthesizer.synthesize(missing.greeting, signal);
    if (speech.audio.length > MAX_STORED_BYTES) {
      throw new SynthesisError(`The speech is larger than ${MAX_STORED_BYTES} bytes.`, { retryable: false });
    }
    return speech;
  } catch (error) {
    if (lost.signal.aborted) throw new Superseded();
    throw error;
  } finally {
    clearInterval(timer);
  }
}

/** The text changed, or another process has the agent now: what was being made is of no use. */
class Superseded extends Error {}

/** Stores the outcome of one greeting if the claim still holds: after a commit the new audio is there, before it the old state. */
function store(tools: VisitTools, claim: Claim, row: Parameters<typeof saveAudio>[1]): Promise<boolean> {
  return tools.database.transaction(
    async (sql) => {
      const held = await renewClaim(sql, claim, tools.timings.leaseMs);
      if (held) await saveAudio(sql, row);
      return held;
    },
    { rerunAfterLostCommit: true },
  );
}

/** Makes and stores one greeting's audio, or notes the failure. Returns the milliseconds to wait for another attempt, if any. */
async function make(tools: VisitTools, claim: Claim, missing: Missing): Promise<number | undefined> {
  const row = { agentId: claim.agentId, digest: missing.digest, nextAttemptAt: null, contentType: null, content: null };
  try {
    const { contentType, audio } = await speak(tools, claim, missing);
    if (!(await isCurrent(tools.database, claim.agentId, missing))) return undefined;
    await store(tools, claim, { ...row, status: "ready", attempts: missing.attempts, contentType, content: audio });
    return undefined;
  } catch (error) {
    if (error instanceof Superseded) return undefined;
    if (tools.stopping.aborted) return 0;
    const attempts = missing.attempts + 1;
    const { retryable = true, retryAfterMs = 0 } = error instanceof SynthesisError ? error : {};
    const final = !retryable || attempts >= MAX_ATTEMPTS;
    const facts = { agent_id: claim.agentId, attempts, err: error };
    if (final) tools.log.error(facts, "A greeting has no audio, and will not until it is changed");
    else tools.log.warn(facts, "A greeting has no audio yet");
    if (final) {
      await store(tools, claim, { ...row, status: "failed", attempts });
      return undefined;
    }
    if (retryAfterMs > 0) tools.pause(retryAfterMs);
    const waitMs = Math.max(backoff(tools.timings, attempts), retryAfterMs);
    const nextAttemptAt = new Date(Date.now() + waitMs).toISOString();
    await store(tools, claim, { ...row, status: "pending", attempts, nextAttemptAt });
    return waitMs;
  }
}

/** Looks after one agent's greetings: makes what is missing, then deletes what no greeting has any more. */
export async function visit(tools: VisitTools, claim: Claim): Promise<void> {
  const { database } = tools;
  const plan = await planFor(database, claim.agentId);
  const waits = plan.dueMs === undefined ? [] : [plan.dueMs];
  for (const missing of plan.missing) {
    // Newer text comes first, before the rest of what was planned.
    const interrupted = tools.stopping.aborted || tools.pausedMs() > 0 || (await isMarked(database, claim));
    const waitMs = interrupted ? tools.pausedMs() : await make(tools, claim, missing);
    if (waitMs !== undefined) waits.push(waitMs);
    if (interrupted) break;
  }
  // Old audio stays while anything is still to be made: a text that is put back has its audio at once.
  const superseded = waits.length === 0 ? plan.superseded : [];
  if (superseded.length > MAX_DROPPED) waits.push(0);
  await database.transaction(
    async (sql) => {
      if (!(await renewClaim(sql, claim, tools.timings.leaseMs))) return;
      await dropAudio(sql, claim.agentId, superseded.slice(0, MAX_DROPPED));
      await endClaim(sql, claim, waits.length === 0 ? undefined : Math.min(...waits));
    },
    { rerunAfterLostCommit: true },
  );
}
