import { CapabilitiesResponse, NoInput } from "../src/schemas/capabilities.js";
import { describeCapabilities } from "../src/services/capabilities.js";
import { operation, router } from "../src/trpc.js";

/** What a key may do. */
export const capabilities = router({
  get: operation("GET", "/v1/capabilities", {
    summary: "Describe what this key may do",
    description: "Needs no scope: every valid, active key may ask.",
  })
    .input(NoInput)
    .output(CapabilitiesResponse)
    .query(({ ctx }) => describeCapabilities(ctx)),
});
