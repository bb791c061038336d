import { expect } from "chai";
import { ApiError, type ErrorCode, ERRORS, toApiError, validationFailed, versionConflict } from "../src/errors.js";
import { createLogger } from "../src/logging.js";
import { onEachBackend, query, type RunningGateway, startGateway } from "./support/backends.js";
import { type Answer, expectError, expectOk, ifMatch, keyed } from "./support/http.js";
import { newOwner, newQr, type TestOwner } from "./support/owners.js";
import { openRaw } from "./support/raw.js";

/** The error table of the contract. */
const TABLE: Record<ErrorCode, [status: number, trpc: string]> = {
  AUTHENTICATION_REQUIRED: [401, "UNAUTHORIZED"],
  API_KEY_INVALID: [401, "UNAUTHORIZED"],
  INSUFFICIENT_SCOPE: [403, "FORBIDDEN"],
  RESOURCE_NOT_FOUND: [404, "NOT_FOUND"],
  ROUTE_NOT_FOUND: [404, "NOT_FOUND"],
  RESOURCE_VERSION_CONFLICT: [409, "CONFLICT"],
  IDEMPOTENCY_CONFLICT: [409, "CONFLICT"],
  IDEMPOTENCY_IN_PROGRESS: [409, "CONFLICT"],
  BINDING_TARGET_INACTIVE: [409, "CONFLICT"],
  EXTERNAL_REFERENCE_CONFLICT: [409, "CONFLICT"],
  VALIDATION_FAILED: [422, "UNPROCESSABLE_CONTENT"],
  RESOURCE_VERSION_REQUIRED: [428, "PRECONDITION_REQUIRED"],
  INTERNAL_ERROR: [500, "INTERNAL_SERVER_ERROR"],
  SERVICE_UNAVAILABLE: [500, "INTERNAL_SERVER_ERROR"],
};

/** What no answer and no log line may show. */
const SECRETS =
  /\bSELECT\b|\bINSERT\b|\bUPDATE\b|\bFROM\b|qr_codes|node_modules|\.ts\b|\.js\b|\n\s+at |\/(work|home|tmp|usr)\b|better-sqlite3|mysql2|Secret plan|stack/;

