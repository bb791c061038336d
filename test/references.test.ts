import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { expectError, expectIssues, expectOk, ifMatch } from "./support/http.js";
import { textsOf } from "./support/limits.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";

const KINDS = [
  { kind: "QR code", path: "/v1/qr", make: newQr },
  { kind: "agent", path: "/v1/agents", make: newAgent },
];

/** Pairwise different byte for byte, though a collation, a trim or a normalisation may take some for equal. */
const DIFFERENT = [
  "a",
  "A",
  "a ",
  " a",
  "\u00E1",
  "a\u0301",
  "\u00E0",
  "%61",
  "a%20",
  "agent",
  "paywall",
  "public-voice-readiness",
  "ss",
  "\u00DF",
  "a/b",
  "a?b",
  "a#b",
  ".",
  "..",
  "a+b",
  "a\nb",
  "\u{1F600}",
  "\u{1F601}",
  "\u05D0",
  "'; --",
  "\\",
  "by-external-reference",
  "a\u200B",
  "\uFB01",
  "fi",
];

onEachBackend("external references", (backend) => {
  for (const { kind, path, make } of KINDS) {
    let owner: TestOwner;
    beforeEach(async () => {
      owner = await newOwner(backend);
    });
    const find = (reference: string, on = owner) =>
      on.api.get(
        `${path}/by-external-reference/${encodeURIComponent(reference).replace(/^\.+$/, (t) => t.replaceAll(".", "%2E"))}`,
      );

    it(`of ${kind}s are told apart byte for byte`, async () => {
      const references = [...DIFFERENT, ...textsOf(255)];
      const made = [];
      for (const reference of references) made.push(await make(owner, { external_reference: reference }));
      for (const [index, reference] of references.entries())
        expect(expectOk(await find(reference)), reference).to.deep.equal(made[index]);
      for (const absent of ["B", "a  ", "a".repeat(256), "x".repeat(2000)])
        expectError(await find(absent), 404, "RESOURCE_NOT_FOUND");
      expect(expectIssues(await owner.api.get(`${path}/by-external-reference/%FF`))[0]).to.include({
        location: "path",
        path: "external_reference",
      });
    });

    it(`of ${kind}s are unique for an owner, inactive ones included, and free to any other`, async () => {
      const stranger = await newOwner(backend);
      const first = await make(owner, { external_reference: "taken", is_active: false });
      const again = await owner.api.post(path, { name: "second", external_reference: "taken" });
      expectError(again, 409, "EXTERNAL_REFERENCE_CONFLICT", null);
      expect(again.headers["retry-after"]).to.equal("1");
      const theirs = await make(stranger, { external_reference: "taken" });
      expect(expectOk(await find("taken", stranger))).to.deep.equal(theirs);
      expect(expectOk(await find("taken"))).to.deep.equal(first);
    });

    it(`of ${kind}s let one of many concurrent creates through`, async () => {
      const bodies = Array.from({ length: 12 }, (_, index) => ({ name: `n${index}`, external_reference: "race" }));
      const answers = await Promise.all(bodies.map((body) => owner.api.post(path, body)));
      const won = answers.filter((answer) => answer.status === 200);
      expect(won).to.have.length(1);
      for (const lost of answers.filter((answer) => answer !== won[0]))
        expectError(lost, 409, "EXTERNAL_REFERENCE_CONFLICT");
      expect(expectOk(await find("race"))).to.deep.equal(won[0]?.body);
    });
  }

  it("of a QR code and of an agent do not meet", async () => {
    const owner = await newOwner(backend);
    await newQr(owner, { external_reference: "both" });
    await newAgent(owner, { external_reference: "both" });
  });

  it("of a QR code change by PATCH, are checked after the version, and are freed by null and by soft delete", async () => {
    const owner = await newOwner(backend);
    const first = await newQr(owner, { external_reference: "one" });
    const second = await newQr(owner, { external_reference: "two" });
    const patch = (qr: { short_id: string }, reference: string | null, version: number) =>
      owner.api.patch(`/v1/qr/${qr.short_id}`, { external_reference: reference }, ifMatch(version));
    expectError(await patch(second, "one", 9), 409, "RESOURCE_VERSION_CONFLICT");
    const conflict = await patch(second, "one", 1);
    expectError(conflict, 409, "EXTERNAL_REFERENCE_CONFLICT", null);
    expect(conflict.headers, "PATCH is not idempotent").not.to.have.property("retry-after");
    expect(expectOk(await owner.api.get(`/v1/qr/${second.short_id}`))).to.deep.equal(second);
    expectOk(await patch(second, "two", 1));
    expectOk(await patch(first, null, 1));
    expect(expectOk(await patch(second, "one", 2)).external_reference).to.equal("one");
    expectOk(await owner.api.delete(`/v1/qr/${second.short_id}`, ifMatch(3)));
    expect(expectOk(await patch(first, "one", 2)).external_reference).to.equal("one");
  });

  it("of an agent never change", async () => {
    const owner = await newOwner(backend);
    const agent = await newAgent(owner, { external_reference: "mine" });
    for (const reference of ["other", "mine", null]) {
      const refused = await owner.api.patch(`/v1/agents/${agent.id}`, { external_reference: reference }, ifMatch(1));
      expect(expectIssues(refused)).to.deep.equal([
        { location: "body", path: "external_reference", message: "There is no such field." },
      ]);
    }
    expectOk(await owner.api.delete(`/v1/agents/${agent.id}`, ifMatch(1)));
    expectError(
      await owner.api.post("/v1/agents", { name: "x", external_reference: "mine" }),
      409,
      "EXTERNAL_REFERENCE_CONFLICT",
    );
  });
});
