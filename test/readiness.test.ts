import { expect } from "chai";
import { onEachBackend, query, type RunningGateway, startGateway } from "./support/backends.js";
import { expectError, expectOk, ifMatch } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";
import { storedQr } from "./support/rows.js";

const ERRORS = {
  public_access_supported: "PUBLIC_ACCESS_UNSUPPORTED",
  binding_marker_present: "BINDING_MARKER_MISSING",
  binding_valid: "BINDING_INVALID",
  property_context_ready: "PROPERTY_CONTEXT_NOT_READY",
  context_identity_match: "CONTEXT_IDENTITY_MISMATCH",
  outcome_pipeline_ready: "OUTCOME_PIPELINE_NOT_READY",
};
type Classification = keyof typeof ERRORS;
const ALL = Object.keys(ERRORS) as Classification[];
const SECRET = "secret-context-value";

/** A code that is ready, and what a test changes of it. */
interface Scene {
  owner: TestOwner;
  path: string;
  reference: string;
  shortId: string;
  agent: { id: number };
  /** The marker is changed in the database itself, as by somebody who can write to it. */
  tamper(change: (marker: string) => string): Promise<void>;
}

let scenes = 0;

async function readyScene(owner: TestOwner): Promise<Scene> {
  const reference = `place ${++scenes}`;
  const agent = await newAgent(owner);
  const qr = await newQr(owner, { external_reference: reference, property_context: { b: SECRET, a: [1.5, "\u00E9"] } });
  const path = `/v1/qr/${qr.short_id}`;
  expectOk(await owner.api.put(`${path}/agent`, { agent_id: agent.id }, ifMatch(1)));
  const tamper = async (change: (marker: string) => string) => {
    const marker = (await storedQr(owner, qr.short_id))?.binding_marker as string;
    await query(owner.running, "UPDATE qr_codes SET binding_marker = ? WHERE short_id = ?", [
      change(marker),
      qr.short_id,
    ]);
  };
  return { owner, path, reference, shortId: qr.short_id, agent, tamper };
}

const check = ({ owner, reference }: Scene) =>
  owner.api.get(`/v1/qr/by-external-reference/${encodeURIComponent(reference)}/public-voice-readiness`);

/** Asserts exactly these false, the first of them as the error, and nothing else in the answer. */
async function expectFailing(scene: Scene, ...failing: Classification[]): Promise<void> {
  const answer = await check(scene);
  const [first] = failing;
  expect(expectOk(answer)).to.deep.equal({
    status: first === undefined ? "ready" : "unavailable",
    ...Object.fromEntries(ALL.map((name) => [name, !failing.includes(name)])),
    session_creation_count: 0,
    provider_connection_count: 0,
    database_mutation_count: 0,
    error_code: first === undefined ? null : ERRORS[first],
  });
  for (const secret of [SECRET, scene.shortId, "eyJ", scene.reference, scene.owner.name, scene.owner.key])
    expect(answer.text).not.to.include(secret);
}

const patch = async ({ owner, path }: Scene, body: object, version = 1) =>
  expectOk(await owner.api.patch(path, body, ifMatch(version)));
const patchAgent = async ({ owner, agent }: Scene, body: object, version = 1) =>
  expectOk(await owner.api.patch(`/v1/agents/${agent.id}`, body, ifMatch(version)));
const attach = async ({ owner, path, agent }: Scene, version: number) =>
  expectOk(await owner.api.put(`${path}/agent`, { agent_id: agent.id }, ifMatch(version)));
const paywall = async ({ owner, path }: Scene, enabled: boolean) =>
  expectOk(await owner.api.put(`${path}/paywall`, { paywall_enabled: enabled }));
const detach = async ({ owner, path }: Scene, version: number) =>
  expectOk(await owner.api.delete(`${path}/agent`, ifMatch(version)));

const replaceAt = (text: string, at: number) => text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
const SIGNED: Classification[] = ["binding_valid", "property_context_ready", "context_identity_match"];
const CONTEXT: Classification = "property_context_ready";

