import { initTRPC } from "@trpc/server";
import { createBuilder, type MiddlewareFunction, middlewareMarker } from "@trpc/server/unstable-core-do-not-import";
import type { OpenApiMethod } from "trpc-to-openapi";
import type { z } from "zod";
import type { Context } from "./context.js";
import { toApiError } from "./errors.js";
import { errorData } from "./failure.js";
import { type Clauses, describeOperation, errorStatuses, type ProcedureMeta } from "./operation.js";
import { runOperation } from "./run-operation.js";

const t = initTRPC
  .context<Context>()
  .meta<ProcedureMeta>()
  .create({
    isDev: false,
    /** For type inference on the client and for callers in the process; src/trpc-http.ts writes the same shape. */
    errorFormatter: ({ shape, error, ctx }) => ({
      ...shape,
      data: { ...errorData(toApiError(error), ctx?.requestId ?? "", ctx?.operation), path: shape.data.path },
    }),
  });

/** Groups procedures. */
export const { router } = t;

/** A failure as it was thrown, out of the TRPCError that tRPC puts around it. */
const thrownBy = (error: Error): unknown => error.cause ?? error;

/**
 * All of an operation as one tRPC middleware, for callers in the process. A chain of tRPC's own (guard, input, effects,
 * output) would copy the options twice at each link, and let an input error come before the check of the key.
 */
function singleMiddleware(meta: ProcedureMeta, input: z.ZodObject, output: z.ZodType) {
  const run: MiddlewareFunction<Context, ProcedureMeta, object, object, unknown> = async (options) => {
    const { ctx, path, getRawInput, next } = options;
    const resolve = async (parsed: unknown) => {
      // `next()` reports a failure instead of throwing it; unless it is thrown again, the transaction would commit.
      const result = await next({ input: parsed });
      if (!result.ok) throw thrownBy(result.error);
      return output.parse(result.data);
    };
    const data = await runOperation(ctx, { name: path, operation: meta.operation, input }, getRawInput, resolve);
    return { ok: true, marker: middlewareMarker, data, ctx };
  };
  return run;
}

/** Builds a procedure in the order `.input()`, `.output()`, then `.query()` or `.mutation()`. */
function procedureOf(meta: ProcedureMeta) {
  return {
    input: <Input extends z.ZodObject>(input: Input) => {
      const typedInput = t.procedure.input(input);
      return {
        output: <Output extends z.ZodType>(output: Output) => {
          const typed = typedInput.output(output);
          const middlewares = [singleMiddleware(meta, input, output)];
          const { config } = t.procedure._def;
          return createBuilder({
            config,
            meta,
            inputs: [input],
            output,
            middlewares,
          } as never) as unknown as typeof typed;
        },
      };
    },
  };
}

/**
 * Starts an operation: its route and its clauses. Then `.input()`, one strict object of path, query, header and body
 * members; `.output()`, which runs inside the transaction of a mutation; and `.query()` or `.mutation()`.
 */
export function operation(method: OpenApiMethod, path: `/${string}`, clauses: Clauses) {
  const described = describeOperation(method, path, clauses);
  return procedureOf({
    operation: described,
    openapi: {
      method,
      path,
      summary: clauses.summary,
      ...(clauses.description === undefined ? {} : { description: clauses.description }),
      errorResponses: errorStatuses(described),
    },
  });
}

/** Starts a query of internal apps: tRPC alone offers it, with no `/v1` path and outside the capability document. */
export function internalQuery(name: string, clauses: Pick<Clauses, "scopes" | "summary">) {
  return procedureOf({ operation: describeOperation("GET", `/trpc/${name}`, clauses) });
}
