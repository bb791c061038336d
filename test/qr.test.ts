import { expect } from "chai";
import { onEachBackend } from "./support/backends.js";
import { expectError, expectOk, ifMatch } from "./support/http.js";
import { newOwner, newQr, type TestOwner } from "./support/owners.js";

onEachBackend("QR codes", (backend) => {
  let owner: TestOwner;
  before(async () => {
    owner = await newOwner(backend);
  });

  it("refuses a stale version and writes nothing", async () => {
    const qr = await newQr(owner);
    const changed = expectOk(await owner.api.patch(`/v1/qr/${qr.short_id}`, { name: "a" }, ifMatch(1)));
    const stale = await owner.api.patch(`/v1/qr/${qr.short_id}`, { name: "b" }, ifMatch(1));
    expectError(stale, 409, "RESOURCE_VERSION_CONFLICT", { expected_version: 1, current_version: 2 });
    expect(expectOk(await owner.api.get(`/v1/qr/${qr.short_id}`))).to.deep.equal(changed);
  });
});
