import { crc32 } from "node:zlib";
import { expect } from "chai";
import { Redis as IoRedis } from "ioredis";
import { createKey, rotateKey } from "../src/key-store.js";
import { generateKey, parseKey } from "../src/keys.js";
import { ALL_SCOPES } from "../src/scopes.js";
import {
  install,
  type Installation,
  onEachBackend,
  onServers,
  query,
  type RunningGateway,
  startGateway,
} from "./support/backends.js";
import { apiClient, expectError, expectOk } from "./support/http.js";
import { keyFromCommand, runKeys } from "./support/process.js";
import { eventually, pause } from "./support/servers.js";

const KEY = /^qrv_([0-9A-Za-z]{12})_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;
const idOf = (key: string) => key.split("_")[1] as string;

onEachBackend("The keys command", (backend) => {
  let installation: Installation;
  let running: RunningGateway;
  before(async () => {
    installation = await install(backend);
    running = await startGateway(backend, {}, installation);
  });
  after(async () => {
    await running.stop();
    await installation.drop();
  });

  const keys = (...args: string[]) => runKeys(args, installation.env);
  const lastLine = (text: string) => text.trimEnd().split("\n").at(-1) as string;
  const list = (key: string) => apiClient(running.url, key).get("/v1/qr");
  interface Row {
    id: string;
    secret_hash: Buffer;
    last_used_at: string | null;
  }
  const rows = (key: string) => query<Row>(running, "SELECT * FROM api_keys WHERE id = ?", [idOf(key)]);

  it("makes a key that works at once, stores nothing secret of it, and notes its use once a minute", async () => {
    const { code, stdout } = await keys("create", "--owner", "Ana ✨", "--scopes", "qr:read,qr:write", "--name", "x");
    expect(code).to.equal(0);
    const key = lastLine(stdout);
    expect(key).to.match(KEY);
    const capabilities = expectOk(await apiClient(running.url, key).get("/v1/capabilities"));
    expect(capabilities.authorization.effective_scopes).to.have.members(["qr:read", "qr:write"]);

    const used = async () => (await rows(key))[0]?.last_used_at;
    await eventually(async () => (await used()) !== null, "the use is noted");
    const first = await used();
    await Promise.all(Array.from({ length: 10 }, () => list(key)));
    await pause(100);
    expect(await used()).to.deep.equal(first);

    const stored = JSON.stringify(await query(running, "SELECT * FROM api_keys"));
    const [, , secret = ""] = KEY.exec(key) as RegExpExecArray;
    expect(stored).not.to.contain(secret);
    expect(Buffer.from((await rows(key))[0]?.secret_hash ?? "")).to.have.length(32);
    const listed = await keys("list");
    expect(listed.stdout).to.contain(idOf(key)).and.contain("owner=Ana ✨").and.not.contain(secret);
  });

  it("ends a key when its time is over, and within 5 s of revoking it", async () => {
    const [brief, long, revoked] = await Promise.all([
      keyFromCommand(installation.env, "--expires", "4s"),
      keyFromCommand(installation.env, "--expires", "90d"),
      keyFromCommand(installation.env),
    ]);
    for (const key of [long, revoked]) expectOk(await list(key));
    expect((await keys("revoke", idOf(revoked))).code).to.equal(0);
    await pause(4000);
    for (const key of [brief, revoked]) expectError(await list(key), 401, "API_KEY_INVALID");
    expectOk(await list(long));
    expect(await rotateKey(running.gateway.open.dataSource, idOf(revoked), 0)).to.equal(null);
  });

  it("rotates: the new key works, the old one until its grace is over", async () => {
    const { dataSource } = running.gateway.open;
    const owner = { ownerName: "rotating", name: "x", scopes: ALL_SCOPES, expiresAt: null };
    const [old, other] = [await createKey(dataSource, owner), await createKey(dataSource, owner)];
    for (const key of [old, other]) expectOk(await list(key));
    const ends = await Promise.all([keys("rotate", idOf(old)), keys("rotate", idOf(other), "--grace", "0s")]);
    for (const { code, stdout } of ends) {
      expect(code).to.equal(0);
      expectOk(await list(lastLine(stdout)));
    }
    expectOk(await list(old));
    await eventually(async () => (await list(other)).status === 401, "the grace is over", 5000);
    const [row] = await query<{ expires_at: string }>(running, "SELECT * FROM api_keys WHERE id = ?", [idOf(old)]);
    const end = Date.parse(`${row?.expires_at.replace(" ", "T")}Z`);
    expect(end - Date.now()).to.be.within(86_400_000 - 60_000, 86_400_000);
  });
});

