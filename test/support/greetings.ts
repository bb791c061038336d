import { createTRPCClient, httpBatchLink } from "@trpc/client";
import { expect } from "chai";
import { type AppRouter, appRouter } from "../../routers/index.js";
import { readConfig } from "../../src/config.js";
import { createGateway, type GatewayParts } from "../../src/gateway.js";
import { createLogger } from "../../src/logging.js";
import { type Speech, SynthesisError, type SynthesisRequest, type Synthesizer } from "../../src/speech/synthesizer.js";
import { wrapPcm16 } from "../../src/speech/wav.js";
import { type BackendName, type Installation, install, query, type RunningGateway } from "./backends.js";
import { newOwner } from "./owners.js";
import { QUICK } from "./paces.js";

/** A synthesizer that speaks as it is told to, and remembers what it was asked. */
export class ScriptedSynthesizer implements Synthesizer {
  readonly name = "scripted";
  readonly asked: SynthesisRequest[] = [];
  /** How many were being spoken at once, at most. */
  mostAtOnce = 0;
  closed = false;
  #now = 0;
  /** What to do for a text; by default it is spoken at once. */
  speak: (request: SynthesisRequest, signal: AbortSignal) => Promise<Speech> | Speech = speech;

  async synthesize(request: SynthesisRequest, signal: AbortSignal): Promise<Speech> {
    this.asked.push(request);
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#now);
    try {
      return await this.speak(request, signal);
    } finally {
      this.#now--;
    }
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

/** A short WAV that tells what it says: the request's digest would, but a name can be read. */
export function speech({ text, voiceName, model }: SynthesisRequest): Speech {
  const said = Buffer.from(`${text}|${voiceName}|${model}`);
  return {
    contentType: "audio/wav",
    audio: wrapPcm16(said.length % 2 ? Buffer.concat([said, Buffer.alloc(1)]) : said, 24_000),
  };
}

/** Speaks after so many milliseconds, unless aborted before. */
export function slowly(ms: number) {
  return (request: SynthesisRequest, signal: AbortSignal): Promise<Speech> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve(speech(request)), ms);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(new SynthesisError("Aborted.", { retryable: true }));
      });
    });
}

/** A gateway whose greetings are spoken by `synthesizer`, or by its own where none is given. */
export async function startSpeaking(
  backend: BackendName,
  synthesizer?: Synthesizer,
  given?: Installation,
  env: Record<string, string> = {},
): Promise<RunningGateway> {
  const installation = given ?? (await install(backend));
  const config = readConfig({ ...installation.env, ...env });
  const greetings: GatewayParts["greetings"] = { timings: QUICK, ...(synthesizer ? { synthesizer } : {}) };
  const gateway = await createGateway(config, appRouter, createLogger({ logLevel: "silent" }), { greetings });
  await new Promise<void>((resolve) => gateway.server.listen(0, "127.0.0.1", resolve));
  const { port } = gateway.server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    backend,
    config,
    gateway,
    async stop() {
      gateway.server.closeAllConnections();
      await new Promise((resolve) => gateway.server.close(resolve));
      await gateway.close();
      if (given === undefined) await installation.drop();
    },
  };
}

/** A typed client, as internal apps have it. */
export function typedClient(url: string, key: string) {
  const link = httpBatchLink({ url: `${url}/trpc`, headers: { "X-API-Key": key } });
  return createTRPCClient<AppRouter>({ links: [link] });
}

/** A new owner's typed client and REST calls. */
export async function newListener(running: RunningGateway) {
  const owner = await newOwner(running);
  return { ...owner, trpc: typedClient(running.url, owner.key) };
}

export type Listener = Awaited<ReturnType<typeof newListener>>;

/** The greeting's audio once it has this status; fails after 10 s. */
export async function audioWhen(
  listener: Pick<Listener, "trpc">,
  input: { agent_id: number; short_id?: string },
  status = "ready",
) {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const answer = await listener.trpc.agents.greetingAudio.query(input);
    if (answer.status === status || Date.now() > deadline) {
      expect(answer.status).to.equal(status);
      return { ...answer, audio: Buffer.from(answer.audio_base64 ?? "", "base64") };
    }
    await pause(20);
  }
}

/** Until nothing is left to do for any agent; fails after 10 s. */
export async function idle(running: RunningGateway): Promise<void> {
  const deadline = Date.now() + 10_000;
  while ((await query(running, "SELECT agent_id FROM greeting_work")).length > 0) {
    if (Date.now() > deadline) throw new Error("There is still work after 10 s.");
    await pause(20);
  }
}

/** Milliseconds. */
export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What audio of `speech` says. */
export const saidIn = (audio: Buffer) => audio.subarray(44).toString().replace(/\0$/, "");
