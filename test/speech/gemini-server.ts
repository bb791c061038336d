import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { type GeminiOptions, createGeminiSynthesizer } from "../../src/speech/gemini-synthesizer.js";
import type { Speech, SynthesisError } from "../../src/speech/synthesizer.js";
import { calm, failureOf } from "./support.js";

type Seen = { method: string; url: string; headers: IncomingMessage["headers"]; rawHeaders: string[]; body: string };

/** How the server answers one request. */
export type Answer = (response: ServerResponse) => void;

/** The key every synthesizer under test is given. */
export const key = "AIza-test-key-0123456789";

/** What every synthesizer under test is asked to say. */
export const request = { text: "Good <b>morning</b>", voiceName: "Puck", model: "gemini-3.1-flash-live-preview" };

/** Half a second of samples at 24 kHz. */
export const pcm = Buffer.alloc(24_000, 5);

/** A server that speaks Gemini's documented format, listening while the surrounding suite runs. */
export class GeminiServer {
  readonly requests: Seen[] = [];
  answer: Answer = () => {};
  baseUrl = "";
  readonly #server = createServer((incoming, response) => {
    let body = "";
    incoming.setEncoding("utf8");
    incoming.on("data", (chunk: string) => (body += chunk));
    incoming.on("end", () => {
      const { method = "", url = "", headers, rawHeaders } = incoming;
      this.requests.push({ method, url, headers, rawHeaders, body });
      this.answer(response);
    });
  });

  constructor() {
    before((done) => {
      this.#server.listen(0, "127.0.0.1", () => {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        this.baseUrl = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
        done();
      });
    });
    beforeEach(() => void this.requests.splice(0));
    after((done) => {
      this.#server.closeAllConnections();
      this.#server.close(done);
    });
  }

  /** Synthesize against this server while it answers so. */
  speak(answer: Answer, options: Partial<GeminiOptions> = {}, signal = calm): Promise<Speech> {
    this.answer = answer;
    return createGeminiSynthesizer({ apiKey: key, baseUrl: this.baseUrl, ...options }).synthesize(request, signal);
  }

  /** The error of a synthesis while the server answers so, having checked that it does not show the key. */
  async fail(answer: Answer, options: Partial<GeminiOptions> = {}, signal = calm): Promise<SynthesisError> {
    const failure = await failureOf(this.speak(answer, options, signal));
    expect(`${failure.stack} ${String(failure.cause)}`).to.not.contain(key);
    return failure;
  }
}

/** Answer with a status, a body (JSON unless a string) and headers. */
export function reply(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json; charset=UTF-8", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

/** The documented answer that holds these pieces of audio. */
export function spoken(...parts: { mimeType: string; data: Buffer }[]): object {
  const inline = parts.map(({ mimeType, data }) => ({ inlineData: { mimeType, data: data.toString("base64") } }));
  return {
    candidates: [{ content: { parts: inline, role: "model" }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 25, totalTokenCount: 28 },
    modelVersion: "gemini-3.8-flash-lite-tts",
  };
}

/** The documented body of a refusal. */
export function refusal(code: number, status: string, message: string, details: unknown[] = []): object {
  return { error: { code, message, status, details } };
}

/** The documented body of a spent quota. */
export function exhausted(...details: unknown[]): object {
  return refusal(429, "RESOURCE_EXHAUSTED", `Quota of ${key} spent`, details);
}

/** Promise 1000 bytes, send one and cut the connection. */
export function cutShort(response: ServerResponse): void {
  response.writeHead(200, { "content-length": "1000" });
  response.write("{", () => void response.destroy());
}

/** Send `bytes` blanks as fast as they are read. */
export function flood(response: ServerResponse, bytes: number): void {
  for (let left = bytes; left > 0; left -= 65_536) {
    if (response.destroyed) return;
    if (response.write(" ".repeat(65_536))) continue;
    response.once("drain", () => flood(response, left - 65_536));
    return;
  }
  response.end();
}
