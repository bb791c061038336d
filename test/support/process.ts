import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** How a process ended, with all it wrote. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A process of the project, by its source. */
interface Spawned {
  child: ChildProcessWithoutNullStreams;
  output: { stdout: string; stderr: string };
  ended: Promise<Ended>;
}

function spawnNode(script: string, args: readonly string[], env: Record<string, string>): Spawned {
  const { PATH = "", HOME = "", TMPDIR = "" } = process.env;
  const child = spawn(process.execPath, ["--import", "tsx", script, ...args], {
    cwd: ROOT,
    env: { PATH, HOME, TMPDIR, ...env },
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  const ended = once(child, "close").then(([code, signal]): Ended => ({ code, signal, ...output }));
  return { child, output, ended };
}

/** The real process, listening on a port of its own. */
export interface SpawnedGateway extends Spawned {
  url: string;
  port: number;
  /** Sends a signal and waits for the end. */
  kill(signal: NodeJS.Signals): Promise<Ended>;
}

const live = new Set<ChildProcessWithoutNullStreams>();
after(() => {
  for (const child of live) child.kill("SIGKILL");
});

/** Runs `src/main.ts` until it ends by itself. */
export function runGateway(env: Record<string, string>): Promise<Ended> {
  return spawnNode("src/main.ts", [], { PORT: "0", ...env }).ended;
}

/** Runs `src/main.ts` and waits until it listens. */
export async function spawnGateway(env: Record<string, string>): Promise<SpawnedGateway> {
  const spawned = spawnNode("src/main.ts", [], { PORT: "0", LOG_LEVEL: "info", ...env });
  const { child, output, ended } = spawned;
  live.add(child);
  void ended.then(() => live.delete(child));
  const listening = new Promise<string>((resolve) => {
    child.stdout.on("data", () => {
      const url = /"url":"([^"]+)"/.exec(output.stdout)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
  const failed = ended.then((end): never => {
    throw new Error(`The gateway ended with ${end.code ?? end.signal}: ${end.stderr}`);
  });
  const url = await Promise.race([listening, failed]);
  failed.catch(() => undefined);
  return {
    ...spawned,
    url,
    port: Number(new URL(url).port),
    kill(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

/** Runs the keys command. */
export function runKeys(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  return spawnNode("src/keys-cli.ts", args, env).ended;
}

/** Makes a key by the keys command. */
export async function keyFromCommand(env: Record<string, string>, ...more: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKeys(["create", "--owner", "someone", "--scopes", "all", ...more], env);
  if (code !== 0) throw new Error(stderr);
  return stdout.trimEnd().split("\n").at(-1) as string;
}
