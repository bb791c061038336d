import { PaywallReplace, PaywallResponse } from "../src/schemas/paywall.js";
import { QrGet } from "../src/schemas/qr.js";
import { getPaywall, replacePaywall } from "../src/services/paywall.js";
import { operation, router } from "../src/trpc.js";

/** Paywall configuration of QR codes. */
export const paywall = router({
  get: operation("GET", "/v1/qr/{short_id}/paywall", {
    can: ["paywall", "read"],
    scopes: ["qr:read"],
    summary: "Read the paywall of a QR code",
  })
    .input(QrGet)
    .output(PaywallResponse)
    .query(({ ctx, input }) => getPaywall(ctx, input)),

  replace: operation("PUT", "/v1/qr/{short_id}/paywall", {
    can: ["paywall", "replace"],
    scopes: ["qr:write"],
    audited: false,
    summary: "Replace the paywall of a QR code",
    description:
      "Replaces all four fields: an absent optional one goes back to its default. Takes no If-Match-Version and no Idempotency-Key, and leaves `resource_version` as it is.",
  })
    .input(PaywallReplace)
    .output(PaywallResponse)
    .mutation(({ ctx, input }) => replacePaywall(ctx, input)),
});
