import { expect } from "chai";
import { onEachBackend, query } from "./support/backends.js";
import { expectIssues, expectOk, ifMatch, keyed } from "./support/http.js";
import { expectFieldIssue, NO_BOOLEAN, NO_TEXT, shown, textsOf, textsPast } from "./support/limits.js";
import { newOwner, newQr, type TestOwner } from "./support/owners.js";
import { auditOf, storedQr } from "./support/rows.js";

const DEFAULTS = {
  paywall_enabled: false,
  paywall_price_cents: null,
  paywall_currency: "usd",
  paywall_product_name: null,
};
const FULL = {
  paywall_enabled: true,
  paywall_price_cents: 250,
  paywall_currency: "eur",
  paywall_product_name: "A tour",
};

const FIELDS = [
  { name: "paywall_enabled", taken: [true, false], refused: [...NO_BOOLEAN, null, undefined] },
  {
    name: "paywall_price_cents",
    taken: [0, 1, 99_999_999, null],
    refused: [-1, 100_000_000, 1.5, "250", "", true, [], {}, 2 ** 53],
  },
  {
    name: "paywall_currency",
    taken: Intl.supportedValuesOf("currency").map((code) => code.toLowerCase()),
    refused: [
      "",
      "us",
      "usdd",
      "xq1",
      "zzz",
      "u$d",
      " usd",
      "usd ",
      "u\u017Fd",
      "\uFF55\uFF53\uFF44",
      null,
      ...NO_TEXT,
    ],
  },
  {
    name: "paywall_product_name",
    taken: [...textsOf(250), "x", " ", null],
    refused: ["", ...textsPast(250), ...NO_TEXT],
  },
];

onEachBackend("paywall", (backend) => {
  let owner: TestOwner;
  let qr: { short_id: string };
  beforeEach(async () => {
    owner ??= await newOwner(backend);
    qr = await newQr(owner);
  });

  const path = () => `/v1/qr/${qr.short_id}/paywall`;
  const read = async () => expectOk(await owner.api.get(path()));
  const put = (body: unknown, headers = {}) => owner.api.put(path(), body, headers);

  it("is off before any PUT, with all four keys", async () => {
    expect(await read()).to.deep.equal(DEFAULTS);
  });

  it("is replaced whole: an absent field goes back to its default", async () => {
    for (const body of [FULL, { paywall_enabled: true }, FULL, FULL, { paywall_enabled: false }]) {
      const expected = { ...DEFAULTS, ...body };
      expect(expectOk(await put(body))).to.deep.equal(expected);
      expect(await read()).to.deep.equal(expected);
    }
  });

  for (const { name, taken, refused } of FIELDS) {
    it(`takes ${name} up to its limit and nothing past it`, async () => {
      for (const value of taken) {
        const expected = { ...FULL, [name]: value };
        expect(expectOk(await put(expected)), shown(value)).to.deep.equal(expected);
        expect(await read(), shown(value)).to.deep.equal(expected);
      }
      expectOk(await put(FULL));
      for (const value of refused) expectFieldIssue(await put({ ...FULL, [name]: value }), name, value);
      expect(await read()).to.deep.equal(FULL);
    });
  }

  it("takes a currency in any case and keeps it in lower case", async () => {
    for (const code of ["USD", "Usd", "jPY", "CHF"]) {
      const answer = expectOk(await put({ paywall_enabled: true, paywall_currency: code }));
      expect(answer.paywall_currency).to.equal(code.toLowerCase());
      expect(await read()).to.deep.equal(answer);
    }
  });

  it("names unknown fields and refuses what is not an object", async () => {
    for (const name of ["price", "short_id", "if_match_version", "idempotency_key", "resource_version"]) {
      expect(expectIssues(await put({ ...FULL, [name]: 1 }))).to.deep.equal([
        { location: "body", path: name, message: "There is no such field." },
      ]);
    }
    for (const body of ["[]", "null", "1", '"x"', "", "{"]) expect(expectIssues(await put(body))).to.have.length(1);
  });

  it("stays outside versions: none is asked for, looked at or moved", async () => {
    const before = await storedQr(owner, qr.short_id);
    for (const headers of [{}, ifMatch(9), ifMatch("0"), ifMatch("abc"), ifMatch("")]) {
      expectOk(await put(FULL, headers));
      expectOk(await put({ paywall_enabled: false }, headers));
    }
    expectOk(await put(FULL));
    expect(await storedQr(owner, qr.short_id)).to.deep.equal({ ...before, ...FULL, paywall_enabled: 1 });
  });

  it("stays outside idempotency: a key is ignored, a malformed one too, and leaves no receipt", async () => {
    const count = async () => (await query(owner.running, "SELECT id FROM idempotency_receipts")).length;
    const before = await count();
    for (const key of [
      keyed("paywall-key"),
      keyed("paywall-key"),
      keyed("not a key"),
      keyed(""),
      keyed("k".repeat(300)),
    ]) {
      for (const body of [FULL, { ...DEFAULTS, paywall_price_cents: 1 }]) {
        const answer = await put(body, key);
        expect(expectOk(answer)).to.deep.equal(body);
        expect(answer.headers).not.to.have.property("idempotency-replayed");
        expect(await read()).to.deep.equal(body);
      }
    }
    expect(await count()).to.equal(before);
    const other = await owner.api.post("/v1/qr", { name: "same key" }, keyed("paywall-key"));
    expect(expectOk(other).name, "the key is still free").to.equal("same key");
  });

  it("stays outside the audit log", async () => {
    const before = await auditOf(owner);
    expectOk(await put(FULL));
    expect(await auditOf(owner)).to.deep.equal(before);
  });

  it("survives a PATCH, and is kept apart from other codes'", async () => {
    const other = await newQr(owner);
    expectOk(await put(FULL));
    expectOk(await owner.api.patch(`/v1/qr/${qr.short_id}`, { name: "n" }, ifMatch(1)));
    expect(await read()).to.deep.equal(FULL);
    expect(expectOk(await owner.api.get(`/v1/qr/${other.short_id}/paywall`))).to.deep.equal(DEFAULTS);
  });
});