/** What is done to a ready code, and what then fails. */
const CASES: [what: string, change: (scene: Scene) => Promise<unknown>, failing: Classification[]][] = [
  ["a ready code", async () => undefined, []],
  ["an inactive code", (scene) => patch(scene, { is_active: false }), ["public_access_supported"]],
  ["a paywall in front", (scene) => paywall(scene, true), ["public_access_supported"]],
  ["a paywall put and taken away", async (scene) => [await paywall(scene, true), await paywall(scene, false)], []],
  ["a detached agent", (scene) => detach(scene, 2), ["binding_marker_present", ...SIGNED]],
  [
    "a deactivated agent",
    async ({ owner, agent }) => expectOk(await owner.api.delete(`/v1/agents/${agent.id}`, ifMatch(1))),
    ["binding_marker_present", ...SIGNED],
  ],
  ["an agent switched off by PATCH", (scene) => patchAgent(scene, { is_active: false }), ["binding_valid"]],
  ["an agent renamed", (scene) => patchAgent(scene, { name: "n", voice_name: "Kore" }), []],
  ["another context after the attach", (scene) => patch(scene, { property_context: { b: 1 } }), [CONTEXT]],
  ["the context cleared", (scene) => patch(scene, { property_context: null }), [CONTEXT]],
  [
    "the context in another order",
    (scene) => patch(scene, { property_context: { a: [1.5, "\u00E9"], b: SECRET } }),
    [],
  ],
  [
    "an empty context, signed",
    async (scene) => [await patch(scene, { property_context: {} }), await attach(scene, 2)],
    [CONTEXT],
  ],
  [
    "no context, signed",
    async (scene) => [await patch(scene, { property_context: null }), await attach(scene, 2)],
    [CONTEXT],
  ],
  [
    "another context, signed again",
    async (scene) => [await patch(scene, { property_context: { c: 1 } }), await attach(scene, 2)],
    [],
  ],
  [
    "another reference after the attach",
    async (scene) => await patch(scene, { external_reference: (scene.reference += " moved") }),
    ["context_identity_match"],
  ],
  ["a changed signature", ({ tamper }) => tamper((marker) => replaceAt(marker, marker.length - 10)), SIGNED],
  ["a changed payload", ({ tamper }) => tamper((marker) => replaceAt(marker, marker.indexOf(".") + 9)), SIGNED],
  ["an empty marker", ({ tamper }) => tamper(() => ""), SIGNED],
  [
    "a marker without a signature",
    ({ tamper }) =>
      tamper((marker) => `${Buffer.from('{"alg":"none"}').toString("base64url")}.${marker.split(".")[1]}.`),
    SIGNED,
  ],
  [
    "another code's marker",
    async (scene) => {
      const other = await readyScene(scene.owner);
      const marker = (await storedQr(scene.owner, other.shortId))?.binding_marker as string;
      await scene.tamper(() => marker);
    },
    ["binding_valid", "context_identity_match"],
  ],
  [
    "an earlier marker of this very binding",
    async (scene) => {
      const marker = (await storedQr(scene.owner, scene.shortId))?.binding_marker as string;
      await attach(scene, 2);
      await scene.tamper(() => marker);
    },
    ["binding_valid"],
  ],
];

onEachBackend("public voice readiness", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });

  for (const [what, change, failing] of CASES) {
    it(`of ${what}: ${failing[0] === undefined ? "ready" : ERRORS[failing[0]]}`, async () => {
      const scene = await readyScene(owner);
      await change(scene);
      await expectFailing(scene, ...failing);
    });
  }

  it("is unavailable from birth, and names the first reason only", async () => {
    await newQr(owner, { external_reference: "new" });
    const answer = await owner.api.get("/v1/qr/by-external-reference/new/public-voice-readiness");
    expect(expectOk(answer)).to.include({ status: "unavailable", error_code: "BINDING_MARKER_MISSING" });
    expectError(
      await owner.api.get("/v1/qr/by-external-reference/none/public-voice-readiness"),
      404,
      "RESOURCE_NOT_FOUND",
    );
  });

  it("needs both scopes", async () => {
    const scene = await readyScene(owner);
    for (const scope of ["qr:read", "bindings:read"] as const) {
      const half = await newOwner(backend, [scope]);
      expectError(await check({ ...scene, owner: half }), 403, "INSUFFICIENT_SCOPE", {
        required_scopes: ["qr:read", "bindings:read"],
        missing_scopes: [scope === "qr:read" ? "bindings:read" : "qr:read"],
      });
    }
  });

  describe("without an outcome sink", () => {
    let running: RunningGateway;
    before(async () => {
      running = await startGateway(backend, { OUTCOME_SINK_URL: "" });
    });
    after(() => running.stop());

    it("is unavailable: OUTCOME_PIPELINE_NOT_READY", async () => {
      await expectFailing(await readyScene(await newOwner(running)), "outcome_pipeline_ready");
    });
  });
});
