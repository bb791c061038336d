import { pino, type Logger } from "pino";
import type { Config } from "./config.js";
import type { ApiError } from "./errors.js";

interface LoggedError {
  type: string;
  code?: string;
  message?: string;
  cause?: LoggedError;
}

/** Driver errors quote statements and values, so of those only the code is kept; stacks and paths never are. */
function describeError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code } = error as { code?: unknown };
  return {
    type: error.constructor.name,
    ...(typeof code === "string" ? { code } : { message: error.message.slice(0, 200) }),
    ...(error.cause !== undefined && depth < 4 ? { cause: describeError(error.cause, depth + 1) } : {}),
  };
}

/** The logger of the process: JSON lines on standard output. */
export function createLogger(config: Pick<Config, "logLevel">): Logger {
  return pino({ level: config.logLevel, base: null, serializers: { err: (error) => describeError(error) } });
}

/** Logs an answer that is our fault with its cause; the caller's own mistakes only at debug. */
export function logFailure(log: Logger, error: ApiError, requestId: string, operation: string): void {
  const facts = { request_id: requestId, operation, code: error.code };
  if (error.status === 500) log.error({ ...facts, err: error.cause }, error.message);
  else log.debug(facts, error.message);
}
