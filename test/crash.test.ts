import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { expect } from "chai";
import { install, type Installation, onEachBackend } from "./support/backends.js";
import { type Answer, apiClient, expectOk, keyed, send } from "./support/http.js";
import { keyFromCommand, spawnGateway, type SpawnedGateway } from "./support/process.js";
import { eventually, pause } from "./support/servers.js";

const attempt = (call: Promise<Answer>): Promise<Answer | undefined> => call.catch(() => undefined);

onEachBackend("A process that is killed", (backend) => {
  let installation: Installation;
  let apiKey: string;
  before(async () => {
    installation = await install(backend);
    apiKey = await keyFromCommand(installation.env);
  });
  after(() => installation.drop());

  it("loses and doubles nothing of keyed creates that are sent again", async function () {
    this.timeout(40_000);
    const keys = Array.from({ length: 150 }, () => randomUUID());
    const acknowledged = new Map<string, string>();
    const note = (key: string, { body, text }: Answer) => {
      const known = acknowledged.get(key);
      if (known !== undefined) expect(text, key).to.equal(known);
      expect(body.short_id).to.be.a("string");
      acknowledged.set(key, text);
    };
    for (let life = 0; life < 2; life++) {
      const gateway = await spawnGateway({ ...installation.env, IDEMPOTENCY_LEASE: "1" });
      const api = apiClient(gateway.url, apiKey);
      let answered = 0;
      const sending = keys.slice(75 * life, 75 * life + 75).map(async (key) => {
        const answer = await attempt(api.post("/v1/qr", { name: key }, keyed(key)));
        if (answer?.status !== 200) return;
        note(key, answer);
        if (++answered === 15) gateway.child.kill("SIGKILL");
      });
      await Promise.all([...sending, gateway.ended]);
      expect(acknowledged.size).to.be.within(15 * (life + 1), 75 * (life + 1) - 1);
    }

    const gateway = await spawnGateway({ ...installation.env, IDEMPOTENCY_LEASE: "1" });
    const api = apiClient(gateway.url, apiKey);
    for (const key of keys) {
      let answer: Answer;
      do {
        answer = await api.post("/v1/qr", { name: key }, keyed(key));
        if (answer.status === 409) await pause(100);
      } while (answer.status === 409);
      expectOk(answer);
      note(key, answer);
    }
    const pages = await Promise.all([0, 100].map((offset) => api.get(`/v1/qr?limit=100&offset=${offset}`)));
    const names = pages.flatMap((page) => expectOk(page).map((qr: { name: string }) => qr.name));
    expect(names).to.have.members(keys);
    expect((await gateway.kill("SIGTERM")).code).to.equal(0);
  });
});

onEachBackend("SIGTERM", (backend) => {
  let installation: Installation;
  let apiKey: string;
  let gateway: SpawnedGateway;
  before(async () => {
    installation = await install(backend);
    apiKey = await keyFromCommand(installation.env);
  });
  after(() => installation.drop());
  beforeEach(async () => {
    gateway = await spawnGateway(installation.env);
  });
  afterEach(async () => {
    await gateway.kill("SIGKILL");
  });

  const head = (length: number) =>
    `POST /v1/qr HTTP/1.1\r\nHost: x\r\nX-API-Key: ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

  async function isRefused(): Promise<boolean> {
    const socket = connect(gateway.port, "127.0.0.1");
    const refused = await Promise.race([
      once(socket, "connect").then(() => false),
      new Promise<boolean>((resolve) => void socket.once("error", () => resolve(true))),
    ]);
    socket.destroy();
    return refused;
  }

  it("finishes a slow request, though idle and silent connections are open, refuses new ones and exits 0", async () => {
    expectOk(await send(gateway.url, { method: "GET", path: "/healthz" }));
    const silent = connect(gateway.port, "127.0.0.1");
    silent.on("error", () => undefined);
    const slow = connect(gateway.port, "127.0.0.1");
    await Promise.all([once(silent, "connect"), once(slow, "connect")]);
    const body = '{"name":"slow"}';
    slow.write(head(body.length) + body.slice(0, 5));
    await pause(100);
    const started = Date.now();
    const ended = gateway.kill("SIGTERM");
    await eventually(isRefused, "new connections are refused");
    let answer = "";
    slow.on("data", (chunk: Buffer) => (answer += chunk.toString()));
    await pause(200);
    slow.write(body.slice(5));
    const { code, stderr } = await ended;
    expect(answer).to.contain("HTTP/1.1 200 OK").and.contain('"name":"slow"');
    expect(answer).to.contain("Connection: close");
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: "" });
    expect(Date.now() - started).to.be.below(3000);
  });

  it("lets clients that never pause go, after an answer to whatever they sent", async () => {
    const api = apiClient(gateway.url, apiKey);
    let answered = 0;
    const client = async () => {
      for (;;) {
        const answer = await attempt(api.get("/v1/qr"));
        if (answer === undefined) return;
        expectOk(answer);
        answered++;
      }
    };
    const clients = Promise.all(Array.from({ length: 4 }, client));
    await eventually(() => answered > 20, "answers");
    const started = Date.now();
    const { code } = await gateway.kill("SIGTERM");
    expect(code).to.equal(0);
    expect(Date.now() - started).to.be.below(2000);
    await clients;
  });

  it("a second one ends it at once", async () => {
    const slow = connect(gateway.port, "127.0.0.1");
    slow.on("error", () => undefined);
    await once(slow, "connect");
    slow.write(head(10));
    await pause(100);
    gateway.child.kill("SIGTERM");
    await eventually(isRefused, "new connections are refused");
    const started = Date.now();
    const { code } = await gateway.kill("SIGTERM");
    expect(code).to.equal(1);
    expect(Date.now() - started).to.be.below(1000);
  });
});
