import { expect } from "chai";
import { type BackendName, onEachBackend, query, type RunningGateway, startGateway } from "./support/backends.js";
import { expectOk } from "./support/http.js";
import { newOwner, type TestOwner } from "./support/owners.js";
import { seedQrCodes } from "./support/rows.js";

const COUNT = 100_000;
const DEEP = "/v1/qr?limit=100&offset=90000";
const FIRST = "/v1/qr?limit=100";
const SAMPLES = 15;

interface Statement {
  text: string;
  values: unknown[];
}

/** The statement on qr_codes that a request really runs. */
async function statementOf(running: RunningGateway, ask: () => Promise<unknown>): Promise<Statement> {
  const { read } = running.gateway.open.database;
  const original = read.all;
  const seen: Statement[] = [];
  read.all = (text, values) => {
    seen.push({ text, values });
    return original.call(read, text, values) as never;
  };
  try {
    await ask();
  } finally {
    read.all = original;
  }
  const found = seen.filter(({ text }) => text.includes("qr_codes"));
  expect(found).to.have.length(1);
  return found[0] as Statement;
}

/** One line for each step of the plan. */
async function planOf(running: RunningGateway, { text, values }: Statement): Promise<string[]> {
  const explain = running.backend === "sqlite" ? "EXPLAIN QUERY PLAN" : "EXPLAIN";
  const rows = await query<Record<string, unknown>>(running, `${explain} ${text}`, values.map(Number));
  return rows.map((row) => Object.values(row).join(" | "));
}

/** Asserts that the page is cut on the index's own order and nothing large is sorted. */
function expectIndexOrder(backend: BackendName, plan: string[]): void {
  const scan = plan.findIndex((step) => step.includes("ix_qr_codes_list"));
  expect(scan, plan.join("\n")).to.be.at.least(0);
  if (backend === "sqlite") {
    expect(plan[scan]).to.include("USING COVERING INDEX ix_qr_codes_list (owner_id=? AND is_active=?");
    const sorted = plan.findIndex((step) => step.includes("TEMP B-TREE"));
    expect(sorted === -1 || sorted > scan, "only the page's rows are sorted").to.equal(true);
    expect(plan.filter((step) => step.includes("TEMP B-TREE")).length).to.be.at.most(1);
  } else {
    expect(plan[scan]).to.include("Using index");
    expect(plan[scan]).not.to.include("filesort");
    for (const step of plan.filter((line) => line.includes("filesort"))) expect(step).to.include("<derived2>");
  }
}

/** The median milliseconds of a request. */
async function timeOf(owner: TestOwner, path: string): Promise<number> {
  const times: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample++) {
    const start = performance.now();
    expect(expectOk(await owner.api.get(path))).to.have.length(100);
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[Math.floor(SAMPLES / 2)] as number;
}

onEachBackend("a list of 100,000 QR codes", (backend) => {
  let running: RunningGateway;
  let owner: TestOwner;
  before(async function () {
    this.timeout(60_000);
    running = await startGateway(backend);
    owner = await newOwner(running);
    await seedQrCodes(await newOwner(running), 10_000);
    await seedQrCodes(owner, COUNT);
    await query(running, backend === "sqlite" ? "ANALYZE" : "ANALYZE TABLE qr_codes");
  });
  after(() => running.stop());

  it("pages in order at any depth", async () => {
    const names = async (path: string) => expectOk(await owner.api.get(path)).map((qr: { name: string }) => qr.name);
    const expected = (newest: number) =>
      Array.from({ length: 100 }, (_, index) => String(newest - index).padStart(6, "0"));
    expect(await names(FIRST)).to.deep.equal(expected(COUNT - 1));
    expect(await names(DEEP)).to.deep.equal(expected(9999));
    expect(await names("/v1/qr?limit=100&offset=99900")).to.deep.equal(expected(99));
    expect(await names("/v1/qr?limit=100&offset=100000")).to.deep.equal([]);
  });

  it("takes the order of a deep page from the index", async () => {
    const plan = await planOf(running, await statementOf(running, () => owner.api.get(DEEP)));
    expectIndexOrder(backend, plan);
    await timeOf(owner, FIRST);
    const [first, deep] = [await timeOf(owner, FIRST), await timeOf(owner, DEEP)];
    process.stderr.write(
      `      ${plan.join("\n      ")}\n      first page ${first.toFixed(1)} ms, offset 90000 ${deep.toFixed(1)} ms: ${(deep / first).toFixed(1)} times\n`,
    );
  });
});
