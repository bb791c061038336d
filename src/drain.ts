import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Answering } from "./http.js";

/** How long a drain may take before the process ends anyway. */
export const DRAIN_MS = 10_000;
const IDLE_CHECK_MS = 50;

/** Closes each connection as soon as no request is on it: idle ones, those that never sent anything, busy ones after their answer. */
function closeWhenIdle(server: Server, connections: Iterable<Socket & Answering>): void {
  for (const socket of connections) {
    if (socket.bytesRead === 0) socket.destroy();
    // An answer that promised to keep the connection would have its client send the next request into the closing of it.
    else if (socket._httpMessage) socket._httpMessage.shouldKeepAlive = false;
  }
  server.prependListener("request", (_req, res: ServerResponse) => (res.shouldKeepAlive = false));
  server.closeIdleConnections();
  setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS).unref();
}

/** A function that stops accepting, lets what is in flight finish, closes the pools and exits 0; called again, or after 10 s, exits at once. */
export function drainer(server: Server, close: () => Promise<void>): () => void {
  const connections = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  let draining = false;
  return () => {
    if (draining) process.exit(1);
    draining = true;
    setTimeout(() => process.exit(1), DRAIN_MS).unref();
    server.close(() => {
      close().then(
        () => process.exit(0),
        () => process.exit(1),
      );
    });
    closeWhenIdle(server, connections);
  };
}
