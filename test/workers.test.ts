import { expect } from "chai";
import { install, type Installation, onServers } from "./support/backends.js";
import { apiClient, expectOk, keyed } from "./support/http.js";
import { keyFromCommand, runGateway, spawnGateway, type SpawnedGateway } from "./support/process.js";
import { eventually } from "./support/servers.js";

describe("workers on SQLite", () => {
  it("are refused with a sentence", async () => {
    const installation = await install("sqlite");
    const { code, stderr } = await runGateway({ ...installation.env, WORKERS: "2" });
    expect(code).to.equal(1);
    expect(stderr).to.match(/^WORKERS must be 1 on SQLite/);
    await installation.drop();
  });
});

onServers("Workers", () => {
  let installation: Installation;
  let gateway: SpawnedGateway;
  let key: string;
  const pids = () => [...gateway.output.stdout.matchAll(/"url":"[^"]+","pid":(\d+)/g)].map((match) => Number(match[1]));

  before(async function () {
    this.timeout(30_000);
    installation = await install("mysql + redis");
    key = await keyFromCommand(installation.env);
    gateway = await spawnGateway({ ...installation.env, WORKERS: "2" });
    await eventually(() => pids().length === 2, "both workers listen", 15_000);
  });
  after(() => installation.drop());

  it("share one port, and a keyed create happens once whichever answers", async () => {
    const answers = await Promise.all(
      Array.from({ length: 25 }, () => apiClient(gateway.url, key).post("/v1/qr", {}, keyed("same"))),
    );
    const made = answers.filter((answer) => answer.status === 200).map((answer) => answer.body.short_id);
    expect(new Set(made).size).to.equal(1);
    expect(answers.every((answer) => [200, 409].includes(answer.status))).to.equal(true);
  });

  it("are replaced when one dies, while the others answer", async function () {
    this.timeout(30_000);
    const [first] = pids();
    process.kill(first as number, "SIGKILL");
    await eventually(() => pids().length === 3, "another worker listens", 15_000);
    for (let n = 0; n < 10; n++) expectOk(await apiClient(gateway.url, key).get("/v1/qr"));
  });

  it("drain together on SIGTERM", async () => {
    const { code } = await gateway.kill("SIGTERM");
    expect(code).to.equal(0);
    const alive = pids().filter((pid) => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    });
    expect(alive).to.deep.equal([]);
  });
});
