/**
 * What greeting audio costs an update that needs none, in one run: one process, one database kind at a time, gateways with and
 * without the greeting worker in turn. `node --import tsx bench/greeting.ts [ROUNDS]`; prints, asserts nothing.
 * CPU is that of this process, client and speaking included; statements are those of transactions, BEGIN and COMMIT aside.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { appRouter } from "../routers/index.js";
import { readConfig } from "../src/config.js";
import type { Database } from "../src/database/sql.js";
import { createGateway, type GatewayParts } from "../src/gateway.js";
import { createKey } from "../src/key-store.js";
import { createLogger } from "../src/logging.js";
import { ALL_SCOPES } from "../src/scopes.js";

const ROUNDS = Number(process.argv[2] ?? 10);
const UPDATES = 200;
const MYSQL_URL = process.env.BENCH_MYSQL_URL ?? "mysql://root@127.0.0.1:3306/";
const GREETING = "Welcome to the harbour house. Ask me anything about your stay.";
const LONG = "All work and no play makes a dull greeting. ".repeat(45);

/** Enough for what was being spoken to end, so that it does not weigh on the next condition. */
const SPEAKING_MS = 3000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const http = new Agent({ keepAlive: true });

interface Bench {
  call(method: string, path: string, body: object, version?: number): Promise<Record<string, unknown>>;
  statements: () => number;
  stop(): Promise<void>;
}

/** Counts what transactions send, BEGIN and COMMIT aside. */
function countStatements(database: Database): () => number {
  let sent = 0;
  const transaction = database.transaction.bind(database);
  database.transaction = (work, options) =>
    transaction(
      (sql) =>
        work({
          ...sql,
          all: (text, values) => (sent++, sql.all(text, values)),
          run: (text, values) => (sent++, sql.run(text, values)),
          insertLater: (into, values) => (sent++, sql.insertLater(into, values)),
        }),
      options,
    );
  return () => sent;
}

async function startBench(env: Record<string, string>, parts: GatewayParts): Promise<Bench> {
  const gateway = await createGateway(readConfig(env), appRouter, createLogger({ logLevel: "error" }), parts);
  const statements = countStatements(gateway.open.database);
  const owner = { ownerName: "bench", name: "bench", scopes: ALL_SCOPES, expiresAt: null };
  const key = await createKey(gateway.open.dataSource, owner);
  await new Promise<void>((resolve) => gateway.server.listen(0, "127.0.0.1", resolve));
  const { port } = gateway.server.address() as { port: number };
  return {
    statements,
    call: (method, path, body, version) =>
      new Promise((resolve, reject) => {
        const headers: Record<string, string> = { "X-API-Key": key, "Content-Type": "application/json" };
        if (version !== undefined) headers["If-Match-Version"] = String(version);
        const req = request({ port, host: "127.0.0.1", agent: http, method, path, headers }, (res) => {
          let text = "";
          res.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          res.on("end", () => {
            if (res.statusCode === 200) resolve(JSON.parse(text) as Record<string, unknown>);
            else reject(new Error(`${method} ${path} answered ${res.statusCode}: ${text}`));
          });
        });
        req.on("error", reject).end(JSON.stringify(body));
      }),
    async stop() {
      gateway.server.closeAllConnections();
      await new Promise((resolve) => gateway.server.close(resolve));
      await gateway.close();
    },
  };
}

/** One line of the result: the same updates, under one condition. */
class Condition {
  readonly #micros: number[] = [];
  #statements = 0;
  #cpuMicros = 0;
  #version = 1;
  #id: unknown;

  constructor(
    readonly name: string,
    readonly bench: Bench,
    readonly body: (update: number) => object,
    /** Whether something long is being spoken meanwhile. */
    readonly whileSpeaking = false,
  ) {}

  async prepare(): Promise<void> {
    ({ id: this.#id } = await this.bench.call("POST", "/v1/agents", { name: "Agent", greeting_message: GREETING }));
  }

  async round(counted: boolean): Promise<void> {
    if (this.whileSpeaking) await this.bench.call("POST", "/v1/agents", { name: "Long", greeting_message: LONG });
    const before = this.bench.statements();
    const cpu = process.cpuUsage();
    for (let update = 0; update < UPDATES; update++) {
      const begun = process.hrtime.bigint();
      await this.bench.call("PATCH", `/v1/agents/${String(this.#id)}`, this.body(update), this.#version++);
      if (counted) this.#micros.push(Number(process.hrtime.bigint() - begun) / 1000);
    }
    const { user, system } = process.cpuUsage(cpu);
    const statements = this.bench.statements() - before;
    if (this.whileSpeaking) await pause(SPEAKING_MS);
    if (!counted) return;
    this.#statements += statements;
    this.#cpuMicros += user + system;
  }

  report(): string {
    const sorted = this.#micros.sort((a, b) => a - b);
    const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] as number);
    const columns = [at(0.5), at(0.99), Math.round(this.#cpuMicros / sorted.length)];
    const numbers = columns.map((column) => String(column).padStart(8)).join("");
    return `${this.name.padEnd(54)}${numbers} ${(this.#statements / sorted.length).toFixed(2).padStart(10)}`;
  }
}

async function compare(title: string, envs: [Record<string, string>, Record<string, string>]): Promise<void> {
  const without = await startBench(envs[0], { greetings: null });
  const withAudio = await startBench(envs[1], {});
  const other = (update: number) => ({ description: `Description ${update}` });
  const conditions = [
    new Condition("without the worker, description", without, other),
    new Condition("with it, description", withAudio, other),
    new Condition("without the worker, description and the same greeting", without, (update) => ({
      ...other(update),
      greeting_message: GREETING,
    })),
    new Condition("with it, description and the same greeting", withAudio, (update) => ({
      ...other(update),
      greeting_message: GREETING,
    })),
    new Condition("with it, description, while speaking (a busy core)", withAudio, other, true),
  ];
  for (const condition of conditions) await condition.prepare();
  await pause(SPEAKING_MS);
  for (let round = -1; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? conditions : conditions.toReversed();
    for (const condition of order) await condition.round(round >= 0);
  }
  const lines = conditions.map((condition) => condition.report());
  process.stdout.write(`\n${title.padEnd(54)}  p50 µs  p99 µs  CPU µs statements\n${lines.join("\n")}\n`);
  await without.stop();
  await withAudio.stop();
}

const directory = await mkdtemp(join(tmpdir(), "qrv-bench-"));
const fileAt = (name: string) => ({ DATABASE_URL: `sqlite:${join(directory, name)}` });
await compare("SQLite", [fileAt("without.db"), fileAt("with.db")]);
await rm(directory, { recursive: true, force: true });

const admin = await createConnection(MYSQL_URL);
const names = ["without", "with"].map((name) => `bench_greeting_${name}_${process.pid}`);
for (const name of names) await admin.query(`CREATE DATABASE ${name}`);
const envOf = (name = "") => ({
  DATABASE_URL: new URL(name, MYSQL_URL).href,
  CONTEXT_SIGNING_KEY: "a signing key for the benchmark, 32 bytes",
});
await compare("MySQL or MariaDB", [envOf(names[0]), envOf(names[1])]);
for (const name of names) await admin.query(`DROP DATABASE ${name}`);
await admin.end();
http.destroy();
