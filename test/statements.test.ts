import { expect } from "chai";
import { onEachBackend, query, type RunningGateway, startGateway } from "./support/backends.js";
import { expectOk, ifMatch, keyed } from "./support/http.js";
import { reapReceipts } from "../src/idempotency/receipts.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";

const QR_FIELDS = {
  name: "n",
  description: "d",
  destination_url: "https://example.com/",
  external_reference: "r",
  property_context: { a: 1 },
  is_active: true,
};
const AGENT_FIELDS = {
  name: "n",
  description: "d",
  model: "m",
  voice_name: "v",
  tools: "t",
  greeting_enabled: false,
  is_active: true,
};

/** Every subset of the members of an object. */
function subsetsOf(fields: object): object[] {
  const entries = Object.entries(fields);
  return Array.from({ length: 2 ** entries.length }, (_, bits) =>
    Object.fromEntries(entries.filter((_entry, index) => (bits & (1 << index)) !== 0)),
  );
}

/** Collects the text of every statement that a gateway writes with from now on. */
function collectWrites({ gateway }: RunningGateway): Set<string> {
  const { database } = gateway.open;
  const { transaction } = database;
  const texts = new Set<string>();
  database.transaction = (work, options) =>
    transaction(
      (sql) =>
        work({
          ...sql,
          run(text, values) {
            texts.add(text);
            return sql.run(text, values);
          },
          swap(text, values) {
            texts.add(text);
            return sql.swap(text, values);
          },
        }),
      options,
    );
  return texts;
}

// A server holds 16,382 prepared statements by default for all of its clients: callers must not decide how many there are.
onEachBackend("fixed statements", (backend) => {
  let running: RunningGateway;
  let owner: TestOwner;
  let writes: Set<string>;
  before(async () => {
    running = await startGateway(backend);
    owner = await newOwner(running);
    expectOk(await owner.api.get("/v1/qr"));
  });
  beforeEach(() => {
    writes = collectWrites(running);
  });
  after(() => running.stop());

  it("PATCH runs one, whichever fields of a QR code are sent", async () => {
    const qr = await newQr(owner);
    for (const [index, body] of subsetsOf(QR_FIELDS).entries())
      expectOk(await owner.api.patch(`/v1/qr/${qr.short_id}`, body, ifMatch(index + 1)));
    expect([...writes].filter((text) => text.startsWith("UPDATE qr_codes"))).to.have.length(1);
  });

  it("PATCH runs one, whichever fields of an agent are sent", async () => {
    const agent = await newAgent(owner);
    for (const [index, body] of subsetsOf(AGENT_FIELDS).entries())
      expectOk(await owner.api.patch(`/v1/agents/${agent.id}`, body, ifMatch(index + 1)));
    expect([...writes].filter((text) => text.startsWith("UPDATE agents"))).to.have.length(1);
  });

  it("old receipts are deleted by one, however many there are", async () => {
    for (const count of [1, 2, 5]) {
      for (let made = 0; made < count; made++)
        expectOk(await owner.api.post("/v1/qr", {}, keyed(`reaped-${count}-${made}`)));
      await query(running, "UPDATE idempotency_receipts SET created_at = '2020-01-01 00:00:00.000'");
      expectOk(await owner.api.post("/v1/qr", {}, keyed(`kept-${count}`)));
      expect(await reapReceipts(running.gateway.open.database, 3600)).to.equal(count + (count === 1 ? 0 : 1));
      expect(await query(running, "SELECT id FROM idempotency_receipts")).to.have.length(1);
    }
    expect([...writes].filter((text) => text.startsWith("DELETE"))).to.have.length(1);
  });
});
