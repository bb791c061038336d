/** Compares the gateway with hand-written servers: short rounds in turn, medians, ratios to the fastest bare server. */
import { residentMiB, processTree } from "./linux.js";
import { Generator } from "./load/generator.js";
import type { OperationName } from "./load/operations.js";
import type { Surface } from "./load/requests.js";
import { measure, type Measurement, median, summarize } from "./measure.js";
import { type Options, readOptions } from "./options.js";
import { aligned, figure, markdown, provenance, type Table, writeResults } from "./report.js";
import { buildTargets, dropDatabases, startTarget, type Target } from "./targets.js";

interface Contestant {
  target: Target;
  surface: Surface;
}

const say = (text: string) => process.stdout.write(`${text}\n`);

/** All rounds of one operation, the contestants in turn, so that what else the machine does falls on all alike. */
async function compete(
  options: Options,
  generator: Generator,
  contestants: readonly Contestant[],
  operation: OperationName,
) {
  const [rows = 0] = options.rows;
  const load = { operation, rows, connections: options.connections };
  const entries = contestants.map((contestant) => ({ ...contestant, rounds: [] as Measurement[] }));
  for (const { target, surface } of entries) {
    await measure(generator, target, { ...load, surface, seconds: options.warmupSeconds });
  }
  for (let round = 0; round < options.rounds; round++) {
    // There and back again: nobody always comes after the one whose writes are still being flushed.
    for (const { target, surface, rounds } of round % 2 === 0 ? entries : entries.toReversed()) {
      rounds.push(await measure(generator, target, { ...load, surface, seconds: options.seconds }));
    }
  }
  return entries;
}

type Entry = Awaited<ReturnType<typeof compete>>[number];

const COLUMNS = [
  "target",
  "surface",
  "op/s",
  "spread",
  "ratio",
  "p50 ms",
  "p99 ms",
  "p99 ratio",
  "server µs",
  "database µs",
  "load µs",
  "failures",
];

/** The median of a figure's ratios to limit-http, round by round: neighbours in time share the machine's mood. */
function ratio(entry: Entry, limit: Entry | undefined, of: (round: Measurement) => number): string {
  const ratios = entry.rounds.map(
    (round, index) => of(round) / (limit?.rounds[index] ? of(limit.rounds[index]) : Number.NaN),
  );
  return figure(median(ratios), 2);
}

function tableOf(operation: OperationName, entries: readonly Entry[]): Table {
  const limit = entries.find(({ target }) => target.name === "limit-http");
  const rows = entries.map((entry) => {
    const result = summarize(entry.rounds);
    const speeds = entry.rounds.map((round) => round.perSecond);
    const spread = (Math.max(...speeds) - Math.min(...speeds)) / 2 / result.perSecond;
    return [
      entry.target.name,
      entry.surface,
      figure(result.perSecond),
      `±${figure(spread * 100)} %`,
      ratio(entry, limit, (round) => round.perSecond),
      figure(result.p50Ms, 2),
      figure(result.p99Ms, 2),
      ratio(entry, limit, (round) => round.p99Ms),
      figure(result.serverMicros),
      figure(result.databaseMicros),
      figure(result.loadMicros),
      String(result.failures),
    ];
  });
  return { title: operation.toUpperCase(), columns: COLUMNS, rows };
}

/** The references know no keys: what they answer to a keyed POST is what they answer to any. */
function contestantsOf(targets: readonly Target[], surfaces: readonly Surface[]): Contestant[] {
  return targets.flatMap((target) =>
    target.surfaces.filter((surface) => surfaces.includes(surface)).map((surface) => ({ target, surface })),
  );
}

function processTable(targets: readonly Target[], memoryAtStart: readonly number[]): Table {
  const rows = targets.map(({ name, server }, index) => [
    name,
    String(processTree(server.pid).length),
    figure(server.startupMs),
    figure(memoryAtStart[index] ?? Number.NaN),
    figure(residentMiB(processTree(server.pid))),
  ]);
  return {
    title: "Processes",
    columns: ["target", "processes", "start-up ms", "MiB at start", "MiB after load"],
    rows,
  };
}

/** The part of bench/README.md that these results belong to. */
function sectionOf({ backend, workers }: Options): string {
  if (backend === "sqlite") return "sqlite";
  return workers > 1 ? "workers" : "comparison";
}

async function run(options: Options, targets: Target[], generator: Generator): Promise<void> {
  const [rows = 0] = options.rows;
  const [owners = 0] = options.owners;
  buildTargets(options.targets, options.gateway);
  if (options.fresh) await dropDatabases("");
  for (const name of options.targets) targets.push(await startTarget(name, { ...options, rows, owners, suffix: "" }));
  const memoryAtStart = targets.map(({ server }) => residentMiB(processTree(server.pid)));
  const contestants = contestantsOf(targets, options.surfaces);

  const tables = [];
  for (const operation of options.operations) {
    const entries = await compete(options, generator, contestants, operation);
    const table = tableOf(operation, entries);
    tables.push(table);
    say(aligned(table));
    const failure = entries.flatMap(({ rounds }) => rounds).find((round) => round.firstFailure !== null)?.firstFailure;
    if (failure) say(`The first failure:\n${failure}\n`);
  }
  const processes = processTable(targets, memoryAtStart);
  say(aligned(processes));
  const text = [provenance("bench"), ...[...tables, processes].map(markdown)].join("\n");
  say(text);
  if (options.markdown !== "") writeResults(options.markdown, sectionOf(options), text);
}

const targets: Target[] = [];
const generator = new Generator();
try {
  await run(readOptions(), targets, generator);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  generator.stop();
  await Promise.all(targets.map(({ server }) => server.stop()));
}
