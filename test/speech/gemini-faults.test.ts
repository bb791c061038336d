import { expect } from "chai";
import { type Answer, GeminiServer, cutShort, exhausted, flood, pcm, refusal, reply, spoken } from "./gemini-server.js";

describe("gemini synthesizer's faults", () => {
  const gemini = new GeminiServer();

  it("retries a 429 when it was told to", async () => {
    const inSeconds = await gemini.fail(reply(429, exhausted(), { "retry-after": "7" }));
    expect(inSeconds).to.include({ retryable: true, retryAfterMs: 7000 });
    expect(inSeconds.message).to.equal("Gemini answered 429 (RESOURCE_EXHAUSTED: Quota of [key] spent).");
    const retryAfter = async (header: string) =>
      (await gemini.fail(reply(429, exhausted(), { "retry-after": header }))).retryAfterMs;
    expect(await retryAfter(new Date(Date.now() + 60_000).toUTCString())).to.be.within(50_000, 60_000);
    expect(await retryAfter("999999")).to.equal(3_600_000);
    expect(await retryAfter("soon")).to.equal(undefined);
    const info = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "37.5s" };
    expect((await gemini.fail(reply(429, exhausted(info)))).retryAfterMs).to.equal(37_500);
    expect((await gemini.fail(reply(429, "slow down"))).retryable).to.equal(true);
  });

  it("retries a 5xx, and no other refusal", async () => {
    const retryable: number[] = [];
    for (const status of [500, 503, 301, 400, 403, 404]) {
      const elsewhere = { location: `${gemini.baseUrl}/other` };
      const failure = await gemini.fail(reply(status, refusal(status, "SOME_STATUS", "Sorry."), elsewhere));
      expect(failure.message).to.equal(`Gemini answered ${status} (SOME_STATUS: Sorry.).`);
      if (failure.retryable) retryable.push(status);
    }
    expect(retryable).to.deep.equal([500, 503]);
    expect(gemini.requests).to.have.length(6);
    const busy = await gemini.fail(reply(503, "<html>Busy</html>", { "retry-after": "2" }));
    expect(busy).to.include({ retryable: true, retryAfterMs: 2000, message: "Gemini answered 503." });
  });

  it("tells an answer without audio from one that was blocked", async () => {
    const empty: [unknown, boolean][] = [
      ["{ not json", true],
      ["", true],
      ["[]", true],
      [{ candidates: "none" }, true],
      [{ candidates: [] }, true],
      [{}, true],
      [{ candidates: [{ content: { parts: [{ text: "Hello" }] }, finishReason: "OTHER" }] }, true],
      [{ candidates: [{ finishReason: "SAFETY" }] }, false],
      [{ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }, false],
      [spoken({ mimeType: "audio/L16;rate=24000", data: Buffer.alloc(0) }), true],
      [spoken({ mimeType: "audio/L16;rate=24000", data: Buffer.alloc(3) }), true],
      [spoken({ mimeType: "audio/wav", data: Buffer.from("RIFF") }), true],
      [spoken({ mimeType: "audio/mpeg", data: pcm }), false],
    ];
    for (const [body, retryable] of empty) {
      expect((await gemini.fail(reply(200, body))).retryable, JSON.stringify(body)).to.equal(retryable);
    }
  });

  it("reads no more than its limit", async () => {
    const failure = await gemini.fail((response) => flood(response, 64 * 1024 * 1024));
    expect(failure).to.include({ retryable: false, message: "Gemini's answer is larger than 16777216 bytes." });
  });

  it("retries a cut, refused or late connection", async () => {
    const disconnected = { retryable: true, message: "The connection to the Gemini API failed." };
    expect(await gemini.fail((response) => void response.destroy())).to.include(disconnected);
    expect(await gemini.fail(cutShort)).to.include(disconnected);
    expect(await gemini.fail(cutShort, { baseUrl: "http://127.0.0.1:1" })).to.include(disconnected);
    const late = await gemini.fail(() => {}, { deadlineMs: 50 });
    expect(late).to.include({ retryable: true, message: "The speech was not ready within 50 ms." });
  });

  it("rejects promptly when aborted, before, while waiting and while reading", async () => {
    const halting: Answer[] = [() => {}, (response) => void response.writeHead(200).write("{")];
    for (const halt of halting) {
      const start = performance.now();
      const failure = await gemini.fail(halt, {}, AbortSignal.timeout(30));
      expect(failure).to.include({ retryable: true, message: "The speech synthesis was aborted." });
      expect(performance.now() - start).to.be.below(200);
    }
    expect(gemini.requests).to.have.length(2);
    expect((await gemini.fail(halting[0]!, {}, AbortSignal.abort())).retryable).to.equal(true);
    expect(gemini.requests).to.have.length(2);
  });
});
