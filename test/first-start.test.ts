import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import BetterSqlite3 from "better-sqlite3";
import { expect } from "chai";
import { createConnection } from "mysql2/promise";
import { migrations } from "../entities/migrations/index.js";
import { install, onServers } from "./support/backends.js";
import { apiClient, expectOk } from "./support/http.js";
import { keyFromCommand, runGateway, spawnGateway } from "./support/process.js";
import { eventually } from "./support/servers.js";

const KEY = /qrv_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}/g;

describe("The embedded default's first start", () => {
  let directory: string;
  let env: Record<string, string>;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "qrv-first-"));
    env = { DATABASE_URL: `sqlite:${join(directory, "data/gateway.db")}` };
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));
  const path = (name: string) => join(directory, "data", name);

  it("prints a key and a curl that answers, once, and keeps them from other users", async () => {
    const gateway = await spawnGateway(env);
    await eventually(() => gateway.output.stdout.includes("curl"), "the curl is printed");
    const printed = gateway.output.stdout.match(KEY);
    const key = (await readFile(path("first-api-key"), "utf8")).trim();
    expect(new Set(printed)).to.deep.equal(new Set([key]));
    const curl = gateway.output.stdout.split("\n").find((line) => line.trim().startsWith("curl")) as string;
    const { stdout } = await promisify(execFile)("sh", ["-c", `${curl} -w ' %{http_code}'`]);
    expect(stdout).to.match(/^\{"short_id":"\w{10}".* 200$/);
    for (const name of ["first-api-key", "context-signing.key"]) {
      expect((await stat(path(name))).mode & 0o777, name).to.equal(0o600);
    }
    const logged = gateway.output.stdout.split("\n").filter((line) => line.startsWith("{"));
    expect(logged.join("")).not.to.contain(key);
    await gateway.kill("SIGTERM");

    const again = await spawnGateway(env);
    expectOk(await apiClient(again.url, key).get("/v1/qr"));
    const { stdout: second } = await again.kill("SIGTERM");
    expect(second).not.to.match(KEY);
    expect((await readdir(path("."))).toSorted()).to.include.members(["context-signing.key", "first-api-key"]);
  });

  it("makes no key where the port is taken, and prints it when it can start", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const { code, stdout, stderr } = await runGateway({ ...env, PORT: String(port) });
    other.close();
    expect(code).to.equal(1);
    expect(stderr).to.contain("EADDRINUSE");
    expect(stdout).not.to.match(KEY);
    const gateway = await spawnGateway(env);
    await gateway.kill("SIGTERM");
    expect(gateway.output.stdout).to.match(KEY);
  });

  it("prints none where the operator made a key before", async () => {
    await keyFromCommand(env);
    const gateway = await spawnGateway(env);
    const { stdout } = await gateway.kill("SIGTERM");
    expect(stdout).not.to.match(KEY);
  });

  it("of three processes at once on one empty file, all come up, with one schema and one key", async function () {
    this.timeout(40_000);
    const gateways = await Promise.all([1, 2, 3].map(() => spawnGateway(env)));
    const key = (await readFile(path("first-api-key"), "utf8")).trim();
    for (const { url } of gateways) expectOk(await apiClient(url, key).post("/v1/qr", {}));
    const ends = await Promise.all(gateways.map((gateway) => gateway.kill("SIGTERM")));
    expect(ends.map(({ code }) => code)).to.deep.equal([0, 0, 0]);
    expect(new Set(ends.flatMap(({ stdout }) => stdout.match(KEY) ?? []))).to.deep.equal(new Set([key]));
    const database = new BetterSqlite3(path("gateway.db"), { readonly: true });
    const count = (table: string) => database.prepare(`SELECT COUNT(*) FROM ${table}`).pluck().get();
    expect(["migrations", "owners", "api_keys", "qr_codes"].map(count)).to.deep.equal([migrations.length, 1, 1, 3]);
    database.close();
    expect((await readFile(path("context-signing.key"), "utf8")).trim()).to.have.length(43);
  });
});

onServers("The first start on a server", () => {
  it("of three processes at once on one empty database, all come up, with one schema", async function () {
    this.timeout(40_000);
    const installation = await install("mysql + redis");
    try {
      const gateways = await Promise.all([1, 2, 3].map(() => spawnGateway(installation.env)));
      const key = await keyFromCommand(installation.env);
      for (const { url } of gateways) expectOk(await apiClient(url, key).post("/v1/qr", {}));
      const ends = await Promise.all(gateways.map((gateway) => gateway.kill("SIGTERM")));
      expect(ends.map(({ code }) => code)).to.deep.equal([0, 0, 0]);
      expect(ends.map(({ stdout }) => stdout).join("")).not.to.match(KEY);
      const direct = await createConnection(installation.env.DATABASE_URL as string);
      for (const [table, length] of Object.entries({ migrations: migrations.length, settings: 1 })) {
        const [rows] = await direct.query(`SELECT * FROM ${table}`);
        expect(rows, table).to.have.length(length);
      }
      await direct.end();
    } finally {
      await installation.drop();
    }
  });
});
