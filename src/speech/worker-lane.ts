import { Worker } from "node:worker_threads";
import { SynthesisError, abortedError, closedError } from "./synthesizer.js";

/** How a lane runs: the worker's file, milliseconds for one job and until an idle worker goes, and how many may wait. */
export type LaneOptions = {
  workerUrl: URL;

  deadlineMs: number;
  idleMs: number;
  maxWaiting: number;
};

type Ticket<Job, Reply> = {
  job: Job;
  signal: AbortSignal;
  onAbort: () => void;
  resolve: (reply: Reply) => void;
  reject: (error: SynthesisError) => void;
};

/** Runs jobs one after another in one worker thread, started when needed and replaced after an abort, deadline or crash. */
export class WorkerLane<Job, Reply> {
  readonly #options: LaneOptions;
  readonly #waiting: Ticket<Job, Reply>[] = [];
  #current: Ticket<Job, Reply> | undefined;
  #worker: Worker | undefined;
  #stopping: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** The worker's reply to a job; rejects with a retryable SynthesisError when aborted, late, crashed, closed or full. */
  run(job: Job, signal: AbortSignal): Promise<Reply> {
    if (this.#closed) return Promise.reject(closedError());
    if (signal.aborted) return Promise.reject(abortedError(signal));
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(new SynthesisError("Too many texts wait to be spoken.", { retryable: true }));
    }
    return new Promise((resolve, reject) => {
      const ticket = { job, signal, resolve, reject, onAbort: () => this.#abandon(ticket) };
      signal.addEventListener("abort", ticket.onAbort, { once: true });
      this.#waiting.push(ticket);
      this.#next();
    });
  }

  /** Fail what runs and what waits, and end the worker. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const ticket of this.#waiting.splice(0)) settle(ticket, () => ticket.reject(closedError()));
    this.#failCurrent(closedError());
    this.#stop();
    await this.#stopping;
  }

  #next(): void {
    if (this.#current || this.#stopping || this.#closed) return;
    const ticket = this.#waiting.shift();
    clearTimeout(this.#timer);
    if (!ticket) {
      this.#timer = setTimeout(() => this.#stop(), this.#options.idleMs).unref();
      return;
    }
    this.#current = ticket;
    this.#worker ??= this.#start();
    this.#timer = setTimeout(() => this.#expire(), this.#options.deadlineMs).unref();
    this.#worker.postMessage(ticket.job, []);
  }

  #start(): Worker {
    const worker = new Worker(this.#options.workerUrl, { execArgv: [] });
    worker.on("message", (reply: Reply) => {
      if (worker === this.#worker) this.#finishCurrent((ticket) => ticket.resolve(reply));
    });
    worker.on("error", (cause) => this.#lose(worker, cause));
    worker.on("exit", () => this.#lose(worker, undefined));
    worker.unref();
    return worker;
  }

  // A busy WebAssembly loop answers no message, so the only way to interrupt it is to end its thread.
  #stop(): void {
    const worker = this.#worker;
    if (!worker) return;
    this.#worker = undefined;
    this.#stopping = this.#terminate(worker);
  }

  async #terminate(worker: Worker): Promise<void> {
    await worker.terminate();
    this.#stopping = undefined;
    this.#next();
  }

  #lose(worker: Worker, cause: unknown): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.#failCurrent(new SynthesisError("The speech worker stopped unexpectedly.", { retryable: true, cause }));
  }

  #expire(): void {
    const { deadlineMs } = this.#options;
    this.#stop();
    this.#failCurrent(new SynthesisError(`The speech was not ready within ${deadlineMs} ms.`, { retryable: true }));
  }

  #abandon(ticket: Ticket<Job, Reply>): void {
    if (ticket === this.#current) {
      this.#stop();
      this.#failCurrent(abortedError(ticket.signal));
      return;
    }
    const index = this.#waiting.indexOf(ticket);
    if (index >= 0) this.#waiting.splice(index, 1);
    ticket.reject(abortedError(ticket.signal));
  }

  #failCurrent(error: SynthesisError): void {
    this.#finishCurrent((ticket) => ticket.reject(error));
  }

  #finishCurrent(finish: (ticket: Ticket<Job, Reply>) => void): void {
    const ticket = this.#current;
    if (!ticket) return;
    this.#current = undefined;
    clearTimeout(this.#timer);
    settle(ticket, finish);
    this.#next();
  }
}

function settle<T extends { signal: AbortSignal; onAbort: () => void }>(ticket: T, finish: (ticket: T) => void): void {
  ticket.signal.removeEventListener("abort", ticket.onAbort);
  finish(ticket);
}
