import { expect } from "chai";
import * as fc from "fast-check";
import { fingerprintOf } from "../src/idempotency/fingerprint.js";
import { parseStrictJson, StrictJsonError } from "../src/json.js";
import { onEachBackend } from "./support/backends.js";
import { newOwner, newQr } from "./support/owners.js";
import { expectOk } from "./support/http.js";

/** JSON values that the contract takes: no NUL, no lone surrogate, no `__proto__`, no negative zero. */
const texts = fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0"));
const names = texts.filter((text) => text !== "__proto__");
const numbers = fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0);
const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constant(null),
    fc.boolean(),
    numbers,
    texts,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(names, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));
const objects = fc.dictionary(names, values, { maxKeys: 5, noNullPrototype: true });

/** The same value with the members of every object in reverse. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).toReversed();
  return Object.fromEntries(members.map(([name, member]) => [name, reversed(member)]));
}

describe("Strict JSON", () => {
  it("reads every value that the contract takes as it was written", () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(parseStrictJson(JSON.stringify(value))).to.deep.equal(value);
      }),
    );
  });

  it("answers any text at all with a value or a StrictJsonError", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        try {
          parseStrictJson(text);
        } catch (error) {
          expect(error).to.be.instanceOf(StrictJsonError);
        }
      }),
    );
  });
});

describe("Fingerprints", () => {
  const of = (body: unknown) => fingerprintOf("qr.create", { path: {}, version: undefined, body }).toString("hex");

  it("do not depend on the order of members", () => {
    fc.assert(
      fc.property(objects, (body) => {
        expect(of(reversed(body))).to.equal(of(body));
      }),
    );
  });

  it("differ where bodies differ", () => {
    const canonical = (value: unknown) => JSON.stringify(parseStrictJson(JSON.stringify(value)));
    fc.assert(
      fc.property(objects, objects, (one, other) => {
        fc.pre(canonical(one) !== canonical(other) && canonical(reversed(one)) !== canonical(other));
        fc.pre(Object.keys(one).toSorted().join() !== Object.keys(other).toSorted().join());
        expect(of(one)).to.not.equal(of(other));
      }),
    );
  });
});

onEachBackend("property_context", (backend) => {
  it("comes back as it was sent, whatever object it is", async () => {
    const owner = await newOwner(backend);
    await fc.assert(
      fc.asyncProperty(objects, async (context) => {
        const qr = await newQr(owner, { property_context: context });
        expect(expectOk(await owner.api.get(`/v1/qr/${qr.short_id}`)).property_context).to.deep.equal(context);
      }),
      { numRuns: 30 },
    );
  });
});
