import { expect } from "chai";

/** Asserts an error in tRPC's wire format, with PublicErrorEnvelope's object at `data.error`. */
export function expectTrpcError(
  // oxlint-disable-next-line typescript/no-explicit-any -- what was answered is checked member by member
  one: { error: { message: string; code: number; data: Record<string, any> } },
  requestId: unknown,
  status: number,
  code: string,
  details?: unknown,
): void {
  expect(Object.keys(one), JSON.stringify(one)).to.deep.equal(["error"]);
  expect(one.error).to.have.all.keys("message", "code", "data");
  const { data } = one.error;
  expect(data.httpStatus).to.equal(status);
  expect(data.error).to.have.all.keys("code", "message", "request_id", "details");
  expect(data.error).to.include({ code, request_id: requestId, message: one.error.message });
  if (details !== undefined) expect(data.error.details).to.deep.equal(details);
  expect(JSON.stringify(one)).to.not.match(/stack|node_modules|\.ts\b|\/src\/|TRPCError/);
}
