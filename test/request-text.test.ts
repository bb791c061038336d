import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { expectError, expectIssues, expectOk, ifMatch, placesOf } from "./support/http.js";
import { newAgent, newOwner, newQr, type TestOwner } from "./support/owners.js";

onEachBackend("Paths, queries and issues", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });
  const get = (path: string) => owner.api.get(path);

  describe("paths", () => {
    it("takes agent and paywall for references below by-external-reference", async () => {
      for (const reference of ["agent", "paywall"]) {
        expectError(await get(`/v1/qr/by-external-reference/${reference}`), 404, "RESOURCE_NOT_FOUND");
        const qr = await newQr(owner, { external_reference: reference });
        expect(expectOk(await get(`/v1/qr/by-external-reference/${reference}`))).to.deep.equal(qr);
      }
    });

    it("refuses what cannot be decoded", async () => {
      for (const bad of ["%zz", "%", "%2", "a%", "%ff", "%c3%28", "%ed%a0%80"]) {
        expect(placesOf(await get(`/v1/qr/${bad}`))).to.deep.equal([["path", "short_id"]]);
        const byReference = await get(`/v1/qr/by-external-reference/${bad}`);
        expect(placesOf(byReference)).to.deep.equal([["path", "external_reference"]]);
        expect(placesOf(await get(`/v1/agents/${bad}`))).to.deep.equal([["path", "agent_id"]]);
      }
    });

    it("looks up whatever can be decoded", async () => {
      for (const id of [
        "x",
        "%00",
        "%20",
        "%2F",
        "a".repeat(2000),
        "by-external-reference",
        "%F0%9F%98%80",
        "'--",
        "*",
      ]) {
        expectError(await get(`/v1/qr/${id}`), 404, "RESOURCE_NOT_FOUND", null);
        expectError(await get(`/v1/agents/by-external-reference/${id}`), 404, "RESOURCE_NOT_FOUND", null);
      }
    });

    it("takes decimal digits for an agent_id, whatever they amount to", async () => {
      const { id } = await newAgent(owner);
      expect(expectOk(await get(`/v1/agents/00${id}`)).id).to.equal(id);
      expect(expectOk(await get(`/v1/agents/%3${String(id)[0]}${String(id).slice(1)}`)).id).to.equal(id);
      for (const unknown of ["0", "2147483648", "4294967296", "9007199254740993", "9".repeat(400)]) {
        expectError(await get(`/v1/agents/${unknown}`), 404, "RESOURCE_NOT_FOUND", null);
      }
      for (const bad of [
        "-1",
        "+1",
        "1.0",
        "1e3",
        "0x1",
        "x",
        "%20",
        "1%20",
        "%D9%A1",
        `${id}%0A`,
        "by-external-reference",
      ]) {
        expect(placesOf(await get(`/v1/agents/${bad}`)), bad).to.deep.equal([["path", "agent_id"]]);
      }
    });
  });

  describe("queries", () => {
    it("takes decimal digits up to 9007199254740991 for an integer", async () => {
      for (const query of [
        "limit=1",
        "limit=100",
        "limit=007",
        "offset=0",
        "offset=9007199254740991",
        "",
        "&",
        "limit=%31",
      ]) {
        for (const path of ["/v1/qr", "/v1/agents"]) expectOk(await get(`${path}?${query}`));
      }
      const bad = [
        "",
        "-1",
        "+1",
        "1.0",
        "1e1",
        "0x1",
        "%201",
        "x",
        "%zz",
        "9007199254740992",
        "1,2",
        "%D9%A1",
        "null",
      ];
      for (const path of ["/v1/qr", "/v1/agents"]) {
        for (const name of ["limit", "offset"]) {
          for (const text of bad) {
            expect(placesOf(await get(`${path}?${name}=${text}`)), text).to.deep.equal([["query", name]]);
          }
        }
        for (const limit of [0, 101]) expectIssues(await get(`${path}?limit=${limit}`));
      }
    });

    it("takes true, false, 1 and 0 for a boolean", async () => {
      for (const text of ["", "TRUE", "yes", "2", "null", "on", "constructor", "__proto__", "00"]) {
        const issues = expectIssues(await get(`/v1/agents?include_inactive=${text}`));
        expect(issues, text).to.deep.equal([
          { location: "query", path: "include_inactive", message: "Send true, false, 1 or 0." },
        ]);
      }
    });

    it("takes a second ? for a part of the name", async () => {
      expect(placesOf(await get("/v1/qr??limit=1"))).to.deep.equal([["query", "?limit"]]);
    });

    it("refuses a parameter given twice, also with one value", async () => {
      for (const query of ["limit=1&limit=1", "limit=1&%6cimit=2", "include_inactive=true&include_inactive=true"]) {
        expect(expectIssues(await get(`/v1/agents?${query}`))).to.have.length(1);
      }
    });
  });

  describe("422", () => {
    it("reports all locations at once", async () => {
      const headers = { ...ifMatch("01"), "Idempotency-Key": "a b" };
      const answer = await owner.api.call("PUT", "/v1/qr/%zz/agent?dry=1", { agent_id: "7", extra: 1 }, headers);
      expect(placesOf(answer)).to.have.deep.members([
        ["path", "short_id"],
        ["query", "dry"],
        ["header", "If-Match-Version"],
        ["header", "Idempotency-Key"],
        ["body", "agent_id"],
        ["body", "extra"],
      ]);
      const unread = await owner.api.call("PUT", "/v1/qr/%zz/agent?dry=1", "{", headers);
      expect(placesOf(unread)).to.have.deep.members([
        ["path", "short_id"],
        ["query", "dry"],
        ["header", "If-Match-Version"],
        ["header", "Idempotency-Key"],
        ["body", ""],
      ]);
    });

    it("reports at most 20 issues, and paths of at most 100 characters", async () => {
      const many = Object.fromEntries(Array.from({ length: 30 }, (_none, index) => [`unknown_${index}`, index]));
      expect(expectIssues(await owner.api.post("/v1/qr", many))).to.have.length(20);
      const query = Object.keys(many).join("&");
      expect(expectIssues(await get(`/v1/qr?${query}`))).to.have.length(20);
      const [issue] = expectIssues(await owner.api.post("/v1/qr", { ["😀".repeat(150)]: 1 }));
      expect(issue?.path).to.equal("😀".repeat(100));
      const [inQuery] = expectIssues(await get(`/v1/qr?${"a".repeat(150)}=1`));
      expect(inQuery?.path).to.equal("a".repeat(100));
    });

    it("names a member within a member by its dotted path", async () => {
      const override = { voice_name: 1, unknown: 1 };
      const answer = await owner.api.put("/v1/qr/x/agent", { agent_id: 1, override }, ifMatch(1));
      expect(placesOf(answer)).to.have.deep.members([
        ["body", "override.voice_name"],
        ["body", "override.unknown"],
      ]);
    });
  });
});
