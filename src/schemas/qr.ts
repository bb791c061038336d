import { z } from "zod";
import {
  anyObject,
  externalReference,
  IdempotencyKey,
  IfMatchVersion,
  instant,
  page,
  text,
  version,
} from "./fields.js";

const PROPERTY_CONTEXT_BYTES = 16 * 1024;

const name = text(1, 255, "What people call the code.").meta({ example: "Front door" });
const description = text(0, 2000, "Free text.");

const destinationUrl = text(0, 2048, "Where a scan leads besides the conversation: an http or https URL.")
  // URL takes "https:///host" and "https://\\host" for "https://host"; to anyone else they name no host.
  .refine((value) => /^https?:\/\/[^/\\\s\p{Cc}][^\s\p{Cc}]*$/iu.test(value) && URL.canParse(value), {
    error: "Send an http:// or https:// URL of at most 2048 characters.",
  })
  .meta({ minLength: 1, format: "uri", example: "https://example.com/listings/4711" });

const propertyContext = anyObject()
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= PROPERTY_CONTEXT_BYTES, {
    error: "Send at most 16 KiB of UTF-8 JSON.",
  })
  .meta({
    description:
      "What the agent should know of the place the code hangs at: any JSON object, at most 16 KiB as UTF-8 JSON. PATCH replaces it whole.",
    example: { address: "12 Harbour Street", rooms: 4 },
  });

const reference = externalReference("Unique among your QR codes that are not deleted.").meta({
  example: "listing-4711",
});

const qrFields = {
  name: name.nullable().optional(),
  description: description.nullable().optional(),
  destination_url: destinationUrl.nullable().optional(),
  external_reference: reference.nullable().optional(),
  property_context: propertyContext.nullable().optional(),
};

/** Body of POST /v1/qr, with the header members. */
export const QrCreate = z
  .strictObject({
    ...qrFields,
    is_active: z.boolean().default(true).meta({ description: "False makes a draft that scans and lists do not see." }),
    ...IdempotencyKey,
  })
  .meta({ title: "QRCodeCreateRequest" });
export type QrCreate = z.infer<typeof QrCreate>;

const shortId = z.string().meta({
  description: "The id of the QR code, 10 characters, case-sensitive, never reused.",
  example: "k3WdP9xTqa",
});

/** Path of one QR code. */
export const QrPath = { short_id: shortId };

/** Input that is nothing but the path. */
export const QrGet = z.strictObject(QrPath);
export type QrGet = z.infer<typeof QrGet>;

/** Body of PATCH /v1/qr/{short_id}, with path and version. Absent leaves as is; null clears, but for is_active. */
export const QrUpdate = z
  .strictObject({
    ...QrPath,
    ...IfMatchVersion,
    ...qrFields,
    is_active: z.boolean().nullable().optional().meta({ description: "Absent or null leaves it as it is." }),
  })
  .meta({ title: "QRCodeUpdateRequest" });
export type QrUpdate = z.infer<typeof QrUpdate>;

/** Input of DELETE /v1/qr/{short_id}. */
export const QrDelete = z.strictObject({ ...QrPath, ...IfMatchVersion });
export type QrDelete = z.infer<typeof QrDelete>;

/** Query of GET /v1/qr. */
export const QrList = z.strictObject(page(20));
export type QrList = z.infer<typeof QrList>;

/** A QR code; every member is always there. */
export const QrResponse = z
  .strictObject({
    short_id: shortId,
    scan_url: z
      .string()
      .meta({ description: "What the printed code encodes.", example: "https://qr.example/k3WdP9xTqa" }),
    name: z.string().nullable().meta({ example: "Front door" }),
    description: z.string().nullable().meta({ example: null }),
    destination_url: z.string().nullable().meta({ example: "https://example.com/listings/4711" }),
    external_reference: z.string().nullable().meta({ example: "listing-4711" }),
    property_context: anyObject()
      .nullable()
      .meta({ example: { address: "12 Harbour Street", rooms: 4 } }),
    is_active: z.boolean(),
    resource_version: version("Moves by 1 with every accepted PATCH; not for paywall or binding."),
    created_at: instant("When the code was created."),
    updated_at: instant("When resource_version last moved."),
  })
  .meta({ id: "QRCodeResponse" });
export type QrResponse = z.infer<typeof QrResponse>;

/** Body of GET /v1/qr. */
export const QrListResponse = z.array(QrResponse);

/** Body of DELETE /v1/qr/{short_id}. */
export const QrDeactivateResponse = z
  .strictObject({
    status: z.literal("deactivated"),
    short_id: shortId,
    is_active: z.literal(false),
    resource_version: version("The version of the deleted code."),
  })
  .meta({ id: "QRDeactivateResponse" });
export type QrDeactivateResponse = z.infer<typeof QrDeactivateResponse>;
