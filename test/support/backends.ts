import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis as IoRedis } from "ioredis";
import { type Connection, createConnection } from "mysql2/promise";
import type { Logger } from "pino";
import { appRouter } from "../../routers/index.js";
import { type Config, type DatabaseTarget, readConfig } from "../../src/config.js";
import { createGateway, type Gateway } from "../../src/gateway.js";
import { createLogger } from "../../src/logging.js";
import { watchAnswers } from "./witness.js";

/** Where the tests look for real servers; the defaults are the local ones. */
const MYSQL_URL = process.env.TEST_MYSQL_URL ?? "mysql://root@127.0.0.1:3306/";
const REDIS_URL = process.env.TEST_REDIS_URL ?? "redis://127.0.0.1:6379";
const SIGNING_KEY = "a signing key for the tests, 32 bytes or more";

/** A backend the suites run on. */
export type BackendName = "sqlite" | "mysql + redis";

/** The environment of a gateway on this backend, on a database of its own; `drop` removes that. */
export interface Installation {
  env: Record<string, string>;
  drop(): Promise<void>;
}

async function sqliteInstallation(): Promise<Installation> {
  const directory = await mkdtemp(join(tmpdir(), "qrv-test-"));
  return {
    env: { DATABASE_URL: `sqlite:${join(directory, "gateway.db")}` },
    drop: () => rm(directory, { recursive: true, force: true }),
  };
}

let databases = 0;

async function mysqlInstallation(): Promise<Installation> {
  const name = `qrv_test_${process.pid}_${++databases}`;
  const admin = async (statement: string) => {
    const connection = await createConnection(MYSQL_URL);
    await connection.query(statement);
    await connection.end();
  };
  await admin(`CREATE DATABASE ${name}`);
  return {
    env: { DATABASE_URL: new URL(name, MYSQL_URL).href, REDIS_URL, CONTEXT_SIGNING_KEY: SIGNING_KEY },
    drop: () => admin(`DROP DATABASE ${name}`),
  };
}

/** A new, empty installation. */
export function install(backend: BackendName): Promise<Installation> {
  return backend === "sqlite" ? sqliteInstallation() : mysqlInstallation();
}

async function answers(check: () => Promise<unknown>): Promise<boolean> {
  return check().then(
    () => true,
    () => false,
  );
}

async function mysqlAnswers(): Promise<boolean> {
  return answers(async () => {
    const connection = await createConnection({ uri: MYSQL_URL, connectTimeout: 2000 });
    await connection.end();
  });
}

async function redisAnswers(): Promise<boolean> {
  const redis = new IoRedis(REDIS_URL, { lazyConnect: true, retryStrategy: () => null });
  redis.on("error", () => undefined);
  const ready = await answers(async () => {
    await redis.connect();
    await redis.ping();
  });
  redis.disconnect();
  return ready;
}

const missing = [(await mysqlAnswers()) ? "" : "MySQL", (await redisAnswers()) ? "" : "Redis"].filter(
  (name) => name !== "",
);

/** Runs a suite on every backend; without MySQL and Redis theirs are skipped loudly, and fail where CI=true. */
export function onEachBackend(title: string, suite: (backend: BackendName) => void): void {
  describe(`${title} [sqlite]`, () => suite("sqlite"));
  onServers(title, () => suite("mysql + redis"));
}

/** Runs a suite that needs MySQL and Redis themselves. */
export function onServers(title: string, suite: () => void): void {
  const full = `${title} [mysql + redis]`;
  if (missing.length === 0) describe(full, suite);
  else if (process.env.CI === "true") {
    describe(full, () => {
      it("has its servers", () => {
        throw new Error(`CI=true, but ${missing.join(" and ")} did not answer.`);
      });
    });
  } else {
    process.stderr.write(`\nSKIPPED: ${full}: ${missing.join(" and ")} did not answer.\n`);
    describe.skip(full, suite);
  }
}

/** A gateway that listens in this process, and its way to the database. */
export interface RunningGateway {
  url: string;
  port: number;
  backend: BackendName;
  config: Config;
  gateway: Gateway;
  stop(): Promise<void>;
}

/** Starts a gateway in this process, on an installation of its own unless one is given. */
export async function startGateway(
  backend: BackendName,
  env: Record<string, string> = {},
  given?: Installation,
  log: Logger = createLogger({ logLevel: "silent" }),
): Promise<RunningGateway> {
  const installation = given ?? (await install(backend));
  const config = readConfig({
    PUBLIC_SCAN_URL: "https://qr.example/s",
    OUTCOME_SINK_URL: "https://sink.example/outcomes",
    ...installation.env,
    ...env,
  });
  const gateway = await createGateway(config, appRouter, log);
  watchAnswers(gateway.server);
  await new Promise<void>((resolve) => gateway.server.listen(0, "127.0.0.1", resolve));
  const { port } = gateway.server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    backend,
    config,
    gateway,
    async stop() {
      gateway.server.closeAllConnections();
      await new Promise((resolve) => gateway.server.close(resolve));
      await gateway.close();
      if (given === undefined) await installation.drop();
    },
  };
}

const shared = new Map<BackendName, Promise<RunningGateway>>();

/** The gateway that most suites of a backend share; owners keep their data apart. */
export function sharedGateway(backend: BackendName): Promise<RunningGateway> {
  let running = shared.get(backend);
  if (running === undefined) shared.set(backend, (running = startGateway(backend)));
  return running;
}

/** Rows of the database by plain SQL, past everything under test. */
export async function query<Row>({ gateway }: RunningGateway, text: string, values: unknown[] = []): Promise<Row[]> {
  return gateway.open.dataSource.query(text, values);
}

/** The target of a MySQL installation, for tests that talk to the server itself. */
function mysqlTarget(config: Config): Extract<DatabaseTarget, { kind: "mysql" }> {
  if (config.database.kind !== "mysql") throw new Error("Not on MySQL.");
  return config.database;
}

/** A connection of the test's own to the MySQL of an installation or a gateway. */
export function connectSql({ config }: { config: Config }): Promise<Connection> {
  const { host, port, user, password, database } = mysqlTarget(config);
  return createConnection({ host, port, user, password, database });
}

after(async () => {
  for (const running of shared.values()) await (await running).stop();
});