describe("The keys command's usage", () => {
  it("refuses bad usage with a clear sentence, and touches nothing", async function () {
    this.timeout(30_000);
    const env = { DATABASE_URL: "mysql://root@127.0.0.1:1/nowhere" };
    const bad: [string[], string][] = [
      [[], "Name a command"],
      [["revoke", "a", "b"], "revoke takes one KEY_ID"],
      [["create", "--scopes", "all"], "--owner must be"],
      [["create", "--owner", "x", "--scopes", "qr:red"], "There is no scope qr:red"],
      [["create", "--owner", "x", "--scopes", "all", "--expires", "soon"], "--expires must be a duration"],
      [["rotate", "x", "--grace", "1w"], "--grace must be a duration"],
      [["list", "--everything"], "--everything"],
    ];
    const ends = await Promise.all(bad.slice(0, 6).map(([args]) => runKeys(args, env)));
    ends.push(...(await Promise.all(bad.slice(6).map(([args]) => runKeys(args, env)))));
    ends.forEach(({ code, stdout, stderr }, n) => {
      expect(code, stderr).to.equal(2);
      expect(stdout).to.equal("");
      expect(stderr.split("\n")[0]).to.contain(bad[n]?.[1]);
      expect(stderr).to.contain("Usage:");
    });
  });
});

onServers("Revoking with Redis", () => {
  it("counts at once, on every node, though the key was just used", async () => {
    const installation = await install("mysql + redis");
    const nodes = [
      await startGateway("mysql + redis", {}, installation),
      await startGateway("mysql + redis", {}, installation),
    ];
    const observer = new IoRedis(nodes[0]?.config.redisUrl as string);
    try {
      const key = await keyFromCommand(installation.env);
      const told = new Promise<string>((resolve) => void observer.on("message", (_channel, text) => resolve(text)));
      await observer.subscribe("qrv:revoked-keys");
      const useAll = () => Promise.all(nodes.map(({ url }) => apiClient(url, key).get("/v1/qr")));
      const revoked = new AbortController();
      const using = (async () => {
        while (!revoked.signal.aborted) await useAll();
      })();
      const revoking = runKeys(["revoke", idOf(key)], installation.env);
      expect(await told).to.equal(idOf(key));
      await pause(100);
      for (const answer of await useAll()) expectError(answer, 401, "API_KEY_INVALID");
      revoked.abort();
      await Promise.all([using, revoking]);
    } finally {
      observer.disconnect();
      for (const node of nodes) await node.stop();
      await installation.drop();
    }
  });
});

describe("The form of a key", () => {
  const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

  it("ends in the CRC32 of all before it, base62, padded to six", () => {
    for (let n = 0; n < 200; n++) {
      const { text } = generateKey();
      const [, , , checksum = ""] = KEY.exec(text) as RegExpExecArray;
      const value = [...checksum].reduce((sum, digit) => sum * 62 + BASE62.indexOf(digit), 0);
      expect(value).to.equal(crc32(text.slice(0, -6)));
    }
  });

  it("refuses any typo before looking it up", () => {
    const { text } = generateKey();
    expect(parseKey(text)).not.to.equal(null);
    for (let at = 0; at < text.length; at++) {
      const other = text[at] === "x" ? "y" : "x";
      expect(parseKey(text.slice(0, at) + other + text.slice(at + 1)), String(at)).to.equal(null);
    }
    for (const wrong of ["", ` ${text}`, `${text} `, `${text}\n`, text.toUpperCase()])
      expect(parseKey(wrong)).to.equal(null);
  });
});
