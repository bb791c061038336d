import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { expectError, expectIssues, expectOk, ifMatch } from "./support/http.js";
import { expectFieldIssue, type Field, NO_BOOLEAN, NO_TEXT, shown, textsOf, textsPast } from "./support/limits.js";
import { newOwner, newQr, type TestOwner } from "./support/owners.js";

const KIB_16 = 16 * 1024;
/** An object whose JSON is exactly `bytes` long. */
const contextOf = (bytes: number, unit = "x") => {
  const room = bytes - '{"a":""}'.length;
  const size = Buffer.byteLength(unit);
  return { a: unit.repeat(Math.floor(room / size)) + "y".repeat(room % size) };
};

const url = (length: number) => "https://example.com/".padEnd(length, "p");

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: nested(depth - 1) };
}

const FIELDS: Field[] = [
  { name: "name", taken: [...textsOf(255), "x", " "], refused: ["", ...textsPast(255), ...NO_TEXT], null: "clears" },
  { name: "description", taken: [...textsOf(2000), ""], refused: [...textsPast(2000), ...NO_TEXT], null: "clears" },
  {
    name: "destination_url",
    taken: [
      "http://a",
      "HTTPS://Example.COM/Path?q=1&q=2#f",
      "https://user:pw@example.com:8443/",
      "https://[::1]/x",
      "https://ex\u00E4mple.com/\u{1F600}",
      url(2048),
      `${url(2047)}\u{1F600}`,
    ],
    refused: [
      "",
      "example.com",
      "//example.com",
      "ftp://example.com",
      "javascript:alert(1)",
      "data:text/html,x",
      "http:example.com",
      "http://",
      "https:///example.com",
      "https://\\example.com",
      "https://?q",
      "https://a b",
      "https://example.com/ ",
      " https://example.com/",
      "https://example.com/\n",
      "https://example.com:99999/",
      url(2049),
      ...NO_TEXT,
    ],
    null: "clears",
  },
  { name: "external_reference", taken: [], refused: ["", ...textsPast(255), ...NO_TEXT], null: "clears" },
  {
    name: "property_context",
    taken: [
      {},
      { nested: { list: [1, null, "x", 1.5, -0.25, 1e21], empty: {} }, "": "empty name", "a b": "\u{1F600}" },
      { constructor: 1, toString: null, hasOwnProperty: [] },
      contextOf(KIB_16),
      contextOf(KIB_16, "\u{1F600}"),
      contextOf(KIB_16, "\u05D0"),
      nested(62),
    ],
    refused: [
      "text",
      1,
      true,
      [],
      [{}],
      contextOf(KIB_16 + 1),
      contextOf(KIB_16 + 1, "\u{1F600}"),
      nested(64),
      { a: "\0" },
      { "\0": 1 },
    ],
    null: "clears",
  },
  { name: "is_active", taken: [true, false], refused: NO_BOOLEAN, null: "keeps" },
];

onEachBackend("the limits of a QR code", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });

  /** The code as it reads now; an inactive one is not on GET, so an empty PATCH answers with what is stored. */
  const stored = async (shortId: string, version: number) =>
    expectOk(await owner.api.patch(`/v1/qr/${shortId}`, {}, ifMatch(version)));

  for (const field of FIELDS) {
    it(`takes ${field.name} up to its limit, byte for byte`, async () => {
      for (const value of field.taken) {
        const created = await newQr(owner, { [field.name]: value });
        expect(created[field.name], shown(value)).to.deep.equal(value);
        expect((await stored(created.short_id, 1))[field.name], shown(value)).to.deep.equal(value);
        const blank = await newQr(owner);
        const sent = { [field.name]: value };
        const changed = expectOk(await owner.api.patch(`/v1/qr/${blank.short_id}`, sent, ifMatch(1)));
        expect(changed[field.name], shown(value)).to.deep.equal(value);
        expect((await stored(blank.short_id, 2))[field.name], shown(value)).to.deep.equal(value);
      }
    });

    it(`refuses ${field.name} past its limit, and changes nothing`, async () => {
      const qr = await newQr(owner);
      for (const value of field.refused) {
        const body = { [field.name]: value };
        expectFieldIssue(await owner.api.post("/v1/qr", body), field.name, value);
        expectFieldIssue(await owner.api.patch(`/v1/qr/${qr.short_id}`, body, ifMatch(1)), field.name, value);
      }
      expect(expectOk(await owner.api.get(`/v1/qr/${qr.short_id}`))).to.deep.equal(qr);
    });

    it(`${field.null} ${field.name} at null in a PATCH, and leaves it where it is absent`, async () => {
      const value = field.taken[0] ?? `reference ${backend}`;
      const qr = await newQr(owner, { [field.name]: value });
      const untouched = expectOk(await owner.api.patch(`/v1/qr/${qr.short_id}`, {}, ifMatch(1)));
      expect(untouched).to.deep.equal({ ...qr, resource_version: 2, updated_at: untouched.updated_at });
      const nulled = expectOk(await owner.api.patch(`/v1/qr/${qr.short_id}`, { [field.name]: null }, ifMatch(2)));
      expect(nulled[field.name]).to.deep.equal(field.null === "clears" ? null : value);
      expect(await stored(qr.short_id, 3)).to.include({ resource_version: 4 });
    });
  }

  it("takes null for every field that can be empty on create, and not for is_active", async () => {
    const empty = Object.fromEntries(
      FIELDS.filter((field) => field.null === "clears").map((field) => [field.name, null]),
    );
    expect(await newQr(owner, empty)).to.include(empty);
    expectFieldIssue(await owner.api.post("/v1/qr", { is_active: null }), "is_active", null);
  });

  it("names every unknown field, at most 20", async () => {
    const unknown = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`unknown_${index}`, 1]));
    const issues = expectIssues(await owner.api.post("/v1/qr", unknown));
    expect(issues.map((issue) => issue.path)).to.deep.equal(Object.keys(unknown).slice(0, 20));
    for (const name of ["short_id", "resource_version", "created_at", "idempotency_key", "if_match_version"]) {
      const [issue, ...others] = expectIssues(await owner.api.post("/v1/qr", { [name]: 1 }));
      expect(issue).to.include({ location: "body", path: name });
      expect(others).to.deep.equal([]);
    }
  });

  it("finds a short_id by its exact letters only", async () => {
    const { short_id: id } = await newQr(owner);
    const swapped = [...(id as string)]
      .map((letter) => (letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()))
      .join("");
    const others = [`${id}%20`, `%20${id}`, `${id}%00`, swapped, id.slice(1), `${id}2`, "%F0%9F%98%80", "a%2Fb", "%25"];
    for (const other of others) {
      expectError(await owner.api.get(`/v1/qr/${other}`), 404, "RESOURCE_NOT_FOUND");
      expectError(await owner.api.patch(`/v1/qr/${other}`, {}, ifMatch(1)), 404, "RESOURCE_NOT_FOUND");
      expectError(await owner.api.get(`/v1/qr/${other}/agent`), 404, "RESOURCE_NOT_FOUND");
    }
    expect(expectIssues(await owner.api.get("/v1/qr/%E0%A4"))[0]).to.include({ location: "path", path: "short_id" });
  });
});
