import { z } from "zod";
import { ExternalReferencePath } from "../src/schemas/fields.js";
import {
  QrCreate,
  QrDeactivateResponse,
  QrDelete,
  QrGet,
  QrList,
  QrListResponse,
  QrResponse,
  QrUpdate,
} from "../src/schemas/qr.js";
import { ReadinessResponse } from "../src/schemas/readiness.js";
import { createQr, deleteQr, getQr, getQrByReference, listQr, updateQr } from "../src/services/qr.js";
import { checkReadiness } from "../src/services/readiness.js";
import { operation, router } from "../src/trpc.js";

const ByReference = z.strictObject(ExternalReferencePath);

/** QR codes. */
export const qr = router({
  create: operation("POST", "/v1/qr", {
    can: ["qr", "create"],
    scopes: ["qr:write"],
    idempotent: true,
    summary: "Create a QR code",
    description: "No field is required. With `is_active: false` the code is inactive in its first committed state.",
  })
    .input(QrCreate)
    .output(QrResponse)
    .mutation(({ ctx, input }) => createQr(ctx, input)),

  list: operation("GET", "/v1/qr", {
    can: ["qr", "list"],
    scopes: ["qr:read"],
    summary: "List active QR codes",
    description: "Newest first; the order is stable between pages.",
  })
    .input(QrList)
    .output(QrListResponse)
    .query(({ ctx, input }) => listQr(ctx, input)),

  get: operation("GET", "/v1/qr/{short_id}", {
    can: ["qr", "read"],
    scopes: ["qr:read"],
    summary: "Read an active QR code",
    description: "An inactive code is 404 here; by its external reference it is found.",
  })
    .input(QrGet)
    .output(QrResponse)
    .query(({ ctx, input }) => getQr(ctx, input)),

  getByExternalReference: operation("GET", "/v1/qr/by-external-reference/{external_reference}", {
    can: ["qr", "read"],
    scopes: ["qr:read"],
    summary: "Find a QR code by your reference",
    description: "Inactive codes are found too, so that a draft can be prepared and switched on.",
  })
    .input(ByReference)
    .output(QrResponse)
    .query(({ ctx, input }) => getQrByReference(ctx, input)),

  update: operation("PATCH", "/v1/qr/{short_id}", {
    can: ["qr", "update"],
    scopes: ["qr:write"],
    versioned: true,
    summary: "Change the supplied fields of a QR code",
    description:
      "Absent leaves a field as it is; null clears it, but leaves `is_active` as it is. Every accepted change adds 1 to `resource_version`, also one that changes no value.",
  })
    .input(QrUpdate)
    .output(QrResponse)
    .mutation(({ ctx, input }) => updateQr(ctx, input)),

  delete: operation("DELETE", "/v1/qr/{short_id}", {
    can: ["qr", "delete"],
    scopes: ["qr:write"],
    versioned: true,
    summary: "Soft-delete a QR code",
    description: "Detaches the agent and frees the external reference. The short_id is never used again.",
  })
    .input(QrDelete)
    .output(QrDeactivateResponse)
    .mutation(({ ctx, input }) => deleteQr(ctx, input)),

  readiness: operation("GET", "/v1/qr/by-external-reference/{external_reference}/public-voice-readiness", {
    can: ["qr", "read_public_voice_readiness"],
    scopes: ["qr:read", "bindings:read"],
    summary: "Check whether a QR code is ready for the public",
    description:
      "Evaluates binding and signed context in memory. It creates no session, recorder, provider connection or outcome event and changes no stored data.",
  })
    .input(ByReference)
    .output(ReadinessResponse)
    .query(({ ctx, input }) => checkReadiness(ctx, input)),
});
