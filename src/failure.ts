import type { z } from "zod";
import { type ApiError, type IssueLocation, MAX_ISSUES, presentError, type RequestIssue } from "./errors.js";
import type { Operation } from "./operation.js";

/** Members of every input that REST carries in headers, with the header's name. */
export const HEADER_MEMBERS = { if_match_version: "If-Match-Version", idempotency_key: "Idempotency-Key" } as const;

type HeaderMember = keyof typeof HEADER_MEMBERS;

/** Only of an operation that has it: elsewhere it is an unknown field like any other. */
function isHeaderMember(operation: Operation, name: string): name is HeaderMember {
  return name === "if_match_version" ? operation.versioned : name === "idempotency_key" && operation.idempotent;
}

/** Where REST carries a member of an operation's input. */
function locate(operation: Operation, member: string | undefined): IssueLocation {
  if (member !== undefined && operation.pathParameters.includes(member)) return "path";
  if (member !== undefined && isHeaderMember(operation, member)) return "header";
  return operation.method === "GET" ? "query" : "body";
}

/** zod's issues in the contract's terms; an unknown field is an issue of its own, named in `path`. */
export function requestIssues(operation: Operation, error: z.core.$ZodError): RequestIssue[] {
  return error.issues.flatMap((issue) => {
    const unknown = issue.code === "unrecognized_keys";
    // A body can hold a hundred thousand of them.
    const paths = unknown ? issue.keys.slice(0, MAX_ISSUES).map((key) => [...issue.path, key]) : [issue.path];
    const message = unknown ? "There is no such field." : issue.message;
    return paths.map((path) => {
      const [first, ...rest] = path.map(String);
      const location = locate(operation, first);
      const name = first !== undefined && isHeaderMember(operation, first) ? HEADER_MEMBERS[first] : first;
      return { location, path: name === undefined ? "" : [name, ...rest].join("."), message };
    });
  });
}

/** Whole seconds for `Retry-After`: every 409 of an idempotent operation has one, whatever its code. */
export function retryAfterSeconds(error: ApiError, operation: Operation | undefined): number | undefined {
  return error.retryAfterSeconds ?? (error.status === 409 && operation?.idempotent ? 1 : undefined);
}

/** What a tRPC error carries at `error.data`, its path aside. */
export function errorData(error: ApiError, requestId: string, operation: Operation | undefined) {
  const retryAfter = retryAfterSeconds(error, operation);
  return {
    code: error.trpcCode,
    httpStatus: error.status as number,
    /** The same object as in PublicErrorEnvelope. */
    error: presentError(error, requestId),
    ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
  };
}
