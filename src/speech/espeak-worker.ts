import { parentPort } from "node:worker_threads";
import { espeakArguments, espeakText } from "./espeak-voices.js";
import { maxAudioBytes } from "./synthesizer.js";
import { readWav, wrapPcm16 } from "./wav.js";

/** One text to speak. */
export type SpeakJob = { text: string; voiceName: string };

/** A WAV file, or a sentence about why there is none; `missing` when espeak-ng is not installed. */
export type SpeakReply = { wav: Uint8Array<ArrayBuffer> } | { failure: string; missing: boolean };

// espeak-ng seeds the noise in its consonants with the time, in each new instance: a clock that stands still in this
// thread, which does nothing else, gives the same bytes for the same text.
Date.now = () => 0;

parentPort?.on("message", (job: SpeakJob) => void answer(job));

async function answer(job: SpeakJob): Promise<void> {
  try {
    const wav = await speak(job);
    parentPort?.postMessage({ wav } satisfies SpeakReply, [wav.buffer]);
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
    parentPort?.postMessage({ failure: String(error), missing } satisfies SpeakReply, []);
  }
}

async function speak(job: SpeakJob): Promise<Buffer<ArrayBuffer>> {
  const { default: create } = await import("espeak-ng");
  const complaints: string[] = [];
  // A fresh instance for each text: espeak-ng carries its noise from one text to the next.
  const espeak = await create({
    arguments: ["-b", "1", ...espeakArguments(job.text, job.voiceName), "-w", "/speech.wav", "-f", "/text"],
    preRun: [({ FS }) => FS.writeFile("/text", Buffer.from(espeakText(job.text)))],
    print: () => {},
    printErr: (line) => void complaints.push(line),
  });
  try {
    const file = espeak.FS.readFile("/speech.wav");
    return cutAndWrap(Buffer.from(file.buffer, file.byteOffset, file.byteLength));
  } catch (cause) {
    throw new Error(`espeak-ng wrote no audio: ${complaints.join(" ").slice(0, 200)}`, { cause });
  }
}

function cutAndWrap(file: Buffer): Buffer<ArrayBuffer> {
  const { dataOffset, dataBytes, sampleRate } = readWav(file);
  const end = dataOffset + Math.min(dataBytes, maxAudioBytes - 44);
  return wrapPcm16(file.subarray(dataOffset, end), sampleRate);
}
