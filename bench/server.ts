import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync, rmSync } from "node:fs";
import { get } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** How a server is started and how it says that it is ready. */
export interface ServerCommand {
  name: string;
  /** What node runs, and where. */
  script: string;
  directory: string;
  environment: Record<string, string>;
  /** Asked until it answers; with 200 where `readyOn200`. */
  readyPath: string;
  readyOn200: boolean;
}

/** A server that runs. */
export interface Server {
  pid: number;
  port: number;
  /** From spawn to the first good answer. */
  startupMs: number;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

function statusOf(port: number, path: string): Promise<number> {
  return new Promise((resolve) => {
    get({ host: "127.0.0.1", port, path, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    }).on("error", () => resolve(0));
  });
}

async function untilReady(command: ServerCommand, child: ChildProcess, port: number, log: string): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
    const status = await statusOf(port, command.readyPath);
    if (status === 200 || (status !== 0 && !command.readyOn200)) return;
    await sleep(5);
  }
  child.kill("SIGKILL");
  throw new Error(`${command.name} did not start:\n${readFileSync(log, "utf8").slice(-2000)}`);
}

/** Starts a server on a free port and waits until it answers; throws with the end of its log where it does not. */
export async function startServer(command: ServerCommand): Promise<Server> {
  const port = await freePort();
  const log = join(tmpdir(), `bench-${process.pid}-${command.name}.log`);
  const output = openSync(log, "w");
  const started = performance.now();
  const child = spawn(process.execPath, [command.script], {
    cwd: command.directory,
    env: { ...process.env, NODE_ENV: "production", ...command.environment, PORT: String(port) },
    stdio: ["ignore", output, output],
  });
  await untilReady(command, child, port, log);
  return {
    pid: child.pid ?? 0,
    port,
    startupMs: performance.now() - started,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
      rmSync(log, { force: true });
    },
  };
}
