import { expect } from "chai";
import { fromDatabaseTime, toDatabaseTime } from "../entities/column-types.js";
import { newOwner, newQr } from "./support/owners.js";
import { onEachBackend, query } from "./support/backends.js";
import { expectOk } from "./support/http.js";

describe("times of the database", () => {
  const cases = {
    "2026-01-31 08:09:10.120": "2026-01-31T08:09:10.120Z",
    "2026-01-31 08:09:10": "2026-01-31T08:09:10.000Z",
    "2026-01-31": "2026-01-31T00:00:00.000Z",
  };
  for (const [stored, shown] of Object.entries(cases)) {
    it(`shows ${stored} as ${shown}`, () => expect(fromDatabaseTime(stored)).to.equal(shown));
  }
  it("stores what it shows", () =>
    expect(toDatabaseTime("2026-01-31T08:09:10.120Z")).to.equal("2026-01-31 08:09:10.120"));
});

onEachBackend("times", (backend) => {
  for (const stored of ["2026-01-31 08:09:10.000", "2026-01-31 00:00:00.000"]) {
    it(`keep their milliseconds where they are zero: ${stored}`, async () => {
      const owner = await newOwner(backend);
      const qr = await newQr(owner);
      await query(owner.running, "UPDATE qr_codes SET created_at = ? WHERE short_id = ?", [stored, qr.short_id]);
      const read = expectOk(await owner.api.get(`/v1/qr/${qr.short_id}`));
      expect(read.created_at).to.equal(`${stored.replace(" ", "T")}Z`);
    });
  }
});
