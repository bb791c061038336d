import { createTRPCClient, httpBatchLink, type TRPCClient } from "@trpc/client";
import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import type { AppRouter } from "../routers/index.js";
import { type Backoff, DEFAULT_BACKOFF } from "./backoff.js";
import { fetchFromGateway } from "./foreign-answer.js";
import { retryLink } from "./retry.js";

export type { Backoff } from "./backoff.js";
export { type DetailsOf, type GatewayError, type GatewayErrorCode, isGatewayError } from "./errors.js";
export { updateWithLatest } from "./update.js";
export type { AppRouter } from "../routers/index.js";

/** The gateway's own limit. */
const MAX_BATCH = 20;

/** Queries travel in the URL; servers and proxies refuse longer request lines. */
const MAX_URL_LENGTH = 6000;

/** Every operation of the gateway: `gateway.qr.create.mutate({ … })`, `gateway.qr.list.query({ … })`. */
export type Gateway = TRPCClient<AppRouter>;

/** What each operation takes: `GatewayInputs["qr"]["create"]`. */
export type GatewayInputs = inferRouterInputs<AppRouter>;

/** What each operation answers: `GatewayOutputs["qr"]["create"]`. */
export type GatewayOutputs = inferRouterOutputs<AppRouter>;

/** Where the gateway is, and who asks. */
export interface GatewayOptions {
  /** Its base address, for example `https://gateway.example`. */
  url: string;
  /** An API key; or a function that returns the current one, asked before each request, where keys rotate. */
  apiKey: string | (() => string | Promise<string>);
  /** The X-Request-ID of the next request; a UUID by default. A failure names it in `data.error.request_id`. */
  requestId?: () => string;
  /** How to repeat what may be repeated; false never does. Queries and mutations with an idempotency key may. */
  retry?: Partial<Backoff> | false;
  /** Another `fetch`, for example one with a proxy. The global one keeps connections open between requests. */
  fetch?: typeof globalThis.fetch;
}

/**
 * The typed client. Calls made in the same tick travel together, at most 20 to a request; create, attach and detach are
 * given an idempotency key unless they have one, so that a repetition has its effects once.
 */
export function createGateway({ url, apiKey, requestId, retry, fetch }: GatewayOptions): Gateway {
  const nextRequestId = requestId ?? (() => crypto.randomUUID());
  const backoff = { ...DEFAULT_BACKOFF, ...(retry === false ? { attempts: 1 } : retry) };
  const send = fetchFromGateway(fetch);
  return createTRPCClient<AppRouter>({
    links: [
      retryLink(backoff),
      httpBatchLink({
        url: `${url.replace(/\/+$/, "")}/trpc`,
        maxItems: MAX_BATCH,
        maxURLLength: MAX_URL_LENGTH,
        headers: async () => ({
          "X-API-Key": typeof apiKey === "string" ? apiKey : await apiKey(),
          "X-Request-ID": nextRequestId(),
        }),
        fetch: (input, init) => send(input, init as RequestInit),
      }),
    ],
  });
}
