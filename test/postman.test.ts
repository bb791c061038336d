import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { appRouter } from "../routers/index.js";
import { ERRORS } from "../src/errors.js";
import { endpointsOf } from "../src/procedures.js";
import { postmanFiles } from "../tools/postman.js";
import { startGateway } from "./support/backends.js";
import { newOwner } from "./support/owners.js";
import { run } from "./support/run.js";
import { hasTools, TOOLS, withHelp } from "./support/tools.js";

const POSTMAN = fileURLToPath(new URL("../postman/", import.meta.url));
const help = { present: hasTools, missing: "its tools are not installed; `npm run tools` installs them." };

/** Codes that nobody can provoke from outside. */
const UNPROVOKED = new Set(["IDEMPOTENCY_IN_PROGRESS", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE"]);

/** What newman reports, as far as it is looked at. */
interface Summary {
  run: {
    stats: Record<"requests" | "assertions", { total: number; failed: number }>;
    failures: { error: { message: string }; source: { name: string } }[];
    executions: { item: { name: string }; assertions?: unknown[] }[];
  };
}

withHelp("Postman collection", help, () => {
  it("is committed as it is made, the same each time: `npm run postman` writes it", async () => {
    const [made, again] = [await postmanFiles(), await postmanFiles()];
    expect(made).to.deep.equal(again);
    for (const [name, text] of Object.entries(made)) {
      const committed = await readFile(join(POSTMAN, name), "utf8");
      expect(committed === text, `postman/${name} is stale; run npm run postman`).to.equal(true);
      expect(committed).to.not.match(/qrv_[0-9A-Za-z]{12}_/);
    }
  });

  it("runs green against a fresh gateway, with a test on every request", async function () {
    this.timeout(120_000);
    const gateway = await startGateway("sqlite");
    const directory = await mkdtemp(join(tmpdir(), "qrv-postman-"));
    try {
      const [{ key, name }, report] = [await newOwner(gateway), join(directory, "report.json")];
      const { key: readOnly } = await newOwner(gateway, ["qr:read"], name);
      const variables = { base_url: gateway.url, api_key: key, read_only_api_key: readOnly };
      const finished = await run(
        join(TOOLS, "node_modules/.bin/newman"),
        [
          "run",
          join(POSTMAN, "collection.json"),
          "--environment",
          join(POSTMAN, "environment.json"),
          ...Object.entries(variables).flatMap(([variable, value]) => ["--env-var", `${variable}=${value}`]),
          "--reporters=cli,json",
          `--reporter-json-export=${report}`,
        ],
        { mayFail: true },
      );
      expect(finished.code, finished.output.slice(-8000)).to.equal(0);
      const summary = (JSON.parse(await readFile(report, "utf8")) as Summary).run;
      expect(summary.stats.assertions.failed).to.equal(0);
      for (const { item, assertions } of summary.executions) expect(assertions, item.name).to.not.be.empty;
      const names = summary.executions.map(({ item }) => item.name.split(" ")[0]);
      const codes = Object.keys(ERRORS).filter((code) => !UNPROVOKED.has(code));
      expect(names).to.include.members(codes);
      const operations = [...endpointsOf(appRouter).values()].filter(({ isPublic }) => isPublic);
      expect(summary.stats.requests.total).to.be.at.least(operations.length + codes.length);
    } finally {
      await gateway.stop();
      await rm(directory, { recursive: true, force: true });
    }
  });
});
