import { setTimeout as sleep } from "node:timers/promises";
import { cpuMicros, databaseProcesses, processTree } from "./linux.js";
import type { Generator } from "./load/generator.js";
import type { OperationName } from "./load/operations.js";
import type { Surface } from "./load/requests.js";
import type { Target } from "./targets.js";

/** What is sent to a target in a round. */
export interface Load {
  operation: OperationName;
  surface: Surface;
  rows: number;
  connections: number;
  seconds: number;
}

/** One round; CPU in microseconds an operation. */
export interface Measurement {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  serverMicros: number;
  databaseMicros: number;
  loadMicros: number;
  failures: number;
  firstFailure: string | null;
}

/** Time for what a server does after its last answer, so that it is counted where it belongs. */
const SETTLE_MS = 30;

/** Runs one round against one target, with the CPU of all processes that serve it. */
export async function measure(generator: Generator, target: Target, load: Load): Promise<Measurement> {
  const server = processTree(target.server.pid);
  const database = databaseProcesses();
  const before = { server: cpuMicros(server), database: cpuMicros(database) };
  const result = await generator.run({ ...load, port: target.server.port, keys: target.keys, store: target.store });
  await sleep(SETTLE_MS);
  const each = Math.max(1, result.operations);
  return {
    perSecond: result.operations / result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    serverMicros: (cpuMicros(server) - before.server) / each,
    databaseMicros: (cpuMicros(database) - before.database) / each,
    loadMicros: result.loadCpuMicros / each,
    failures: result.failures,
    firstFailure: result.firstFailure,
  };
}

/** The middle value, or the mean of the two in the middle; NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1] ?? Number.NaN, sorted[Math.floor(middle)] ?? Number.NaN];
  return (low + high) / 2;
}

/** The median of each figure over rounds; failures are added up. */
export function summarize(rounds: readonly Measurement[]): Measurement {
  const of = (figure: (round: Measurement) => number) => median(rounds.map(figure));
  return {
    perSecond: of((round) => round.perSecond),
    p50Ms: of((round) => round.p50Ms),
    p99Ms: of((round) => round.p99Ms),
    serverMicros: of((round) => round.serverMicros),
    databaseMicros: of((round) => round.databaseMicros),
    loadMicros: of((round) => round.loadMicros),
    failures: rounds.reduce((sum, round) => sum + round.failures, 0),
    firstFailure: rounds.find((round) => round.firstFailure !== null)?.firstFailure ?? null,
  };
}
