import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { expectError, expectOk, ifMatch, placesOf, send } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";

onEachBackend("REST facade", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });
  const get = (path: string) => owner.api.get(path);

  describe("in place of trpc-to-openapi's handler", () => {
    it("converts nothing in a body", async () => {
      const { short_id } = await newQr(owner);
      for (const paywall_enabled of ["no", "false", "true", 1, 0, null, [], {}]) {
        const answer = await owner.api.put(`/v1/qr/${short_id}/paywall`, { paywall_enabled });
        expect(placesOf(answer)).to.deep.equal([["body", "paywall_enabled"]]);
      }
      for (const paywall_price_cents of ["12", 1.5, true, "", []]) {
        const answer = await owner.api.put(`/v1/qr/${short_id}/paywall`, {
          paywall_enabled: true,
          paywall_price_cents,
        });
        expect(placesOf(answer)).to.deep.equal([["body", "paywall_price_cents"]]);
      }
      expect(expectOk(await get(`/v1/qr/${short_id}/paywall`)).paywall_enabled).to.equal(false);
    });

    it("takes false in a query for false", async () => {
      const other = await newOwner(backend);
      await newAgent(other, { is_active: false });
      for (const [text, count] of [
        ["false", 0],
        ["0", 0],
        ["true", 1],
        ["1", 1],
      ] as const) {
        expect(expectOk(await other.api.get(`/v1/agents?include_inactive=${text}`)), text).to.have.length(count);
      }
    });

    it("leaves tRPC callers their own types after REST calls", async () => {
      const { short_id } = await newQr(owner);
      expectOk(await owner.api.put(`/v1/qr/${short_id}/paywall`, { paywall_enabled: true }));
      expectOk(await get("/v1/agents?include_inactive=false&limit=1"));
      const replaced = await owner.api.post("/trpc/paywall.replace", { short_id, paywall_enabled: "no" });
      expect(replaced.status).to.equal(422);
      const input = encodeURIComponent(JSON.stringify({ include_inactive: "false", limit: "1" }));
      expect((await get(`/trpc/agents.list?input=${input}`)).status).to.equal(422);
    });

    it("decodes path parameters, once", async () => {
      for (const reference of [
        "a b",
        "50%",
        "%2F",
        "a/b",
        "a?b#c",
        "ünï/çødé",
        "agent",
        "..",
        "😀",
        " ",
        "a+b",
        "%25",
      ]) {
        const other = await newOwner(backend);
        const qr = await newQr(other, { external_reference: reference });
        const agent = await newAgent(other, { external_reference: reference });
        const encoded = encodeURIComponent(reference).replaceAll(".", "%2E");
        const byReference = `/v1/qr/by-external-reference/${encoded}`;
        expect(expectOk(await other.api.get(byReference)), reference).to.deep.equal(qr);
        expect(expectOk(await other.api.get(`/v1/agents/by-external-reference/${encoded}`))).to.deep.equal(agent);
        expectOk(await other.api.get(`${byReference}/public-voice-readiness`));
        const twice = await other.api.get(`/v1/qr/by-external-reference/${encodeURIComponent(encoded)}`);
        if (encoded === reference) expectOk(twice);
        else expectError(twice, 404, "RESOURCE_NOT_FOUND");
      }
    });

    it("tells paths of different case apart", async () => {
      const { short_id } = await newQr(owner);
      expectError(await get(`/v1/QR/${short_id}`), 404, "ROUTE_NOT_FOUND");
      const swapped = short_id.replaceAll(/[a-z]/gi, (letter: string) =>
        letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
      );
      expectError(await get(`/v1/qr/${swapped}`), 404, "RESOURCE_NOT_FOUND");
    });

    it("answers with PublicErrorEnvelope and nothing beside it, and neither 400 nor 415", async () => {
      const bad = await owner.api.post("/v1/qr", "{", { "Content-Type": "text/plain" });
      expect(Object.keys(bad.body)).to.deep.equal(["error"]);
      expectError(bad, 422, "VALIDATION_FAILED");
    });
  });

  it("answers one 404 for what is not there, another's and deleted", async () => {
    const deleted = await newQr(owner);
    expectOk(await owner.api.delete(`/v1/qr/${deleted.short_id}`, ifMatch(1)));
    const others = await newQr(await newOwner(backend));
    const texts = new Set<string>();
    for (const id of ["k3WdP9xTqa", "x", deleted.short_id, others.short_id]) {
      const headers = { "X-API-Key": owner.key, "X-Request-ID": "same" };
      const answer = await send(owner.running.url, { method: "GET", path: `/v1/qr/${id}`, headers });
      expectError(answer, 404, "RESOURCE_NOT_FOUND", null);
      texts.add(answer.text);
    }
    expect(texts.size).to.equal(1);
  });
});
