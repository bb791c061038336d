import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Surface } from "./load/requests.js";
import { seed } from "./seed/seed.js";
import { openStore } from "./seed/store.js";
import { type Server, type ServerCommand, startServer } from "./server.js";
import { CREATE_TABLE } from "./servers/qr-code.js";

/** The servers that can be compared. */
export const TARGETS = ["limit-http", "fastify", "express-typeorm", "gateway"] as const;

/** One of them. */
export type TargetName = (typeof TARGETS)[number];

/** What a target is started with. */
export interface Setting {
  rows: number;
  owners: number;
  backend: "mysql" | "sqlite";
  workers: number;
  /** A checkout of the gateway. */
  gateway: string;
  /** Appended to the names of the databases, so that modes do not undo each other's seeding. */
  suffix: string;
}

/** A target that runs over seeded rows. */
export interface Target {
  name: TargetName;
  server: Server;
  keys: string[];
  /** Targets of one store work on the same rows. */
  store: string;
  surfaces: readonly Surface[];
}

const MYSQL = process.env["BENCH_MYSQL_URL"] ?? "mysql://root@127.0.0.1:3306";
const REDIS = process.env["BENCH_REDIS_URL"] ?? "redis://127.0.0.1:6379";
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MEASURED_OWNERS = 2;

async function onServer(statement: string): Promise<void> {
  const store = await openStore(`${MYSQL}/`);
  await store.run(statement);
  await store.close();
}

async function createDatabase(name: string): Promise<string> {
  await onServer(`CREATE DATABASE IF NOT EXISTS ${name} CHARACTER SET utf8mb4`);
  return `${MYSQL}/${name}`;
}

const sqlitePath = (suffix: string) => join(tmpdir(), `qr-voice-gateway-bench${suffix}.db`);

/** Removes what runs before have seeded, for instance after the schema has changed. */
export async function dropDatabases(suffix: string): Promise<void> {
  for (const name of ["bench_refs", "bench_gateway"]) await onServer(`DROP DATABASE IF EXISTS ${name}${suffix}`);
  for (const end of ["", "-wal", "-shm"]) rmSync(sqlitePath(suffix) + end, { force: true });
}

const run = (command: string, args: string[], cwd: string) => execFileSync(command, args, { cwd, stdio: "inherit" });

/** Compiles what the named targets need: all of them run as plain JavaScript, as they would in production. */
export function buildTargets(names: readonly TargetName[], gateway: string): void {
  if (names.some((name) => name !== "gateway")) run("npx", ["tsc", "-p", "bench"], ROOT);
  if (names.includes("gateway")) run("npm", ["run", "--silent", "build"], gateway);
}

async function startReference(name: TargetName, setting: Setting): Promise<Target> {
  const databaseUrl = await createDatabase(`bench_refs${setting.suffix}`);
  const store = await openStore(databaseUrl);
  await store.run(CREATE_TABLE);
  await store.close();
  const command: ServerCommand = {
    name,
    script: join(ROOT, "dist/bench", `${name}.js`),
    directory: ROOT,
    environment: { DATABASE_URL: databaseUrl },
    readyPath: "/v1/qr/none",
    readyOn200: false,
  };
  // The references take X-API-Key for the owner's id.
  const keys = Array.from({ length: Math.min(MEASURED_OWNERS, setting.owners) }, (_, index) => String(index + 1));
  return startSeeded(name, command, () => keys, {
    ...setting,
    databaseUrl,
    table: "bench_qr_codes",
    surfaces: ["rest"],
  });
}

async function startGateway(setting: Setting): Promise<Target> {
  const directory = setting.gateway;
  const sqlite = setting.backend === "sqlite";
  const databaseUrl = sqlite
    ? `sqlite:${sqlitePath(setting.suffix)}`
    : await createDatabase(`bench_gateway${setting.suffix}`);
  const environment = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: REDIS,
    CONTEXT_SIGNING_KEY: "a-key-for-the-benchmark-and-nothing-else",
    LOG_LEVEL: process.env["LOG_LEVEL"] ?? "warn",
    WORKERS: String(setting.workers),
  };
  const makeKey = (owner: string) => {
    const args = ["run", "--silent", "keys", "--", "create", "--owner", owner, "--scopes", "all"];
    const output = execFileSync("npm", args, {
      cwd: directory,
      env: { ...process.env, ...environment },
      encoding: "utf8",
    });
    return output.trim().split("\n").at(-1) ?? "";
  };
  const makeKeys = () => ["bench-a", "bench-b"].slice(0, setting.owners).map(makeKey);
  const script = join(directory, "dist/src/main.js");
  const command = { name: "gateway", script, directory, environment, readyPath: "/readyz", readyOn200: true };
  const surfaces = ["rest", "trpc", "trpc-batch"] as const;
  return startSeeded("gateway", command, makeKeys, { ...setting, databaseUrl, table: "qr_codes", surfaces });
}

type Seedable = Setting & { databaseUrl: string; table: string; surfaces: readonly Surface[] };

/** Starts once to migrate and seed, then again to be measured: a start-up and a memory that seeding has not touched. */
async function startSeeded(
  name: TargetName,
  command: ServerCommand,
  makeKeys: () => string[],
  setting: Seedable,
): Promise<Target> {
  const first = await startServer(command);
  const keys = makeKeys();
  try {
    await seed({ ...setting, keys, port: first.port });
  } finally {
    await first.stop();
  }
  return { name, server: await startServer(command), keys, store: setting.databaseUrl, surfaces: setting.surfaces };
}

/** Prepares the target's database and starts it; `buildTargets` must have run. */
export function startTarget(name: TargetName, setting: Setting): Promise<Target> {
  return name === "gateway" ? startGateway(setting) : startReference(name, setting);
}