describe("The error table", () => {
  it("has the statuses of the contract, and one sentence for each code", () => {
    expect(ERRORS).to.have.all.keys(Object.keys(TABLE));
    for (const [code, [status, trpc]] of Object.entries(TABLE)) {
      const error = new ApiError(code as ErrorCode);
      expect(error).to.include({ status, trpcCode: trpc, details: null, retryAfterSeconds: undefined });
      expect(error.message)
        .to.match(/^[A-Z][^.]*\S\.$|^[A-Z].*[^.]\.$/)
        .and.not.match(/[\n`{}]/);
    }
  });

  it("takes whatever is thrown for INTERNAL_ERROR, and finds an ApiError below others", () => {
    const inner = new ApiError("RESOURCE_NOT_FOUND");
    expect(toApiError(new Error("outer", { cause: new Error("between", { cause: inner }) }))).to.equal(inner);
    const loop = new Error("loop");
    loop.cause = loop;
    for (const thrown of [loop, new Error("SELECT"), "text", undefined, null, { code: "RESOURCE_NOT_FOUND" }]) {
      expect(toApiError(thrown)).to.include({ code: "INTERNAL_ERROR", message: ERRORS.INTERNAL_ERROR.message });
    }
  });

  it("bounds what details hold", () => {
    const issues = Array.from({ length: 25 }, () => ({
      location: "body" as const,
      path: "p".repeat(200),
      message: "m",
    }));
    const { details } = validationFailed(issues);
    expect(details).to.have.property("issues").with.length(20);
    expect((details as { issues: { path: string }[] }).issues[0]?.path).to.have.length(100);
    expect(versionConflict(1e300, 2).details).to.deep.equal({ expected_version: 9007199254740991, current_version: 2 });
  });
});

onEachBackend("Unforeseen failures", (backend) => {
  let running: RunningGateway;
  let owner: TestOwner;
  let lines: string[];

  beforeEach(async () => {
    lines = [];
    const log = createLogger({ logLevel: "trace" }, { write: (line) => void lines.push(line) });
    running = await startGateway(backend, {}, undefined, log);
    owner = await newOwner(running);
  });
  afterEach(() => running.stop());

  const failing = () => lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50);

  function expectNothingShown(answers: Answer[]): void {
    for (const shown of [...lines, ...answers.map((answer) => answer.text + JSON.stringify(answer.headers))]) {
      expect(shown).to.not.match(SECRETS);
      expect(shown).to.not.include(owner.key).and.not.include(owner.key.slice(-38));
    }
  }

  async function expectInternalError(answer: Answer): Promise<void> {
    expectError(answer, 500, "INTERNAL_ERROR", null);
    expect(answer.body.error.message).to.equal(ERRORS.INTERNAL_ERROR.message);
    const [logged] = failing();
    expect(logged).to.include({ code: "INTERNAL_ERROR", request_id: answer.headers["x-request-id"] });
    expect(logged.err).to.be.an("object");
    expectNothingShown([answer]);
  }

  it("answers a table that is gone with the one sentence, and logs no statement", async () => {
    await query(running, "DROP TABLE audit_events");
    await expectInternalError(await owner.api.post("/v1/qr", { name: "Secret plan" }, keyed("k")));
    expect(expectOk(await owner.api.get("/v1/qr")), "it was rolled back").to.deep.equal([]);
  });

  it("answers data it cannot read with the one sentence, and logs none of it", async () => {
    const { short_id } = await newQr(owner, { property_context: { a: 1 } });
    await query(running, `UPDATE qr_codes SET property_context = '{"Secret plan": tru' WHERE short_id = '${short_id}'`);
    await expectInternalError(await owner.api.get(`/v1/qr/${short_id}`));
  });

  it("answers a result that does not fit its schema with the one sentence, and rolls back", async () => {
    const { short_id } = await newQr(owner, { name: "before" });
    await query(running, `UPDATE qr_codes SET property_context = '[1]' WHERE short_id = '${short_id}'`);
    await expectInternalError(await owner.api.patch(`/v1/qr/${short_id}`, { name: "after" }, ifMatch(1)));
    const [row] = await query(running, "SELECT name, resource_version AS version FROM qr_codes");
    expect(row).to.deep.equal({ name: "before", version: 1 });
    const events = await query(running, "SELECT id FROM audit_events");
    expect(events).to.have.length(1);
  });

  it("answers what a driver or a library throws with the one sentence, and logs none of its text", async () => {
    const thrown = `SELECT 'Secret plan' FROM qr_codes in /home/app/src/x.ts for ${owner.key}`;
    expectOk(await owner.api.get("/v1/qr"));
    running.gateway.open.database.read.all = () => Promise.reject(new Error(thrown));
    const answer = await owner.api.get("/v1/qr");
    await expectInternalError(answer);
    const overTrpc = await owner.api.get("/trpc/qr.list");
    expect(overTrpc.status).to.equal(500);
    const { error } = overTrpc.body;
    expect(error.data.error.message).to.equal(ERRORS.INTERNAL_ERROR.message);
    expect(error.message).to.equal(ERRORS.INTERNAL_ERROR.message);
    expectNothingShown([answer, overTrpc]);
  });

  it("logs nothing of a caller's own mistakes but the code, and no key on any line", async () => {
    const { api } = owner;
    const { short_id } = await newQr(owner);
    const answers = [
      await api.post("/v1/qr", '{"Secret plan'),
      await api.post("/v1/qr", { name: 1 }),
      await api.get("/v1/qr", { "X-API-Key": `${owner.key}x` }),
      await api.patch(`/v1/qr/${short_id}`, {}, ifMatch(9)),
      await api.get("/v1/agents/x"),
      await api.get("/nowhere"),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([422, 422, 401, 409, 422, 404]);
    expect(failing()).to.deep.equal([]);
    expectNothingShown(answers);
  });

  it("takes a caller that goes away mid-body for no fault of its own", async () => {
    for (const path of ["/v1/qr", "/trpc/qr.create"]) {
      const connection = openRaw(running.port);
      const type = "Content-Type: application/json\r\nContent-Length: 99";
      connection.write(`POST ${path} HTTP/1.1\r\nX-API-Key: ${owner.key}\r\n${type}\r\n\r\n{"a`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      connection.socket.destroy();
      await connection.closed;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(failing()).to.deep.equal([]);
    expect(expectOk(await owner.api.get("/v1/qr"))).to.deep.equal([]);
  });
});
