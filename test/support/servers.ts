import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, connect, type Socket } from "node:net";
import { Redis as IoRedis } from "ioredis";

/** Waits until `check` holds; fails after `timeoutMs`. */
export async function eventually(check: () => unknown, what: string, timeoutMs = 5000): Promise<void> {
  for (const deadline = Date.now() + timeoutMs; !(await check());) {
    if (Date.now() > deadline) throw new Error(`It did not come about in time: ${what}.`);
    await pause(20);
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A port that nobody listens on just now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** A Redis of the test's own, to be killed, stopped and emptied. */
export interface OwnRedis {
  url: string;
  /** An independent observer. */
  observer: IoRedis;
  signal(name: NodeJS.Signals): void;
  /** Ends the process; what it held is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port, empty. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a redis-server on a port of its own, without persistence. */
export async function ownRedis(): Promise<OwnRedis> {
  const port = await freePort();
  const observer = new IoRedis(port, "127.0.0.1", {
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    retryStrategy: () => 20,
  });
  observer.on("error", () => undefined);
  let child: ChildProcess | undefined;
  const redis: OwnRedis = {
    url: `redis://127.0.0.1:${port}`,
    observer,
    signal: (name) => void child?.kill(name),
    async kill() {
      const dying = child;
      child = undefined;
      if (dying === undefined) return;
      const gone = once(dying, "exit");
      dying.kill("SIGKILL");
      await gone;
    },
    async start() {
      const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
      child = spawn("redis-server", args, { stdio: "ignore" });
      await eventually(
        () =>
          observer.ping().then(
            () => true,
            () => false,
          ),
        "Redis answers",
      );
    },
    async close() {
      observer.disconnect();
      await redis.kill();
    },
  };
  await redis.start();
  return redis;
}

/** What a proxy does with a chunk on its way to the server. */
export type Verdict =
  | "pass"
  /** Cuts the connection; the server never sees the chunk. */
  | "cut"
  /** The server sees the chunk, the caller never its answer: the connection is cut when it comes. */
  | "cut answer"
  /** From here on nothing passes either way, and the connection stays. */
  | "stall"
  /** The server sees the chunk; its answer never comes. */
  | "stall answer";

/** A TCP proxy that breaks connections in the ways networks do. */
export interface FaultyProxy {
  port: number;
  /** Decides over every chunk towards the server. */
  onRequest: (chunk: Buffer) => Verdict;
  /** Cuts every connection and refuses new ones until `up`. */
  down(): Promise<void>;
  up(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a proxy in front of a server. */
export async function faultyProxy(host: string, targetPort: number): Promise<FaultyProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(targetPort, host);
    let answers: "pass" | "cut" | "stall" = "pass";
    let stalled = false;
    const cut = () => {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (chunk: Buffer) => {
      const verdict = stalled ? "stall" : proxy.onRequest(chunk);
      if (verdict === "cut") return cut();
      if (verdict === "stall") stalled = true;
      if (verdict === "cut answer") answers = "cut";
      if (verdict === "stall" || verdict === "stall answer") answers = "stall";
      if (verdict !== "stall") upstream.write(chunk);
    });
    upstream.on("data", (chunk: Buffer) => {
      if (answers === "cut") cut();
      else if (answers === "pass") client.write(chunk);
    });
  });
  const listen = async (port: number) => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  await listen(0);
  const proxy: FaultyProxy = {
    port: (server.address() as { port: number }).port,
    onRequest: () => "pass",
    async down() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.resetAndDestroy();
      await closed;
    },
    up: () => listen(proxy.port),
    async close() {
      if (server.listening) await proxy.down();
    },
  };
  return proxy;
}

/** Applies `verdict` to the first `times` chunks that hold `text`. */
export function onText(proxy: FaultyProxy, text: string, verdict: Verdict, times = 1): () => number {
  let seen = 0;
  proxy.onRequest = (chunk) => (chunk.includes(text) && seen++ < times ? verdict : "pass");
  return () => seen;
}
