import { BindingAttach, BindingDetach, BindingResponse } from "../src/schemas/bindings.js";
import { QrGet } from "../src/schemas/qr.js";
import { attachAgent, detachAgent, getBinding } from "../src/services/bindings.js";
import { operation, router } from "../src/trpc.js";

/** Which agent answers at which QR code. */
export const bindings = router({
  get: operation("GET", "/v1/qr/{short_id}/agent", {
    can: ["qr_agent_binding", "read"],
    scopes: ["bindings:read"],
    summary: "Read the binding of a QR code",
    description: "Every QR code has one from birth, at version 1 with no agent.",
  })
    .input(QrGet)
    .output(BindingResponse)
    .query(({ ctx, input }) => getBinding(ctx, input)),

  attach: operation("PUT", "/v1/qr/{short_id}/agent", {
    can: ["qr_agent_binding", "attach"],
    scopes: ["bindings:write"],
    versioned: true,
    idempotent: true,
    locking: true,
    summary: "Attach an agent to a QR code",
    description:
      "Replaces the current agent and override. The QR code may be inactive; the agent must be active. `If-Match-Version` is the `binding_version`.",
  })
    .input(BindingAttach)
    .output(BindingResponse)
    .mutation(({ ctx, input }) => attachAgent(ctx, input)),

  detach: operation("DELETE", "/v1/qr/{short_id}/agent", {
    can: ["qr_agent_binding", "detach"],
    scopes: ["bindings:write"],
    versioned: true,
    idempotent: true,
    summary: "Detach the agent of a QR code",
    description:
      "Clears the override too. Accepted where none is attached. `If-Match-Version` is the `binding_version`.",
  })
    .input(BindingDetach)
    .output(BindingResponse)
    .mutation(({ ctx, input }) => detachAgent(ctx, input)),
});
