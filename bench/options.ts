import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { OPERATION_NAMES, type OperationName } from "./load/operations.js";
import { type Surface, SURFACES } from "./load/requests.js";
import { type Setting, type TargetName, TARGETS } from "./targets.js";

const DEFAULTS = {
  targets: TARGETS.join(","),
  surfaces: SURFACES.join(","),
  ops: "get,list,post,post-keyed,patch",
  rounds: "5",
  seconds: "4",
  warmup: "2",
  connections: "32",
  workers: "1",
  backend: "mysql",
  rows: "100000",
  owners: "2",
  gateway: fileURLToPath(new URL("..", import.meta.url)),
  markdown: "",
};

/** What both modes are asked for. */
export interface Options extends Omit<Setting, "rows" | "owners" | "suffix"> {
  targets: TargetName[];
  surfaces: Surface[];
  operations: OperationName[];
  rounds: number;
  /** Of each round. */
  seconds: number;
  /** Thrown away before the first round of each operation. */
  warmupSeconds: number;
  connections: number;
  /** One or several sizes: `bench/scale.ts` takes them in turn. */
  rows: number[];
  owners: number[];
  fresh: boolean;
  /** Where the tables go as Markdown; empty: nowhere. */
  markdown: string;
}

function choices<T extends string>(name: string, text: string, allowed: readonly T[]): T[] {
  return text.split(",").map((word) => {
    const found = allowed.find((each) => each === word);
    if (found === undefined) throw new Error(`--${name} takes ${allowed.join(", ")}, not ${word}.`);
    return found;
  });
}

function positives(name: string, text: string): number[] {
  return text.split(",").map((word) => {
    const value = Number(word);
    if (!(value > 0)) throw new Error(`--${name} takes positive numbers, not ${word}.`);
    return value;
  });
}

const positive = (name: string, text: string) => positives(name, text)[0] ?? 0;

/** Reads the command line over the defaults of a mode; throws a sentence for what it does not know. */
export function readOptions(changes: Partial<typeof DEFAULTS> = {}): Options {
  const strings = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, { type: "string" as const }]));
  const { values } = parseArgs({ options: { ...strings, quick: { type: "boolean" }, fresh: { type: "boolean" } } });
  const quick = values.quick === true ? { rounds: "2", seconds: "1", warmup: "1" } : {};
  const given: typeof DEFAULTS = { ...DEFAULTS, ...changes, ...quick, ...values };
  const [backend = "mysql"] = choices("backend", given.backend, ["mysql", "sqlite"] as const);
  const workers = positive("workers", given.workers);
  if (backend === "sqlite" && workers > 1) throw new Error("--workers above 1 needs --backend mysql.");
  return {
    targets: choices("targets", given.targets, TARGETS),
    surfaces: choices("surfaces", given.surfaces, SURFACES),
    operations: choices("ops", given.ops, OPERATION_NAMES),
    rounds: positive("rounds", given.rounds),
    seconds: positive("seconds", given.seconds),
    warmupSeconds: positive("warmup", given.warmup),
    connections: positive("connections", given.connections),
    workers,
    backend,
    rows: positives("rows", given.rows),
    owners: positives("owners", given.owners),
    gateway: resolve(given.gateway),
    fresh: values.fresh === true,
    markdown: given.markdown,
  };
}
