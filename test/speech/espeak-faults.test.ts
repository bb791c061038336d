import { expect } from "chai";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { type EspeakOptions, createEspeakSynthesizer } from "../../src/speech/espeak-synthesizer.js";
import { calm, failureOf, loudnessOf } from "./support.js";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));
const request = (text: string) => ({ text, voiceName: "Puck", model: "any" });

async function withSynthesizer(
  options: EspeakOptions,
  use: (it: ReturnType<typeof createEspeakSynthesizer>) => Promise<void>,
) {
  const synthesizer = createEspeakSynthesizer(options);
  try {
    await use(synthesizer);
  } finally {
    await synthesizer.close();
  }
}

/** A worker that misbehaves as its text says: "crash", "exit", "loop" forever, or answers with its thread's number. */
const faultyWorker = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, threadId } from "node:worker_threads";
    parentPort.on("message", ({ text }) => {
      if (text === "crash") throw new Error("out of memory");
      if (text === "exit") process.exit(3);
      if (text === "loop") for (;;);
      if (text === "refuse") return parentPort.postMessage({ failure: "no data", missing: false });
      parentPort.postMessage({ wav: new Uint8Array([threadId]) });
    });`)}`,
);

describe("espeak synthesizer's faults", () => {
  it("replaces a worker that crashed, left or looped, and keeps a healthy one", async () => {
    await withSynthesizer({ workerUrl: faultyWorker, deadlineMs: 300 }, async (synthesizer) => {
      const thread = async () => (await synthesizer.synthesize(request("ok"), calm)).audio[0];
      const failure = (text: string) => failureOf(synthesizer.synthesize(request(text), calm));
      const first = await thread();
      expect(await thread()).to.equal(first);
      expect(await failure("refuse")).to.include({ retryable: true, cause: "no data" });
      expect(await thread()).to.equal(first);
      const crash = await failure("crash");
      expect(crash).to.include({ retryable: true, message: "The speech worker stopped unexpectedly." });
      expect(String(crash.cause)).to.contain("out of memory");
      const second = await thread();
      expect(second).to.not.equal(first);
      expect((await failure("exit")).retryable).to.equal(true);
      expect(await failure("loop")).to.include({ retryable: true, message: "The speech was not ready within 300 ms." });
      expect(await thread()).to.be.above(second!);
    });
  });

  it("ends a worker that has nothing to do", async () => {
    await withSynthesizer({ workerUrl: faultyWorker, idleMs: 20 }, async (synthesizer) => {
      const first = (await synthesizer.synthesize(request("ok"), calm)).audio[0];
      await sleep(200);
      expect((await synthesizer.synthesize(request("ok"), calm)).audio[0]).to.not.equal(first);
    });
  });

  it("bounds how many texts wait", async () => {
    await withSynthesizer({ workerUrl: faultyWorker, maxWaiting: 2, deadlineMs: 200 }, async (synthesizer) => {
      const stuck = failureOf(synthesizer.synthesize(request("loop"), calm));
      const waiting = [1, 2].map(() => synthesizer.synthesize(request("ok"), calm));
      const refused = await failureOf(synthesizer.synthesize(request("ok"), calm));
      expect(refused).to.include({ retryable: true, message: "Too many texts wait to be spoken." });
      await stuck;
      expect(await Promise.all(waiting)).to.have.length(2);
    });
  });

  it("fails what runs and waits when closed, and everything after", async () => {
    const synthesizer = createEspeakSynthesizer({ workerUrl: faultyWorker });
    const pending = ["loop", "ok"].map((text) => failureOf(synthesizer.synthesize(request(text), calm)));
    await sleep(50);
    await synthesizer.close();
    pending.push(failureOf(synthesizer.synthesize(request("ok"), calm)));
    for (const failure of await Promise.all(pending)) {
      expect(failure).to.include({ retryable: true, message: "The speech synthesizer is closed." });
    }
    await synthesizer.close();
  });

  it("survives an abort while its worker still starts", async () => {
    await withSynthesizer({}, async (synthesizer) => {
      const aborted = failureOf(synthesizer.synthesize(request("你".repeat(2000)), AbortSignal.timeout(1)));
      expect((await aborted).retryable).to.equal(true);
      expect(loudnessOf((await synthesizer.synthesize(request("Hello."), calm)).audio)).to.be.above(500);
    });
  });
});

describe("espeak synthesizer, built", () => {
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "speech-"));
    const config = {
      extends: join(root, "tsconfig.build.json"),
      compilerOptions: { rootDir: root, outDir: directory, typeRoots: [join(root, "node_modules/@types")] },
      include: [join(root, "src/speech")],
    };
    await writeFile(join(directory, "tsconfig.json"), JSON.stringify(config));
    await writeFile(join(directory, "package.json"), `{"type":"module"}`);
    await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", directory]);
  });

  after(() => rm(directory, { recursive: true, force: true }));

  async function runBuilt(script: string): Promise<unknown> {
    const module = pathToFileURL(join(directory, "src/speech/create-synthesizer.js"));
    const source = `import { createSynthesizer } from ${JSON.stringify(module.href)};
      const synthesizer = createSynthesizer({});
      const speak = () => synthesizer.synthesize({ text: "Hello.", voiceName: "Puck", model: "any" }, AbortSignal.timeout(9000));
      const alive = setTimeout(() => {}, 9000);
      ${script}
      clearTimeout(alive);`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", source], { cwd: directory });
    return JSON.parse(stdout);
  }

  async function linkPackages(...names: string[]) {
    await rm(join(directory, "node_modules"), { recursive: true, force: true });
    await mkdir(join(directory, "node_modules"));
    for (const name of names) await symlink(join(root, "node_modules", name), join(directory, "node_modules", name));
  }

  it("speaks from the compiled worker, as from the source, and lets the process end", async () => {
    await linkPackages("zod", "espeak-ng");
    const start = performance.now();
    const digest = `(await import("node:crypto")).createHash("sha256").update((await speak()).audio).digest("hex")`;
    const built = await runBuilt(`console.log(JSON.stringify(${digest}));`);
    expect(performance.now() - start).to.be.below(8000);
    await withSynthesizer({}, async (synthesizer) => {
      const { audio } = await synthesizer.synthesize(request("Hello."), calm);
      expect(built).to.equal(createHash("sha256").update(audio).digest("hex"));
    });
  });

  it("says so when espeak-ng is not installed", async () => {
    await linkPackages("zod");
    const script = `const failure = await speak().catch((error) => error);
      console.log(JSON.stringify({ name: failure.name, message: failure.message, retryable: failure.retryable }));`;
    expect(await runBuilt(script)).to.deep.equal({
      name: "SynthesisError",
      message: "Offline speech needs the optional package espeak-ng, which is not installed.",
      retryable: false,
    });
  });
});
