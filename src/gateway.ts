import type { Server } from "node:http";
import type { AnyRouter } from "@trpc/server";
import type { Logger } from "pino";
import { createGatewayServer } from "./app.js";
import { createAuthenticator } from "./auth.js";
import type { Config } from "./config.js";
import type { Dependencies } from "./context.js";
import { openDatabase, type OpenDatabase } from "./database/open.js";
import { keptSigningKey } from "./embedded.js";
import { GreetingWorker, type GreetingWorkerOptions } from "./greetings/worker.js";
import { noClaims, redisClaims } from "./idempotency/claims.js";
import { reapReceipts, receiptAgeSeconds } from "./idempotency/receipts.js";
import { installationId } from "./installation.js";
import { REVOKED_CHANNEL } from "./key-store.js";
import { openApiText } from "./openapi.js";
import { endpointsOf } from "./procedures.js";
import { openRedis, type Redis } from "./redis.js";
import { createLookups } from "./services/lookups.js";
import { createSigner } from "./signing.js";
import { createSynthesizer } from "./speech/create-synthesizer.js";

const REAP_INTERVAL_MS = 10 * 60 * 1000;

/** A gateway with its connections open. */
export interface Gateway {
  server: Server;
  open: OpenDatabase;
  /** Closes the pools; call it when the server has closed. */
  close(): Promise<void>;
}

async function signingKey(config: Config): Promise<string> {
  if (config.contextSigningKey !== undefined) return config.contextSigningKey;
  if (config.database.kind === "sqlite") return keptSigningKey(config.database.path);
  throw new Error("CONTEXT_SIGNING_KEY is required with MySQL.");
}

/** Deletes old receipts now and then, until stopped. */
function keepReaping(open: OpenDatabase, config: Config, log: Logger): () => void {
  const age = receiptAgeSeconds(config.idempotencyTtlSeconds);
  const reap = () => {
    reapReceipts(open.database, age).catch((error: unknown) => log.warn({ err: error }, "Old receipts stay for now"));
  };
  const timer = setInterval(reap, REAP_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

async function isDatabaseReady(open: OpenDatabase): Promise<boolean> {
  return open.database.read.all("SELECT 1", []).then(
    () => true,
    () => false,
  );
}

/** What a test or a measurement puts in place of the gateway's own parts; null greetings are never spoken. */
export interface GatewayParts {
  greetings?: Partial<Pick<GreetingWorkerOptions, "synthesizer" | "timings">> | null;
}

function startGreetings(
  config: Config,
  { database }: OpenDatabase,
  log: Logger,
  { greetings }: GatewayParts,
): GreetingWorker | undefined {
  if (greetings === null) return undefined;
  return new GreetingWorker({
    database,
    log,
    synthesizer: greetings?.synthesizer ?? createSynthesizer(config),
    timings: greetings?.timings,
  });
}

/** Opens database and Redis and makes the server of a router; not listening yet. */
export async function createGateway(
  config: Config,
  router: AnyRouter,
  log: Logger,
  parts: GatewayParts = {},
): Promise<Gateway> {
  const open = await openDatabase(config.database);
  const { database } = open;
  const auth = createAuthenticator(database, (error) => log.warn({ err: error }, "A key's last use was not noted"));
  const redis: Redis | undefined = config.redisUrl === undefined ? undefined : openRedis(config.redisUrl, log);
  redis?.subscribe(REVOKED_CHANNEL, (keyId) => auth.forget(keyId));

  const greetings = startGreetings(config, open, log, parts);
  const endpoints = endpointsOf(router);
  const deps: Dependencies = {
    config,
    database,
    lookups: createLookups(database),
    auth,
    claims: redis
      ? redisClaims(redis, {
          installationId: await installationId(database),
          ttlSeconds: config.idempotencyTtlSeconds,
          leaseSeconds: config.idempotencyLeaseSeconds,
        })
      : noClaims,
    signer: createSigner(await signingKey(config)),
    log,
    wakeGreetings: () => greetings?.wake(),
    operations: new Map([...endpoints.values()].map((endpoint) => [endpoint.name, endpoint.operation])),
  };
  const redisState = () => {
    if (redis === undefined) return "not configured";
    return redis.isReady() ? "ok" : "unavailable";
  };
  const server = createGatewayServer({
    deps,
    endpoints,
    openApi: openApiText(router),
    readiness: async () => ({ ready: await isDatabaseReady(open), redis: redisState() }),
  });
  const stopReaping = keepReaping(open, config, log);
  return {
    server,
    open,
    async close() {
      stopReaping();
      await greetings?.stop();
      await redis?.close();
      await database.close();
    },
  };
}
