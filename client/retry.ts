import type { Operation, TRPCClientError, TRPCLink } from "@trpc/client";
import type { inferRouterInputs } from "@trpc/server";
import { observable } from "@trpc/server/observable";
import type { AppRouter } from "../routers/index.js";
import { type Backoff, waitMs } from "./backoff.js";
import { isGatewayError } from "./errors.js";
import { ForeignAnswer } from "./foreign-answer.js";

type Inputs = inferRouterInputs<AppRouter>;
type HasKey<Input> = string extends keyof Input ? false : "idempotency_key" extends keyof Input ? true : false;
type KeyedPath = {
  [Group in keyof Inputs]: {
    [Name in keyof Inputs[Group]]: HasKey<Inputs[Group][Name]> extends true
      ? `${string & Group}.${string & Name}`
      : never;
  }[keyof Inputs[Group]];
}[keyof Inputs];

/** The mutations that take an idempotency key; the type refuses one too many and one too few. */
const KEYED: Record<KeyedPath, true> = {
  "qr.create": true,
  "agents.create": true,
  "bindings.attach": true,
  "bindings.detach": true,
};

const keyOf = (op: Operation) => (op.input as { idempotency_key?: string } | undefined)?.idempotency_key;

/** Gives a call its idempotency key once, before it is first sent, so that every repetition carries the same. */
function withKey(op: Operation): Operation {
  if (op.type !== "mutation" || !Object.hasOwn(KEYED, op.path) || keyOf(op) !== undefined) return op;
  return { ...op, input: { ...(op.input as object), idempotency_key: crypto.randomUUID() } };
}

/** Whether the call may never have arrived, or its answer was lost; a plain refusal by a proxy is neither. */
function isLost({ cause }: TRPCClientError<AppRouter>): boolean {
  if (cause instanceof ForeignAnswer) return cause.status === 408 || cause.status === 429 || cause.status >= 500;
  return cause instanceof TypeError || cause instanceof SyntaxError;
}

/** How long the other side asks to wait, at least, in milliseconds; undefined where the call must not be sent again. */
function mayRepeatAfter(op: Operation, error: TRPCClientError<AppRouter>): number | undefined {
  const isSafe = op.type === "query" || keyOf(op) !== undefined;
  const told = error.data?.retry_after;
  if (isGatewayError(error, "SERVICE_UNAVAILABLE")) {
    // It names a time only where nothing was done; then even a mutation without a key may be sent again.
    return isSafe || told !== undefined ? (told ?? 0) * 1000 : undefined;
  }
  if (isGatewayError(error, "IDEMPOTENCY_IN_PROGRESS")) return (told ?? 1) * 1000;
  if (!isSafe || error.data || !isLost(error)) return undefined;
  return error.cause instanceof ForeignAnswer ? (error.cause.retryAfterMs ?? 0) : 0;
}

/** Sends again what may be sent again: queries, and mutations with an idempotency key, which are given one here. */
export function retryLink(backoff: Backoff): TRPCLink<AppRouter> {
  return () =>
    ({ op: given, next }) =>
      observable((observer) => {
        const op = withKey(given);
        let stop: () => void = () => undefined;

        const send = (attempt: number) => {
          const subscription = next(op).subscribe({
            next: (value) => observer.next(value),
            complete: () => observer.complete(),
            error(error) {
              const atLeastMs = mayRepeatAfter(op, error);
              const isSpent = attempt >= backoff.attempts || op.signal?.aborted;
              if (isSpent || atLeastMs === undefined || atLeastMs > backoff.maxMs) return observer.error(error);
              const timer = setTimeout(wake, waitMs(backoff, attempt, atLeastMs));
              // An abort ends the wait; the call that follows fails at once with the reason.
              op.signal?.addEventListener("abort", wake, { once: true });
              stop = rest;

              function rest() {
                clearTimeout(timer);
                op.signal?.removeEventListener("abort", wake);
              }
              function wake() {
                rest();
                send(attempt + 1);
              }
            },
          });
          stop = () => subscription.unsubscribe();
        };

        send(1);
        return () => stop();
      });
}
