import type { Logger } from "pino";
import { appRouter } from "../routers/index.js";
import { drainOnSupervisor, isWorker, superviseWorkers } from "./cluster.js";
import { type Config, ConfigError, readConfig } from "./config.js";
import { drainer } from "./drain.js";
import { makeFirstKey } from "./embedded.js";
import { createGateway, type Gateway } from "./gateway.js";
import { createLogger } from "./logging.js";

function listen({ server }: Gateway, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

/** Printed outside the logger, once: the only moment at which the key can be seen. */
function announceFirstKey(found: { key: string; path: string }, url: string): void {
  process.stdout.write(
    `\nYour first API key, with all scopes; it is also in ${found.path}:\n\n  ${found.key}\n\n` +
      `Try it:\n\n  curl -s -X POST ${url}/v1/qr -H 'X-API-Key: ${found.key}' -H 'Content-Type: application/json' -d '{"name":"Front door"}'\n\n`,
  );
}

/** Runs the gateway in this process until it is told to stop. */
async function serve(config: Config, log: Logger): Promise<void> {
  const gateway = await createGateway(config, appRouter, log);
  const drain = drainer(gateway.server, async () => {
    await gateway.close();
    log.info("Stopped");
  });
  if (isWorker) drainOnSupervisor(drain);
  else for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, drain);

  const port = await listen(gateway, config.port, config.host);
  const { database } = config;
  // Once it listens: where the port is taken, the one chance to show the key would be lost.
  const firstKey = database.kind === "sqlite" ? await makeFirstKey(gateway.open.database, database.path) : null;
  const url = `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${port}`;
  log.info({ url, pid: process.pid, database: database.kind, redis: config.redisUrl !== undefined }, "Listening");
  if (firstKey !== null) announceFirstKey(firstKey, url);
}

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLogger(config);
  if (!isWorker && config.contextSigningKey !== undefined && Buffer.byteLength(config.contextSigningKey) < 32) {
    log.warn("CONTEXT_SIGNING_KEY is shorter than the 32 bytes that HS256 asks for");
  }
  if (config.workers > 1 && !isWorker) superviseWorkers(config.workers, log);
  else await serve(config, log);
}

main().catch((error: unknown) => {
  const reason = error instanceof Error ? error.message : "It could not start.";
  process.stderr.write(error instanceof ConfigError ? `${reason}\n` : `The gateway could not start: ${reason}\n`);
  process.exit(1);
});
