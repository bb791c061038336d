/** How the cost of reading grows with rows and owners, and what it costs to detach an agent from 10,000 QR codes at once. */
import { type Detachment, detachMany } from "./detach.js";
import { Generator } from "./load/generator.js";
import type { OperationName } from "./load/operations.js";
import { measure, type Measurement, summarize } from "./measure.js";
import { type Options, readOptions } from "./options.js";
import { aligned, figure, markdown, provenance, type Table, writeResults } from "./report.js";
import { buildTargets, dropDatabases, startTarget, type TargetName } from "./targets.js";

const SUFFIX = "_scale";
const DEEP_OFFSET = 90_000;
const COLUMNS = [
  "target",
  "operation",
  "rows an owner",
  "owners",
  "op/s",
  "p50 ms",
  "p99 ms",
  "server µs",
  "database µs",
  "failures",
];

const say = (text: string) => process.stdout.write(`${text}\n`);

/** The operations asked for, over one size of table. */
async function measureSize(options: Options, generator: Generator, name: TargetName, rows: number, owners: number) {
  const target = await startTarget(name, { ...options, rows, owners, suffix: SUFFIX });
  const lines: string[][] = [];
  try {
    for (const operation of options.operations.filter((each) => each !== "list-deep" || rows > DEEP_OFFSET)) {
      const load = { operation, surface: "rest" as const, rows, connections: options.connections };
      await measure(generator, target, { ...load, seconds: options.warmupSeconds });
      const rounds: Measurement[] = [];
      for (let round = 0; round < options.rounds; round++) {
        rounds.push(await measure(generator, target, { ...load, seconds: options.seconds }));
      }
      lines.push(lineOf(name, operation, rows, owners, summarize(rounds)));
    }
  } finally {
    await target.server.stop();
  }
  return lines;
}

function lineOf(
  name: TargetName,
  operation: OperationName,
  rows: number,
  owners: number,
  result: Measurement,
): string[] {
  return [
    name,
    operation,
    String(rows),
    String(owners),
    figure(result.perSecond),
    figure(result.p50Ms, 2),
    figure(result.p99Ms, 2),
    figure(result.serverMicros),
    figure(result.databaseMicros),
    String(result.failures),
  ];
}

function detachTable(result: Detachment): Table {
  const columns = ["operation", "detached", "ms", "server ms", "database ms"];
  const figures = [result.milliseconds, result.serverMs, result.databaseMs].map((value) => figure(value));
  return { title: "Detach", columns, rows: [["DELETE /v1/agents/{agent_id}", String(result.detached), ...figures]] };
}

async function run(options: Options, generator: Generator): Promise<void> {
  buildTargets(options.targets, options.gateway);
  if (options.fresh) await dropDatabases(SUFFIX);
  const growth: Table = { title: "Growth", columns: COLUMNS, rows: [] };
  for (const owners of options.owners) {
    for (const rows of options.rows) {
      for (const name of options.targets)
        growth.rows.push(...(await measureSize(options, generator, name, rows, owners)));
    }
  }
  const tables = [growth];
  if (options.targets.includes("gateway")) tables.push(detachTable(await detachMany(options)));
  const text = [provenance("bench:scale"), ...tables.map(markdown)].join("\n");
  say([...tables.map(aligned), text].join("\n"));
  if (options.markdown !== "") writeResults(options.markdown, "scale", text);
}

const DEFAULTS = {
  targets: "limit-http,gateway",
  ops: "get,list,list-deep",
  rounds: "3",
  seconds: "3",
  warmup: "1",
  rows: "1000,100000,2000000",
  owners: "1,10000",
};

const generator = new Generator();
try {
  await run(readOptions(DEFAULTS), generator);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  generator.stop();
}
