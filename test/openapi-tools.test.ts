import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { sharedGateway } from "./support/backends.js";
import { newOwner } from "./support/owners.js";
import { run } from "./support/run.js";
import { hasTools, TOOLS, withHelp } from "./support/tools.js";
import { judge } from "./support/witness.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const DOCUMENT = join(ROOT, "openapi.json");
const bin = (name: string) => join(TOOLS, "node_modules/.bin", name);
const help = { present: hasTools, missing: "its tools are not installed; `npm run tools` installs them." };

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

withHelp("OpenAPI document in other hands", help, () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "qrv-openapi-"));
    await symlink(join(TOOLS, "node_modules"), join(directory, "node_modules"));
    await writeFile(join(directory, "package.json"), '{ "type": "module" }\n');
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it("satisfies Redocly's recommended rules", async function () {
    this.timeout(120_000);
    const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
    const { stdout } = await run(bin("redocly"), ["lint", DOCUMENT, "--extends=recommended", "--format=json"], {
      env,
      cwd: directory,
    });
    const { totals, problems } = JSON.parse(stdout.slice(stdout.indexOf("{")));
    expect(totals.errors).to.equal(0);
    // The specification's own paths: /by-external-reference/{external_reference} and /{short_id}/agent.
    const rules = new Set(problems.map(({ ruleId }: { ruleId: string }) => ruleId));
    expect([...rules]).to.deep.equal(["no-ambiguous-paths"]);
  });

  it("satisfies Spectral's recommended rules", async function () {
    this.timeout(120_000);
    const ruleset = join(directory, "spectral.yaml");
    await writeFile(ruleset, 'extends: ["spectral:oas"]\n');
    const { stdout } = await run(bin("spectral"), ["lint", DOCUMENT, "--ruleset", ruleset, "--format=json", "--quiet"]);
    const found = JSON.parse(stdout) as { code: string; severity: number }[];
    expect(found.filter(({ severity }) => severity === 0)).to.deep.equal([]);
    // OpenAPI 3.1 lets an API key name the roles it needs; the rule knows OAuth scopes only.
    expect([...new Set(found.map(({ code }) => code))]).to.deep.equal(["oas3-operation-security-defined"]);
  });

  const generators = {
    // Otherwise it makes every member with a default required, in requests too.
    "openapi-fetch-tour": () =>
      run(bin("openapi-typescript"), [DOCUMENT, "--default-non-nullable=false", "-o", join(directory, "schema.d.ts")]),
    "hey-api-tour": () =>
      run(bin("openapi-ts"), ["-i", DOCUMENT, "-o", join(directory, "hey"), "-c", "@hey-api/client-fetch"], {
        cwd: directory,
      }),
  };

  for (const [name, generate] of Object.entries(generators)) {
    it(`goes from nothing to a ready QR code with generated types: ${name}`, async function () {
      this.timeout(120_000);
      await generate();
      await cp(join(ROOT, "test/apps", `${name}.ts`), join(directory, `${name}.ts`));
      const lib = [
        "--lib",
        "es2023,dom,dom.iterable",
        "--types",
        "node",
        "--typeRoots",
        join(ROOT, "node_modules/@types"),
      ];
      const mode = [
        "--strict",
        "--module",
        "esnext",
        "--moduleResolution",
        "bundler",
        "--target",
        "es2022",
        "--noEmit",
      ];
      await run(bin("tsc"), [...mode, ...lib, join(directory, `${name}.ts`)], { cwd: directory });
      const { key } = await newOwner("sqlite");
      const { url } = await sharedGateway("sqlite");
      const env = { ...process.env, GATEWAY_URL: url, GATEWAY_KEY: key };
      const { stdout } = await run(join(ROOT, "node_modules/.bin/tsx"), [join(directory, `${name}.ts`)], { env });
      expect(JSON.parse(stdout)).to.deep.equal({ status: "ready", code: "RESOURCE_VERSION_CONFLICT" });
    });
  }

  it("has no answer outside it, says Prism in front of the gateway", async function () {
    this.timeout(120_000);
    const { key, name } = await newOwner("sqlite");
    const { url } = await sharedGateway("sqlite");
    const { key: readOnly } = await newOwner("sqlite", ["qr:read"], name);
    const port = await freePort();
    const prism = spawn(bin("prism"), ["proxy", DOCUMENT, url, "--port", String(port), "--host", "127.0.0.1"]);
    try {
      await new Promise<void>((resolve, reject) => {
        prism.stdout.on("data", (text: Buffer) => text.includes("is listening") && resolve());
        prism.once("exit", (code) => reject(new Error(`Prism ended with ${code}.`)));
      });
      const report = join(directory, "report.json");
      const variables = { base_url: `http://127.0.0.1:${port}`, api_key: key, read_only_api_key: readOnly };
      await run(
        bin("newman"),
        [
          "run",
          join(ROOT, "postman/collection.json"),
          ...Object.entries(variables).flatMap(([variable, value]) => ["--env-var", `${variable}=${value}`]),
          "--reporters=json",
          `--reporter-json-export=${report}`,
        ],
        { mayFail: true },
      );
      const { executions } = JSON.parse(await readFile(report, "utf8")).run as {
        executions: { item: { name: string }; response?: { header: { key: string; value: string }[] } }[];
      };
      const violations = executions.flatMap(({ item, response }) => {
        const text = response?.header.find(({ key }) => key.toLowerCase() === "sl-violations")?.value ?? "[]";
        return (JSON.parse(text) as { location: string[] }[]).map((violation) => ({ name: item.name, ...violation }));
      });
      expect(executions.length).to.be.at.least(50);
      expect(violations.filter(({ location }) => location[0] === "response")).to.deep.equal([]);
      // It does look: what the collection sends wrongly on purpose is reported.
      expect(violations.map(({ name }) => name)).to.include("VALIDATION_FAILED");
    } finally {
      prism.kill();
    }
  });

  it("is held against every answer of every test, and an answer outside it is told", () => {
    const answer = { method: "GET", url: "/v1/qr/x/paywall?a=1", status: 200, hasHeader: () => true };
    const body = {
      paywall_enabled: true,
      paywall_price_cents: null,
      paywall_currency: "usd",
      paywall_product_name: null,
    };
    expect(judge({ ...answer, body: JSON.stringify(body) })).to.equal(undefined);
    expect(judge({ ...answer, body: JSON.stringify({ ...body, extra: 1 }) })).to.include("additionalProperties");
    expect(judge({ ...answer, body: JSON.stringify({ ...body, paywall_enabled: "yes" }) })).to.include("boolean");
    expect(judge({ ...answer, status: 418, body: "{}" })).to.equal("has status 418");
    expect(judge({ ...answer, hasHeader: () => false, body: "{}" })).to.equal("has no X-Request-ID");
  });
});
