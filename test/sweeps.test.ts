import { expect } from "chai";
import { createKey, revokeKey } from "../src/key-store.js";
import { generateKey, parseKey } from "../src/keys.js";
import { ALL_SCOPES } from "../src/scopes.js";
import { onEachBackend } from "./support/backends.js";
import { expectError, expectIssues, expectOk } from "./support/http.js";
import {
  blindCall,
  callRest,
  onEach,
  operations,
  procedures,
  SUCCESSES,
  successOf,
  takesBody,
} from "./support/operations.js";
import { newOwner, type TestOwner, withChecksum } from "./support/owners.js";

const versioned = operations.filter(({ operation }) => operation.versioned);
const idempotent = operations.filter(({ operation }) => operation.idempotent);

/** What nobody could read, so that a test shows that nobody tried. */
const GARBAGE = { body: '{"half' };

describe("The tables of the tests", () => {
  it("know every procedure, and none that is not there", () => {
    expect(Object.keys(SUCCESSES)).to.have.members(procedures.map(({ name }) => name));
  });
});

onEachBackend("Every operation", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });

  const keyOf = async (expiresAt: string | null) => {
    const { dataSource } = owner.running.gateway.open;
    return createKey(dataSource, { ownerName: owner.name, name: "sweep", scopes: ALL_SCOPES, expiresAt });
  };

  it("answers its own success", async () => {
    await onEach(operations, async (endpoint) => {
      const body = expectOk(await callRest(owner, endpoint, await successOf(owner, endpoint)));
      expect(endpoint.output.safeParse(body).error).to.equal(undefined);
    });
  });

  it("asks for a key before anything else", async () => {
    await onEach(operations, async (endpoint) => {
      const { version: _version, ...call } = blindCall(endpoint);
      for (const changed of takesBody(endpoint) ? [{}, GARBAGE] : [{}]) {
        const answer = await callRest({ running: owner.running }, endpoint, call, {}, changed);
        expectError(answer, 401, "AUTHENTICATION_REQUIRED", null);
        expect(answer.headers["www-authenticate"]).to.equal("ApiKey");
      }
    });
  });

  it("refuses every key that does not hold in the same words", async () => {
    const { key } = owner;
    expect(withChecksum(key.slice(0, -6))).to.equal(key);
    const revoked = await keyOf(null);
    await revokeKey(owner.running.gateway.open.dataSource, parseKey(revoked)!.id);
    const otherLast = key.endsWith("0") ? "1" : "0";
    const keys: Record<string, string | string[]> = {
      empty: "",
      malformed: "x",
      unknown: generateKey().text,
      "another secret": withChecksum(`${key.slice(0, 17)}${generateKey().text.slice(17, 49)}`),
      "wrong checksum": key.slice(0, -1) + otherLast,
      "in upper case": key.toUpperCase(),
      "sent twice": [key, key],
      "with more behind": `${key} ${key}`,
      expired: await keyOf("2020-01-01T00:00:00.000Z"),
      revoked,
    };
    const messages = new Set<string>();
    await onEach(operations, async (endpoint) => {
      for (const [what, bad] of Object.entries(keys)) {
        const answer = await callRest(
          owner,
          endpoint,
          blindCall(endpoint),
          { "X-API-Key": bad },
          takesBody(endpoint) ? GARBAGE : {},
        );
        expect(answer.status, what).to.equal(401);
        expectError(answer, 401, "API_KEY_INVALID", null);
        expect(answer.headers["www-authenticate"]).to.equal("ApiKey");
        expect(answer.text).to.not.include(key);
        messages.add(answer.body.error.message);
      }
    });
    expect(messages.size).to.equal(1);
  });

  it("names the scopes it needs and those a key lacks, before it reads anything", async () => {
    const none = await newOwner(backend, []);
    for (const missing of ALL_SCOPES) {
      const lacking = await newOwner(
        backend,
        ALL_SCOPES.filter((scope) => scope !== missing),
      );
      await onEach(
        operations.filter(({ operation }) => operation.scopes.includes(missing)),
        async (endpoint) => {
          const { version: _version, ...call } = blindCall(endpoint);
          const garbage = takesBody(endpoint) ? GARBAGE : {};
          const { scopes } = endpoint.operation;
          const one = await callRest(lacking, endpoint, call, { "Idempotency-Key": "" }, garbage);
          expectError(one, 403, "INSUFFICIENT_SCOPE", { required_scopes: scopes, missing_scopes: [missing] });
          const all = await callRest(none, endpoint, call, {}, garbage);
          expectError(all, 403, "INSUFFICIENT_SCOPE", { required_scopes: scopes, missing_scopes: scopes });
        },
      );
    }
  });

  it("needs no scope but its own", async () => {
    await onEach(operations, async (endpoint) => {
      const narrow = await newOwner(backend, endpoint.operation.scopes);
      const { status } = await callRest(narrow, endpoint, blindCall(endpoint));
      expect(status).to.be.oneOf([200, 404, 422]);
    });
  });

  it("asks for the version where it is versioned, before it reads the body", async () => {
    await onEach(versioned, async (endpoint) => {
      const { version: _version, ...call } = blindCall(endpoint);
      const inBody = { body: JSON.stringify({ if_match_version: 1 }) };
      for (const changed of takesBody(endpoint) ? [{}, GARBAGE, inBody] : [{}]) {
        expectError(await callRest(owner, endpoint, call, {}, changed), 428, "RESOURCE_VERSION_REQUIRED", null);
      }
      const query = { path: `${endpoint.operation.path.replace(/\{\w+\}/g, "1")}?if_match_version=1` };
      expectError(await callRest(owner, endpoint, call, {}, query), 428, "RESOURCE_VERSION_REQUIRED", null);
    });
  });

  it("refuses a version that is not one positive integer", async () => {
    const bad = ["", "0", "01", "-1", "+1", "1.5", "1e3", "0x1", "1 1", "1, 1", "*", '"1"', "banana", ["1", "1"]];
    await onEach(versioned, async (endpoint) => {
      const call = await successOf(owner, endpoint);
      for (const version of bad) {
        const issues = expectIssues(await callRest(owner, endpoint, call, { "If-Match-Version": version }));
        expect(issues, String(version)).to.have.length(1);
        expect(issues[0]).to.include({ location: "header", path: "If-Match-Version" });
      }
    });
  });

  it("takes a version too large for any column for a stale one", async () => {
    await onEach(versioned, async (endpoint) => {
      const call = await successOf(owner, endpoint);
      for (const version of ["2", "2147483648", "4294967297", "9007199254740993", "9".repeat(400)]) {
        const expected = Math.min(Number(version), Number.MAX_SAFE_INTEGER);
        const answer = await callRest(owner, endpoint, call, { "If-Match-Version": version });
        expectError(answer, 409, "RESOURCE_VERSION_CONFLICT", { expected_version: expected, current_version: 1 });
        expect(answer.headers["retry-after"]).to.equal(endpoint.operation.idempotent ? "1" : undefined);
      }
      expectOk(await callRest(owner, endpoint, call));
    });
  });

  it("ignores If-Match-Version and Idempotency-Key where it has no use for them", async () => {
    await onEach(operations, async (endpoint) => {
      const ignored: Record<string, string> = {};
      if (!endpoint.operation.versioned) ignored["If-Match-Version"] = "0";
      if (!endpoint.operation.idempotent) ignored["Idempotency-Key"] = "not a key";
      const answer = await callRest(owner, endpoint, await successOf(owner, endpoint), ignored);
      expectOk(answer);
      expect(answer.headers).to.not.have.property("idempotency-replayed");
    });
  });

  it("refuses a malformed Idempotency-Key where it takes one", async () => {
    const bad = ["", "a b", "a".repeat(129), "a/b", "clé", "a,b", ["a", "a"]];
    await onEach(idempotent, async (endpoint) => {
      const call = await successOf(owner, endpoint);
      for (const key of bad) {
        const issues = expectIssues(await callRest(owner, endpoint, call, { "Idempotency-Key": key }));
        expect(issues).to.have.length(1);
        expect(issues[0]).to.include({ location: "header", path: "Idempotency-Key" });
      }
    });
  });

  it("takes Idempotency-Keys of 1 and 128 characters of the whole set", async () => {
    await onEach(idempotent, async (endpoint) => {
      const other = await newOwner(backend);
      for (const key of ["k", "aZ09._:-".padEnd(128, "x")]) {
        expectOk(await callRest(other, endpoint, await successOf(other, endpoint), { "Idempotency-Key": key }));
      }
    });
  });
});
