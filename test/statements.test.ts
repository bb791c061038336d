import { expect } from "chai";
import { onEachBackend, type RunningGateway, startGateway } from "./support/backends.js";
import { expectOk, ifMatch } from "./support/http.js";
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

/** Collects the text of every UPDATE that a gateway runs from now on. */
function collectUpdates({ gateway }: RunningGateway): Set<string> {
  const { database } = gateway.open;
  const { transaction } = database;
  const texts = new Set<string>();
  database.transaction = (work, options) =>
    transaction(
      (sql) =>
        work({
          ...sql,
          run(text, values) {
            if (text.startsWith("UPDATE")) texts.add(text);
            return sql.run(text, values);
          },
        }),
      options,
    );
  return texts;
}

// A server holds 16,382 prepared statements by default for all of its clients: callers must not decide how many there are.
onEachBackend("PATCH", (backend) => {
  let running: RunningGateway;
  let owner: TestOwner;
  let updates: Set<string>;
  before(async () => {
    running = await startGateway(backend);
    owner = await newOwner(running);
    expectOk(await owner.api.get("/v1/qr"));
  });
  beforeEach(() => {
    updates = collectUpdates(running);
  });
  after(() => running.stop());

  it("runs one statement, whichever fields of a QR code are sent", async () => {
    const qr = await newQr(owner);
    for (const [index, body] of subsetsOf(QR_FIELDS).entries())
      expectOk(await owner.api.patch(`/v1/qr/${qr.short_id}`, body, ifMatch(index + 1)));
    expect([...updates].filter((text) => text.startsWith("UPDATE qr_codes"))).to.have.length(1);
  });

  it("runs one statement, whichever fields of an agent are sent", async () => {
    const agent = await newAgent(owner);
    for (const [index, body] of subsetsOf(AGENT_FIELDS).entries())
      expectOk(await owner.api.patch(`/v1/agents/${agent.id}`, body, ifMatch(index + 1)));
    expect([...updates].filter((text) => text.startsWith("UPDATE agents"))).to.have.length(1);
  });
});
