import type { TRPC_ERROR_CODE_KEY } from "@trpc/server/rpc";
import { DatabaseUnavailable, LockTimeout } from "./database/sql.js";

/** The statuses that ever leave a `/v1` path, with tRPC's name for each. */
const TRPC_CODES = {
  401: "UNAUTHORIZED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "CONFLICT",
  422: "UNPROCESSABLE_CONTENT",
  428: "PRECONDITION_REQUIRED",
  500: "INTERNAL_SERVER_ERROR",
} as const satisfies Record<number, TRPC_ERROR_CODE_KEY>;

/** A status of the error table. */
export type ErrorStatus = keyof typeof TRPC_CODES;

interface ErrorDefinition {
  status: ErrorStatus;
  message: string;
}

/** The error table: code, status, and one sentence a person can act on. */
export const ERRORS = {
  AUTHENTICATION_REQUIRED: { status: 401, message: "Send your API key in the X-API-Key header." },
  API_KEY_INVALID: {
    status: 401,
    message: "The API key is not valid; check that it is complete, current and sent once.",
  },
  INSUFFICIENT_SCOPE: {
    status: 403,
    message: "The API key lacks a scope this operation needs; use a key that has it.",
  },
  RESOURCE_NOT_FOUND: { status: 404, message: "There is no such resource, or it is not visible to this API key." },
  ROUTE_NOT_FOUND: { status: 404, message: "There is no such path, or no such method on it; see /openapi.json." },
  RESOURCE_VERSION_CONFLICT: {
    status: 409,
    message: "The resource has changed since this version; read it again and repeat the change on the current version.",
  },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    message: "This idempotency key was already used for a different request; use a new key for a new request.",
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    message: "A request with this idempotency key is still being processed; send it again after Retry-After seconds.",
  },
  BINDING_TARGET_INACTIVE: { status: 409, message: "The agent is inactive; switch it on before attaching it." },
  EXTERNAL_REFERENCE_CONFLICT: {
    status: 409,
    message: "Another of your resources of this kind already uses this external_reference; choose another.",
  },
  VALIDATION_FAILED: { status: 422, message: "The request is malformed; see details.issues for what to correct." },
  RESOURCE_VERSION_REQUIRED: {
    status: 428,
    message: "Send the version you last read: in If-Match-Version, or as if_match_version over tRPC.",
  },
  INTERNAL_ERROR: {
    status: 500,
    message: "Something went wrong on our side; quote the request id when you report it.",
  },
  SERVICE_UNAVAILABLE: {
    status: 500,
    message: "The service did not answer in time and nothing was done; send it again later.",
  },
} as const satisfies Record<string, ErrorDefinition>;

/** A code of the error table. */
export type ErrorCode = keyof typeof ERRORS;

const UNKNOWN_OUTCOME =
  "The service did not answer in time and the outcome is unknown; read the resource before you send the change again.";

const UNKNOWN_KEYED_OUTCOME =
  "The service did not answer in time and the outcome is unknown; send it again with the same idempotency key.";

/** Where in a request an issue is. */
export type IssueLocation = "header" | "path" | "query" | "body";

/** One thing to correct in a malformed request. */
export interface RequestIssue {
  location: IssueLocation;
  path: string;
  message: string;
}

/** What `details` may hold. */
export type ErrorDetails =
  | { required_scopes: readonly string[]; missing_scopes: string[] }
  | { expected_version: number; current_version: number }
  | { issues: RequestIssue[] }
  | null;

interface ApiErrorOptions {
  details?: ErrorDetails;
  retryAfterSeconds?: number;
  message?: string;
  cause?: unknown;
}

/** A failure as the caller sees it; the cause stays inside. */
export class ApiError extends Error {
  readonly details: ErrorDetails;
  /** Whole seconds, at least 1; undefined where the answer carries no `Retry-After` by itself. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    readonly code: ErrorCode,
    options: ApiErrorOptions = {},
  ) {
    super(options.message ?? ERRORS[code].message, { cause: options.cause });
    this.details = options.details ?? null;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  get status(): ErrorStatus {
    return ERRORS[this.code].status;
  }

  /** tRPC's name for the status. */
  get trpcCode(): TRPC_ERROR_CODE_KEY {
    return TRPC_CODES[this.status];
  }
}

export const MAX_ISSUES = 20;
const MAX_PATH_LENGTH = 100;

/** A 422 that names at most 20 issues, their paths cut at 100 characters. */
export function validationFailed(issues: RequestIssue[]): ApiError {
  const bounded = issues
    .slice(0, MAX_ISSUES)
    .map((issue) => ({ ...issue, path: [...issue.path].slice(0, MAX_PATH_LENGTH).join("") }));
  return new ApiError("VALIDATION_FAILED", { details: { issues: bounded } });
}

/** A stale version; both numbers are bounded to what a JSON integer holds exactly. */
export function versionConflict(expected: number, current: number): ApiError {
  return new ApiError("RESOURCE_VERSION_CONFLICT", {
    details: { expected_version: Math.min(expected, Number.MAX_SAFE_INTEGER), current_version: current },
  });
}

function serviceUnavailable(cause: DatabaseUnavailable): ApiError {
  if (!cause.retrySafe) return new ApiError("SERVICE_UNAVAILABLE", { message: UNKNOWN_OUTCOME, cause });
  const message = cause.outcomeUnknown ? { message: UNKNOWN_KEYED_OUTCOME } : {};
  return new ApiError("SERVICE_UNAVAILABLE", { ...message, retryAfterSeconds: 1, cause });
}

/** Whatever was thrown, as the caller may see it: an unforeseen failure becomes INTERNAL_ERROR, its cause kept for the log. */
export function toApiError(thrown: unknown): ApiError {
  const seen = new Set<unknown>();
  for (let error = thrown; error instanceof Error && !seen.has(error); error = error.cause) {
    if (error instanceof ApiError) return error;
    if (error instanceof DatabaseUnavailable) return serviceUnavailable(error);
    if (error instanceof LockTimeout)
      return new ApiError("SERVICE_UNAVAILABLE", { retryAfterSeconds: 1, cause: error });
    seen.add(error);
  }
  return new ApiError("INTERNAL_ERROR", { cause: thrown });
}

/** The object at `error` of PublicErrorEnvelope, and at `error.data.error` over tRPC. */
export interface PublicError {
  code: ErrorCode;
  message: string;
  request_id: string;
  details: ErrorDetails;
}

/** The wire shape of a failure. */
export function presentError(error: ApiError, requestId: string): PublicError {
  return { code: error.code, message: error.message, request_id: requestId, details: error.details };
}
