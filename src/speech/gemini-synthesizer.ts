import { isEmptyAudio, readRefusal, readSpeech } from "./gemini-response.js";
import {
  SynthesisError,
  abortedError,
  closedError,
  maxAudioBytes,
  type Speech,
  type SynthesisRequest,
  type Synthesizer,
} from "./synthesizer.js";

/** How to reach Gemini; `deadlineMs` bounds one request, `ttsModel` speaks in place of the agent's live model. */
export type GeminiOptions = {
  apiKey: string;
  baseUrl?: string | undefined;
  ttsModel?: string | undefined;
  deadlineMs?: number | undefined;
};

type Connection = { endpoint: URL; headers: Headers; apiKey: string; deadlineMs: number };

/** Speech from Gemini's generateContent; throws a SynthesisError at once for a key or base URL that cannot be used. */
export function createGeminiSynthesizer(options: GeminiOptions): Synthesizer {
  const connection = connect(options);
  const closing = new AbortController();
  return {
    name: "gemini",
    async synthesize(wanted, signal) {
      if (closing.signal.aborted) throw closedError();
      const deadline = AbortSignal.timeout(connection.deadlineMs);
      try {
        return await request(connection, wanted, AbortSignal.any([signal, closing.signal, deadline]));
      } catch (error) {
        if (signal.aborted) throw abortedError(signal);
        if (closing.signal.aborted) throw closedError();
        if (error instanceof SynthesisError) throw error;
        if (deadline.aborted) throw unready(connection.deadlineMs);
        throw new SynthesisError("The connection to the Gemini API failed.", { retryable: true, cause: error });
      }
    },
    async close() {
      closing.abort();
    },
  };
}

function connect(options: GeminiOptions): Connection {
  const { apiKey, ttsModel = "gemini-3.8-flash-lite-tts", deadlineMs = 60_000 } = options;
  const base = options.baseUrl ?? "https://generativelanguage.googleapis.com";
  const path = `v1beta/models/${encodeURIComponent(ttsModel)}:generateContent`;
  // The cause stays out of these errors: Node's own message would repeat the key.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new SynthesisError("The Gemini API key holds characters that a header cannot carry.", { retryable: false });
  }
  if (!URL.canParse(path, `${base}/`) || !/^https?:\/\//i.test(base)) {
    throw new SynthesisError("The Gemini base URL is not an HTTP URL.", { retryable: false });
  }
  const headers = new Headers({ "content-type": "application/json", "x-goog-api-key": apiKey });
  return { endpoint: new URL(path, `${base.replace(/\/+$/, "")}/`), headers, apiKey, deadlineMs };
}

async function request(
  { endpoint, headers, apiKey }: Connection,
  { text, voiceName }: SynthesisRequest,
  signal: AbortSignal,
): Promise<Speech> {
  const response = await fetch(endpoint, {
    method: "POST",
    headers,
    // A followed redirect would carry the key to another host.
    redirect: "manual",
    signal,
    body: JSON.stringify({
      contents: [{ role: "user", parts: [{ text }] }],
      generationConfig: {
        responseModalities: ["AUDIO"],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName } } },
      },
    }),
  });
  if (!response.ok) throw readRefusal(response, await readText(response, 64 * 1024), apiKey);
  const speech = readSpeech(await readText(response, maxAudioBytes));
  if (isEmptyAudio(speech)) throw new SynthesisError("Gemini answered with empty audio.", { retryable: true });
  return speech;
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) {
      throw new SynthesisError(`Gemini's answer is larger than ${maxBytes} bytes.`, {
        retryable: response.status === 429 || response.status >= 500,
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function unready(deadlineMs: number): SynthesisError {
  return new SynthesisError(`The speech was not ready within ${deadlineMs} ms.`, { retryable: true });
}
