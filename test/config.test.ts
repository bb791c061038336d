import { expect } from "chai";
import { ConfigError, readConfig } from "../src/config.js";
import { runGateway } from "./support/process.js";

function refusal(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).to.be.instanceOf(ConfigError);
    return (error as Error).message;
  }
  throw new Error(`It took ${JSON.stringify(env)}.`);
}

const BAD: Record<string, string[]> = {
  PORT: ["-1", "65536", "http", "3e3", "0x10", " 80", "80.5"],
  HOST: ["http://localhost", "a b", "localhost:3000"],
  DATABASE_URL: [
    "sqlite:",
    "sqlite::memory:",
    "postgres://h/d",
    "mysql://h",
    "mysql://h/",
    "mysql://h/a/b",
    "mysql://h:99999/d",
    "mysql://%zz@h/d",
    "mysql://u:secret@h/d?ssl=true",
    "mysql://u:secret@h/d?tls=1",
    "mysql://u:secret@h/d?tls=yes",
    "data/gateway.db",
  ],
  REDIS_URL: ["localhost:6379", "http://h", "redis://h/abc", "redis://h:99999", "redis://:%zz@h"],
  PUBLIC_SCAN_URL: ["qr.example", "ftp://qr.example", "https://qr.example/?a=b", "https://qr.example/#x", "https://"],
  DEFAULT_VOICE_MODEL: ["x".repeat(129), "a\nb"],
  OUTCOME_SINK_URL: ["sink", "redis://h"],
  GEMINI_API_KEY: ["a key", "schlüssel"],
  GEMINI_BASE_URL: ["gemini", "ftp://h"],
  IDEMPOTENCY_TTL: ["0", "-1", "1.5", "24h", "31536001"],
  IDEMPOTENCY_LEASE: ["0", "301", "5s"],
  TRUST_PROXY: ["yes", "127.0.0.1/33", "proxy.example", "1,2", "300.1.1.1"],
  WORKERS: ["0", "257", "two"],
  LOG_LEVEL: ["verbose", "INFO"],
};

describe("Configuration", () => {
  for (const [name, values] of Object.entries(BAD)) {
    it(`says in one sentence what is wrong with ${name}`, () => {
      for (const value of values) {
        const message = refusal({ [name]: value });
        expect(message, value).to.match(new RegExp(`^${name} .+\\.$`));
        expect(message, value).not.to.contain("secret");
        expect(message.split("\n"), value).to.have.length(1);
      }
    });
  }

  it("names every bad variable at once", () => {
    expect(refusal({ PORT: "x", LOG_LEVEL: "x" }).split("\n")).to.have.length(2);
  });

  it("counts an empty variable as absent", () => {
    const names = [...Object.keys(BAD), "CONTEXT_SIGNING_KEY"];
    expect(readConfig(Object.fromEntries(names.map((name) => [name, ""])))).to.deep.equal(readConfig({}));
  });

  it("has the defaults of the README", () => {
    expect(readConfig({})).to.deep.equal({
      port: 3000,
      host: "127.0.0.1",
      database: { kind: "sqlite", path: "data/gateway.db" },
      redisUrl: undefined,
      publicScanUrl: "http://localhost:3000/q",
      defaultVoiceModel: "gemini-3.1-flash-live-preview",
      contextSigningKey: undefined,
      outcomeSinkUrl: undefined,
      geminiApiKey: undefined,
      geminiBaseUrl: undefined,
      geminiTtsModel: undefined,
      idempotencyTtlSeconds: 86_400,
      idempotencyLeaseSeconds: 5,
      trustProxy: false,
      workers: 1,
      logLevel: "info",
    });
  });

  it("reads every variable", () => {
    const mysql = "mysql://us%40er:p%3Aw@db.example:3307/qr%20v?tls=true";
    const config = readConfig({ DATABASE_URL: mysql, CONTEXT_SIGNING_KEY: "k", HOST: "::", PORT: "0" });
    const target = { host: "db.example", port: 3307, user: "us@er", password: "p:w", database: "qr v", tls: true };
    expect(config.database).to.deep.equal({ kind: "mysql", ...target });
    const plain = readConfig({ DATABASE_URL: "mysql://root@[::1]/d?tls=false", CONTEXT_SIGNING_KEY: "k" }).database;
    expect(plain).to.include({ host: "::1", port: 3306, password: "", tls: false });
    expect(readConfig({ PUBLIC_SCAN_URL: "https://qr.example/s//" }).publicScanUrl).to.equal("https://qr.example/s");
    expect(readConfig({ REDIS_URL: "rediss://u:p@h:1/3" }).redisUrl).to.equal("rediss://u:p@h:1/3");
    const trusted = ["true", "false", "2", "loopback", "10.0.0.0/8, ::1"].map(
      (text) => readConfig({ TRUST_PROXY: text }).trustProxy,
    );
    expect(trusted).to.deep.equal([true, false, 2, "loopback", "10.0.0.0/8, ::1"]);
  });

  it("requires CONTEXT_SIGNING_KEY with MySQL", () => {
    expect(refusal({ DATABASE_URL: "mysql://root@h/d" })).to.match(/^CONTEXT_SIGNING_KEY is required with MySQL/);
  });

  it("ends the process with 1 and that sentence alone", async () => {
    const env = { PORT: "x", DATABASE_URL: "mysql://root:secret@h/d?ssl=1" };
    const { code, stdout, stderr } = await runGateway(env);
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: "" });
    expect(stderr).to.equal(`${refusal(env)}\n`);
  });

  it("says where it could not connect, without a stack or the password", async () => {
    const DATABASE_URL = "mysql://root:secret@localhost:1/d";
    const { code, stdout, stderr } = await runGateway({ DATABASE_URL, CONTEXT_SIGNING_KEY: "k".repeat(32) });
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: "" });
    expect(stderr).to.match(/^The gateway could not start: .*ECONNREFUSED.*\n$/);
    expect(stderr).not.to.contain("secret");
  });
});
