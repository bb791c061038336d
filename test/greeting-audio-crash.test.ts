import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import BetterSqlite3 from "better-sqlite3";
import { expect } from "chai";
import { createConnection } from "mysql2/promise";
import { readConfig } from "../src/config.js";
import { openDatabase } from "../src/database/open.js";
import { createKey } from "../src/key-store.js";
import { ALL_SCOPES } from "../src/scopes.js";
import { exhausted, GeminiServer, key as geminiKey, reply, spoken } from "./speech/gemini-server.js";
import { type Installation, install, onEachBackend } from "./support/backends.js";
import { audioWhen, pause, typedClient } from "./support/greetings.js";
import { type Api, apiClient, expectOk, ifMatch } from "./support/http.js";

const PROCESS = fileURLToPath(new URL("support/greeting-process.ts", import.meta.url));

/** Keeps everyone from committing to the queue, until released. */
async function lockQueue(url: string): Promise<() => Promise<void>> {
  if (url.startsWith("sqlite:")) {
    const connection = new BetterSqlite3(url.slice("sqlite:".length), { timeout: 2000 });
    connection.exec("BEGIN IMMEDIATE");
    return async () => void connection.close();
  }
  const connection = await createConnection(url);
  await connection.query("START TRANSACTION");
  await connection.query("SELECT * FROM greeting_work FOR UPDATE");
  return () => connection.end();
}

onEachBackend("Greeting audio, when the process is killed", (backend) => {
  const gemini = new GeminiServer();
  let installation: Installation;
  let env: Record<string, string>;
  let key: string;
  let child: ChildProcess;
  let api: Api;
  let trpc: ReturnType<typeof typedClient>;

  const start = async () => {
    child = spawn(process.execPath, ["--import", "tsx", PROCESS], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [port] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    const url = `http://127.0.0.1:${port.toString().trim()}`;
    api = apiClient(url, key);
    trpc = typedClient(url, key);
  };
  const kill = async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  };

  before(async () => {
    installation = await install(backend);
    env = { ...installation.env, GEMINI_API_KEY: geminiKey, GEMINI_BASE_URL: gemini.baseUrl };
    const open = await openDatabase(readConfig(env).database);
    key = await createKey(open.dataSource, { ownerName: "o", name: "k", scopes: ALL_SCOPES, expiresAt: null });
    await open.database.close();
  });
  beforeEach(start);
  afterEach(kill);
  after(() => installation.drop());

  const answerAudio: typeof gemini.answer = (response) => {
    const { text } = JSON.parse(gemini.requests.at(-1)?.body as string).contents[0].parts[0];
    reply(200, spoken({ mimeType: "audio/L16;rate=24000", data: Buffer.from(text.padEnd(2000)) }))(response);
  };
  const said = async (agent: { id: number }) => {
    const { audio } = await audioWhen({ trpc }, { agent_id: agent.id });
    return audio.subarray(44).toString().trim();
  };
  const newAgent = async (text: string) =>
    expectOk(await api.post("/v1/agents", { name: "A", greeting_message: text }));
  const change = async (agent: { id: number; resource_version: number }, text: string) => {
    const answer = await api.patch(
      `/v1/agents/${agent.id}`,
      { greeting_message: text },
      ifMatch(agent.resource_version),
    );
    Object.assign(agent, expectOk(answer));
  };

  it("between synthesis and commit: it is pending, and made once there is a process again", async () => {
    gemini.answer = answerAudio;
    const agent = await newAgent("Old");
    expect(await said(agent)).to.equal("Old");

    const answered = new Promise<() => Promise<void>>((resolve, reject) => {
      gemini.answer = (response) => {
        lockQueue(env.DATABASE_URL as string).then((release) => {
          answerAudio(response);
          resolve(release);
        }, reject);
      };
    });
    await change(agent, "New");
    const release = await answered;
    await pause(300);
    await kill();
    await release();
    expect(gemini.requests).to.have.lengthOf(2);

    gemini.answer = () => undefined;
    await start();
    await audioWhen({ trpc }, { agent_id: agent.id }, "pending");
    gemini.answer = answerAudio;
    await kill();
    await start();
    expect(await said(agent)).to.equal("New");
    await change(agent, "Old");
    expect(await said(agent)).to.equal("Old");
  }).timeout(40_000);

  it("at any time: the audio is always that of the text", async () => {
    gemini.answer = (response) => void setTimeout(() => answerAudio(response), Math.random() * 30);
    const agent = await newAgent("Text 0");
    for (let round = 1; round <= 6; round++) {
      await change(agent, `Text ${round}`);
      await pause(Math.random() * 120);
      await kill();
      await start();
      const now = await trpc.agents.greetingAudio.query({ agent_id: agent.id });
      expect(now.status).to.be.oneOf(["pending", "ready"]);
      expect(await said(agent)).to.equal(`Text ${round}`);
    }
  }).timeout(60_000);

  it("not at all, but out of quota: it is made when Gemini speaks again", async () => {
    const refusals = [reply(429, exhausted(), { "retry-after": "1" }), reply(503, "")];
    gemini.answer = (response) => (refusals.shift() ?? answerAudio)(response);
    const begun = Date.now();
    const agent = await newAgent("Quota");
    expect(Date.now() - begun).to.be.lessThan(500);
    expect(await said(agent)).to.equal("Quota");
    expect(Date.now() - begun).to.be.greaterThan(900);
    expect(gemini.requests).to.have.lengthOf(3);
  });
});
