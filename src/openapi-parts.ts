import { ERRORS, type ErrorCode, type ErrorStatus } from "./errors.js";
import type { Operation } from "./operation.js";

/** A fragment of an OpenAPI document. */
// oxlint-disable-next-line typescript/no-explicit-any -- JSON of the OpenAPI specification's shape
export type Fragment = Record<string, any>;

const REQUEST_ID_EXAMPLE = "019a5b1e-7c1d-7aa0-8f52-3f0a9d1c2b4e";
const ref = (kind: string, name: string): Fragment => ({ $ref: `#/components/${kind}/${name}` });

/** Header parameters that the operations share. */
export const PARAMETERS: Record<string, Fragment> = {
  RequestId: {
    name: "X-Request-ID",
    in: "header",
    description:
      "Correlates request, answer and log. One that does not fit is replaced by a generated one, not refused.",
    schema: { type: "string", pattern: "^[A-Za-z0-9._:-]{1,128}$" },
    example: REQUEST_ID_EXAMPLE,
  },
  IfMatchVersion: {
    name: "If-Match-Version",
    in: "header",
    required: true,
    description:
      "The version last read: `resource_version` of a QR code or agent, `binding_version` of a binding. Missing is 428, stale is 409.",
    schema: { type: "string", pattern: "^[1-9][0-9]*$" },
    example: "1",
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Makes the request safe to send again: its effects happen once, and an exact replay answers with the stored result. Kept for at least 24 hours.",
    schema: { type: "string", pattern: "^[A-Za-z0-9._:-]{1,128}$" },
    example: "order-2026-0001",
  },
};

/** Response headers that the operations share. */
export const HEADERS: Record<string, Fragment> = {
  RequestId: {
    description: "The effective request id.",
    required: true,
    schema: { type: "string", pattern: "^[A-Za-z0-9._:-]{1,128}$" },
    example: REQUEST_ID_EXAMPLE,
  },
  IdempotencyReplayed: {
    description: "`true` on a replay; absent otherwise.",
    schema: { type: "string", enum: ["true"] },
    example: "true",
  },
  RetryAfter: {
    description: "Whole seconds to wait before sending the request again.",
    schema: { type: "integer", minimum: 1 },
    example: 1,
  },
  WwwAuthenticate: { description: "How to authenticate.", schema: { type: "string" }, example: "ApiKey" },
};

/** Details of an error for its example. */
const EXAMPLE_DETAILS: Partial<Record<ErrorCode, Fragment>> = {
  INSUFFICIENT_SCOPE: { required_scopes: ["qr:write"], missing_scopes: ["qr:write"] },
  RESOURCE_VERSION_CONFLICT: { expected_version: 3, current_version: 5 },
  VALIDATION_FAILED: { issues: [{ location: "body", path: "name", message: "Send 1 to 255 characters." }] },
};

/** The body of every failure. */
export const PUBLIC_ERROR_ENVELOPE: Fragment = {
  type: "object",
  description: "The body of every failure. Nothing else is in it.",
  required: ["error"],
  additionalProperties: false,
  properties: {
    error: {
      type: "object",
      required: ["code", "message", "request_id", "details"],
      additionalProperties: false,
      properties: {
        code: { type: "string", enum: Object.keys(ERRORS), description: "What a program acts on." },
        message: { type: "string", description: "One sentence that a person can act on." },
        request_id: { type: "string", description: "The effective X-Request-ID." },
        details: {
          description: "Facts of some codes: scopes, versions, or issues; else null.",
          anyOf: [
            {
              type: "object",
              required: ["required_scopes", "missing_scopes"],
              properties: {
                required_scopes: { type: "array", items: { type: "string" } },
                missing_scopes: { type: "array", items: { type: "string" } },
              },
            },
            {
              type: "object",
              required: ["expected_version", "current_version"],
              properties: { expected_version: { type: "integer" }, current_version: { type: "integer" } },
            },
            {
              type: "object",
              required: ["issues"],
              properties: {
                issues: {
                  type: "array",
                  maxItems: 20,
                  items: {
                    type: "object",
                    required: ["location", "path", "message"],
                    properties: {
                      location: { type: "string", enum: ["header", "path", "query", "body"] },
                      path: { type: "string", maxLength: 100, description: "Dotted; empty for the whole." },
                      message: { type: "string" },
                    },
                  },
                },
              },
            },
            { type: "null" },
          ],
        },
      },
    },
  },
};

/** Codes of a status that this operation can answer with. */
function codesOf(operation: Operation, status: ErrorStatus): ErrorCode[] {
  const isCreateOrUpdate = operation.can?.[1] === "create" || operation.path === "/v1/qr/{short_id}";
  const applies: Partial<Record<ErrorCode, boolean>> = {
    RESOURCE_VERSION_CONFLICT: operation.versioned,
    IDEMPOTENCY_CONFLICT: operation.idempotent,
    IDEMPOTENCY_IN_PROGRESS: operation.idempotent,
    BINDING_TARGET_INACTIVE: operation.can?.[1] === "attach",
    EXTERNAL_REFERENCE_CONFLICT: isCreateOrUpdate && operation.method !== "DELETE",
  };
  const all = Object.keys(ERRORS) as ErrorCode[];
  return all.filter((code) => ERRORS[code].status === status && applies[code] !== false);
}

function exampleOf(operation: Operation, code: ErrorCode): Fragment {
  const scopes = { required_scopes: operation.scopes, missing_scopes: operation.scopes };
  const details = code === "INSUFFICIENT_SCOPE" ? scopes : (EXAMPLE_DETAILS[code] ?? null);
  const error = { code, message: ERRORS[code].message, request_id: REQUEST_ID_EXAMPLE, details };
  return { value: { error } };
}

/** The answer of an operation with an error status. */
export function errorResponse(operation: Operation, status: ErrorStatus): Fragment {
  const codes = codesOf(operation, status);
  const retryAfter = status === 500 || (status === 409 && operation.idempotent);
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].message}`).join("\n\n"),
    headers: {
      "X-Request-ID": ref("headers", "RequestId"),
      ...(retryAfter ? { "Retry-After": ref("headers", "RetryAfter") } : {}),
      ...(status === 401 ? { "WWW-Authenticate": ref("headers", "WwwAuthenticate") } : {}),
    },
    content: {
      "application/json": {
        schema: ref("schemas", "PublicErrorEnvelope"),
        examples: Object.fromEntries(codes.map((code) => [code, exampleOf(operation, code)])),
      },
    },
  };
}

/** Headers of an operation's success. */
export function successHeaders(operation: Operation): Fragment {
  return {
    "X-Request-ID": ref("headers", "RequestId"),
    ...(operation.idempotent ? { "Idempotency-Replayed": ref("headers", "IdempotencyReplayed") } : {}),
  };
}

/** Header parameters of an operation. */
export function headerParameters(operation: Operation): Fragment[] {
  return [
    ...(operation.versioned ? [ref("parameters", "IfMatchVersion")] : []),
    ...(operation.idempotent ? [ref("parameters", "IdempotencyKey")] : []),
    ref("parameters", "RequestId"),
  ];
}
