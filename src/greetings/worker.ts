import type { Logger } from "pino";
import type { Database } from "../database/sql.js";
import type { Synthesizer } from "../speech/synthesizer.js";
import { type Claim, claimDue } from "./queue.js";
import { type GreetingTimings, visit } from "./visit.js";

/** Agents looked after at once by one process; everything else waits in the database. */
const MAX_VISITS = 2;
/** Wake-ups within this time are one look at the queue. */
const WAKE_MS = 20;

const TIMINGS: GreetingTimings = {
  leaseMs: 15_000,
  heartbeatMs: 5000,
  idleMs: 2000,
  backoffMs: 1000,
  maxBackoffMs: 3_600_000,
};

/** What a worker is made of. */
export interface GreetingWorkerOptions {
  database: Database;
  synthesizer: Synthesizer;
  log: Logger;
  timings?: Partial<GreetingTimings> | undefined;
}

/** Makes greeting audio in the background, from a queue in the database that outlives the process. */
export class GreetingWorker {
  readonly #options: GreetingWorkerOptions;
  readonly #timings: GreetingTimings;
  readonly #stopping = new AbortController();
  readonly #visits = new Set<Promise<void>>();
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  #pausedUntil = 0;

  constructor(options: GreetingWorkerOptions) {
    this.#options = options;
    this.#timings = { ...TIMINGS, ...options.timings };
    this.wake();
  }

  /** There is work, committed: look at the queue now. */
  wake(): void {
    this.#lookIn(WAKE_MS);
  }

  /** Aborts what is being spoken and gives it back to the queue, then closes the synthesizer. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all(this.#visits);
    await this.#options.synthesizer.close();
  }

  #lookIn(ms: number): void {
    const at = Math.max(Date.now() + ms, this.#pausedUntil);
    if (this.#stopping.signal.aborted || at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => {
      this.#timerAt = Infinity;
      this.#looking = this.#look();
    }, at - Date.now());
    this.#timer.unref();
  }

  /** Starts visits while there is work and room for them. */
  async #look(): Promise<void> {
    await this.#looking;
    try {
      while (this.#visits.size < MAX_VISITS && !this.#stopping.signal.aborted && Date.now() >= this.#pausedUntil) {
        const claim = await claimDue(this.#options.database, this.#timings.leaseMs);
        if (claim === undefined) break;
        this.#start(claim);
      }
    } catch (error) {
      this.#options.log.warn({ err: error }, "The queue of greetings could not be read");
    }
    this.#lookIn(this.#timings.idleMs * (0.75 + Math.random() / 2));
  }

  #start(claim: Claim): void {
    const { database, synthesizer, log } = this.#options;
    const stopping = this.#stopping.signal;
    const pause = (ms: number) => void (this.#pausedUntil = Math.max(this.#pausedUntil, Date.now() + ms));
    const pausedMs = () => Math.max(0, this.#pausedUntil - Date.now());
    const done = visit({ database, synthesizer, log, timings: this.#timings, stopping, pause, pausedMs }, claim)
      // The claim lapses, and the agent is looked after then.
      .catch((error: unknown) =>
        log.warn({ agent_id: claim.agentId, err: error }, "Greetings could not be looked after"),
      )
      .finally(() => {
        this.#visits.delete(done);
        this.wake();
      });
    this.#visits.add(done);
  }
}
