import type { AnyRouter } from "@trpc/server";
import type { z } from "zod";
import type { Context } from "./context.js";
import type { Operation, ProcedureMeta } from "./operation.js";
import { runOperation } from "./run-operation.js";

/** A procedure as the transports see it. */
export interface Endpoint {
  /** tRPC name, for example `qr.update`. */
  name: string;
  type: "query" | "mutation";
  operation: Operation;
  /** Whether it has a `/v1` path. */
  isPublic: boolean;
  input: z.ZodObject;
  output: z.ZodType;
  /** Runs the procedure; `getRawInput` is called after key and scopes hold, if at all. */
  call(ctx: Context, getRawInput: () => Promise<unknown>): Promise<unknown>;
}

interface ProcedureDefinition {
  type: "query" | "mutation";
  meta: ProcedureMeta;
  inputs: z.ZodObject[];
  output: z.ZodType;
  resolver: (options: { ctx: Context; input: unknown; path: string; signal: undefined }) => unknown;
}

type Procedure = { _def: ProcedureDefinition };

/** Every procedure of a router by name, described once at start. */
export function endpointsOf(router: AnyRouter): Map<string, Endpoint> {
  const procedures = Object.entries(router._def.procedures as Record<string, Procedure>);
  return new Map(
    procedures.map(([name, procedure]) => {
      const { type, meta, inputs, output, resolver } = procedure._def;
      const input = inputs[0];
      if (inputs.length !== 1 || input === undefined) throw new Error(`${name} must have one input schema.`);
      const runnable = { name, operation: meta.operation, input };
      // The procedure's own resolver in the very steps of its one middleware; through tRPC's caller, which copies the options
      // four times with their property descriptors, a read costs 10 % more.
      const call: Endpoint["call"] = (ctx, getRawInput) =>
        runOperation(ctx, runnable, getRawInput, async (parsed) =>
          output.parse(await resolver({ ctx, input: parsed, path: name, signal: undefined })),
        );
      const endpoint = {
        name,
        type,
        operation: meta.operation,
        isPublic: meta.openapi !== undefined,
        input,
        output,
        call,
      };
      return [name, endpoint];
    }),
  );
}
