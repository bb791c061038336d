import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { readConfig } from "../src/config.js";
import { run } from "./support/run.js";
import { withHelp } from "./support/tools.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SECRETS = { MYSQL_PASSWORD: "a1", MYSQL_ROOT_PASSWORD: "b2", CONTEXT_SIGNING_KEY: "c3" };
const COMPOSE = ["/usr/bin/docker-compose", "/usr/local/bin/docker-compose"].find((path) => existsSync(path));
const help = { present: COMPOSE !== undefined, missing: "there is no docker-compose." };

const config = (secrets: Record<string, string>) =>
  run(COMPOSE as string, ["config"], { cwd: ROOT, env: { PATH: process.env.PATH, ...secrets }, mayFail: true });

withHelp("docker-compose.yml", help, () => {
  it("is clean, and configures the gateway", async () => {
    const { code, output } = await config(SECRETS);
    expect(code, output).to.equal(0);
    expect(output).to.not.match(/warn/i);
    const environment = [...output.matchAll(/^ {6}([A-Z_]+): (.*)$/gm)].map(([, name, value]) => [
      name,
      value === "''" ? "" : value,
    ]);
    const { database, redisUrl, contextSigningKey } = readConfig(Object.fromEntries(environment));
    expect(database).to.include({ kind: "mysql", host: "mysql", user: "gateway", password: "a1", database: "gateway" });
    expect([redisUrl, contextSigningKey]).to.deep.equal(["redis://redis:6379", "c3"]);
  });

  for (const name of Object.keys(SECRETS)) {
    it(`starts nothing without ${name}`, async () => {
      for (const value of [undefined, ""]) {
        const secrets = Object.entries({ ...SECRETS, [name]: value }).filter(([, text]) => text !== undefined);
        const { code, output } = await config(Object.fromEntries(secrets) as Record<string, string>);
        expect(code).to.not.equal(0);
        expect(output).to.include(`set ${name}`);
      }
    });
  }
});

describe("Dockerfile", () => {
  it("runs the gateway itself, not as root, and asks for its readiness", async () => {
    const text = await readFile(new URL("../Dockerfile", import.meta.url), "utf8");
    const last = text.slice(text.lastIndexOf("\nFROM "));
    expect(last).to.match(/^USER node$/m);
    expect(last).to.include('CMD ["node", "dist/src/main.js"]');
    expect(last).to.match(/HEALTHCHECK[^]*\/readyz/);
  });
});
