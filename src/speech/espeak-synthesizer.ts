import type { SpeakJob, SpeakReply } from "./espeak-worker.js";
import { SynthesisError, type Synthesizer } from "./synthesizer.js";
import { WorkerLane } from "./worker-lane.js";

/** Limits of the offline synthesizer: milliseconds for one text, milliseconds until an idle worker ends, texts waiting. */
export type EspeakOptions = {
  deadlineMs?: number | undefined;
  idleMs?: number | undefined;
  maxWaiting?: number | undefined;
  workerUrl?: URL | undefined;
};

/** Speech without a network: espeak-ng in a worker thread, PCM16 mono WAV, the same bytes for the same text and voice. */
export function createEspeakSynthesizer(options: EspeakOptions = {}): Synthesizer {
  const lane = new WorkerLane<SpeakJob, SpeakReply>({
    workerUrl: options.workerUrl ?? locateWorker(),
    deadlineMs: options.deadlineMs ?? 10_000,
    idleMs: options.idleMs ?? 30_000,
    maxWaiting: options.maxWaiting ?? 100,
  });
  return {
    name: "espeak-ng",
    async synthesize({ text, voiceName }, signal) {
      const reply = await lane.run({ text, voiceName }, signal);
      if ("wav" in reply) return { contentType: "audio/wav", audio: Buffer.from(reply.wav.buffer) };
      if (reply.missing) {
        throw new SynthesisError("Offline speech needs the optional package espeak-ng, which is not installed.", {
          retryable: false,
        });
      }
      throw new SynthesisError("espeak-ng failed to speak this text.", { retryable: true, cause: reply.failure });
    },
    close: () => lane.close(),
  };
}

function locateWorker(): URL {
  if (import.meta.url.endsWith(".ts")) return new URL("./espeak-worker-from-source.mjs", import.meta.url);
  return new URL("./espeak-worker.js", import.meta.url);
}
