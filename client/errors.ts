import type { TRPCClientError } from "@trpc/client";
import type { AppRouter } from "../routers/index.js";

type PublicError = AppRouter["_def"]["_config"]["$types"]["errorShape"]["data"]["error"];

/** Every code of the error table. */
export type GatewayErrorCode = PublicError["code"];

interface DetailsOfCode {
  INSUFFICIENT_SCOPE: Extract<PublicError["details"], { missing_scopes: unknown }>;
  RESOURCE_VERSION_CONFLICT: Extract<PublicError["details"], { current_version: unknown }>;
  VALIDATION_FAILED: Extract<PublicError["details"], { issues: unknown }>;
}

/** What `details` holds for a code; null for most. */
export type DetailsOf<Code extends GatewayErrorCode> = Code extends keyof DetailsOfCode ? DetailsOfCode[Code] : null;

/** A failure that the gateway itself reported, with this code. */
export type GatewayError<Code extends GatewayErrorCode = GatewayErrorCode> = Code extends GatewayErrorCode
  ? TRPCClientError<AppRouter> & {
      data: {
        error: { code: Code; message: string; request_id: string; details: DetailsOf<Code> };
        /** Whole seconds to wait before sending it again. */
        retry_after?: number;
      };
    }
  : never;

/** True for a failure that the gateway reported, with one of these codes where any is given. */
export function isGatewayError<Code extends GatewayErrorCode = GatewayErrorCode>(
  error: unknown,
  ...codes: Code[]
): error is GatewayError<Code> {
  // By name: an app may hold another copy of @trpc/client than this module.
  if (!(error instanceof Error) || error.name !== "TRPCClientError") return false;
  const code = (error as TRPCClientError<AppRouter>).data?.error?.code;
  return code !== undefined && (codes.length === 0 || codes.includes(code as Code));
}
