import { SynthesisError } from "../../src/speech/synthesizer.js";
import { readWav } from "../../src/speech/wav.js";

/** A signal that nothing aborts. */
export const calm = new AbortController().signal;

/** The SynthesisError a promise rejects with; fails when it resolves or rejects with anything else. */
export async function failureOf(promise: Promise<unknown>): Promise<SynthesisError> {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof SynthesisError) return outcome;
  throw new Error("This should have failed with a SynthesisError.", { cause: outcome });
}

/** The root mean square of a WAV file's samples, 0 for silence and 32 767 for the loudest. */
export function loudnessOf(wav: Buffer): number {
  const { dataOffset, dataBytes } = readWav(wav);
  let sum = 0;
  for (let at = 0; at < dataBytes; at += 2) sum += wav.readInt16LE(dataOffset + at) ** 2;
  return Math.sqrt(sum / Math.max(dataBytes / 2, 1));
}
