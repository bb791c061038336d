import { type DestinationStream, type Logger, pino } from "pino";
import type { Config } from "./config.js";
import type { ApiError } from "./errors.js";

interface LoggedError {
  type: string;
  code?: string;
  message?: string;
  cause?: LoggedError;
}

/** What a message must not show: keys, paths, statements, and what a parser quotes of the text it read. */
const TELLTALE = /qrv_|[\\/]|\b(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER)\b|JSON/;

const isSafe = (message: string) => message.length <= 200 && !TELLTALE.test(message);

/** Driver errors quote statements and values, so of those only the code is kept; stacks and paths never are. */
function describeError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code } = error as { code?: unknown };
  return {
    type: error.constructor.name,
    ...(typeof code === "string" ? { code } : {}),
    ...(typeof code !== "string" && isSafe(error.message) ? { message: error.message } : {}),
    ...(error.cause !== undefined && depth < 4 ? { cause: describeError(error.cause, depth + 1) } : {}),
  };
}

/** The logger of the process: JSON lines, on standard output unless told otherwise. */
export function createLogger(config: Pick<Config, "logLevel">, destination?: DestinationStream): Logger {
  const options = {
    level: config.logLevel,
    base: null,
    serializers: { err: (error: unknown) => describeError(error) },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** Logs an answer that is our fault with its cause; the caller's own mistakes only at debug. */
export function logFailure(log: Logger, error: ApiError, requestId: string, operation: string): void {
  const facts = { request_id: requestId, operation, code: error.code };
  if (error.status === 500) log.error({ ...facts, err: error.cause }, error.message);
  else log.debug(facts, error.message);
}
