import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { appRouter } from "../routers/index.js";
import { ConfigError, readConfig } from "./config.js";
import { makeFirstKey } from "./embedded.js";
import { createGateway, type Gateway } from "./gateway.js";
import { createLogger } from "./logging.js";

const DRAIN_MS = 10_000;
const IDLE_CHECK_MS = 50;

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

/** Closes each connection as soon as no request is on it: idle ones, those that never sent anything, busy ones after their answer. */
function closeWhenIdle(server: Server, connections: Iterable<Socket>): void {
  for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  server.prependListener("request", (_req, res: ServerResponse) => (res.shouldKeepAlive = false));
  server.closeIdleConnections();
  setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS).unref();
}

/** Stops accepting, lets what is in flight finish, closes the pools. A second signal, or 10 s, ends it at once. */
function drainOnSignal(gateway: Gateway, stopped: () => void): void {
  const { server } = gateway;
  const connections = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  let draining = false;
  const onSignal = () => {
    if (draining) process.exit(1);
    draining = true;
    setTimeout(() => process.exit(1), DRAIN_MS).unref();
    server.close(() => {
      gateway.close().then(
        () => {
          stopped();
          process.exit(0);
        },
        () => process.exit(1),
      );
    });
    closeWhenIdle(server, connections);
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}

/** Printed outside the logger, once: the only moment at which the key can be seen. */
function announceFirstKey(found: { key: string; path: string }, url: string): void {
  process.stdout.write(
    `\nYour first API key, with all scopes; it is also in ${found.path}:\n\n  ${found.key}\n\n` +
      `Try it:\n\n  curl -s -X POST ${url}/v1/qr -H 'X-API-Key: ${found.key}' -H 'Content-Type: application/json' -d '{"name":"Front door"}'\n\n`,
  );
}

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLogger(config);
  if (config.contextSigningKey !== undefined && Buffer.byteLength(config.contextSigningKey) < 32) {
    log.warn("CONTEXT_SIGNING_KEY is shorter than the 32 bytes that HS256 asks for");
  }
  const gateway = await createGateway(config, appRouter, log);
  drainOnSignal(gateway, () => log.info("Stopped"));
  const port = await listen(gateway, config.port, config.host);
  const { database } = config;
  // Once it listens: where the port is taken, the one chance to show the key would be lost.
  const firstKey = database.kind === "sqlite" ? await makeFirstKey(gateway.open.database, database.path) : null;
  const url = `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${port}`;
  log.info({ url, database: database.kind, redis: config.redisUrl !== undefined }, "Listening");
  if (firstKey !== null) announceFirstKey(firstKey, url);
}

main().catch((error: unknown) => {
  const reason = error instanceof Error ? error.message : "It could not start.";
  process.stderr.write(error instanceof ConfigError ? `${reason}\n` : `The gateway could not start: ${reason}\n`);
  process.exit(1);
});
