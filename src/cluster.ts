import cluster, { type Worker } from "node:cluster";
import type { Logger } from "pino";
import { DRAIN_MS } from "./drain.js";

const MIN_RESTART_MS = 250;
const MAX_RESTART_MS = 10_000;
/** A worker that lived this long had started well; the next one is restarted without a pause. */
const SETTLED_MS = 30_000;
const DRAIN_MESSAGE = "drain";

/** True in a process that `superviseWorkers` has started. */
export const isWorker = cluster.isWorker;

/** Drains a worker when its supervisor says so, or is gone. Signals are the supervisor's: a terminal sends them to both. */
export function drainOnSupervisor(drain: () => void): void {
  process.on("SIGTERM", () => undefined);
  process.on("SIGINT", () => undefined);
  process.on("message", (message) => message === DRAIN_MESSAGE && drain());
  process.once("disconnect", drain);
}

/**
 * Runs `count` processes on one port, starts another for each that dies, later and later while they die young, and drains
 * all on SIGTERM. A second signal, or 10 s, ends it at once.
 */
export function superviseWorkers(count: number, log: Logger): void {
  let draining = false;
  let failures = 0;

  function stopIfDone(): void {
    if (draining && Object.keys(cluster.workers ?? {}).length === 0) process.exit(0);
  }

  function start(): void {
    if (draining) return;
    const startedAt = Date.now();
    const worker: Worker = cluster.fork();
    worker.once("exit", (code, signal) => {
      if (draining) return stopIfDone();
      failures = Date.now() - startedAt > SETTLED_MS ? 0 : failures + 1;
      const pause = failures === 0 ? 0 : Math.min(MIN_RESTART_MS * 2 ** (failures - 1), MAX_RESTART_MS);
      log.error({ pid: worker.process.pid, code, signal, restart_ms: pause }, "A worker died; starting another");
      setTimeout(start, pause);
    });
  }

  const onSignal = () => {
    const workers = Object.values(cluster.workers ?? {});
    if (draining) {
      for (const worker of workers) worker?.process.kill("SIGKILL");
      process.exit(1);
    }
    draining = true;
    setTimeout(() => process.exit(1), DRAIN_MS + 500).unref();
    for (const worker of workers) worker?.send(DRAIN_MESSAGE);
    stopIfDone();
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  for (let started = 0; started < count; started++) start();
}
