import { expect } from "chai";
import { createSynthesizer } from "../../src/speech/create-synthesizer.js";
import { createGeminiSynthesizer } from "../../src/speech/gemini-synthesizer.js";
import { readWav, wrapPcm16 } from "../../src/speech/wav.js";
import { GeminiServer, key, pcm, reply, request, spoken } from "./gemini-server.js";
import { calm, failureOf } from "./support.js";

describe("gemini synthesizer", () => {
  const gemini = new GeminiServer();

  it("asks as documented, with the key in its header and nowhere else", async () => {
    await gemini.speak(reply(200, spoken({ mimeType: "audio/L16;codec=pcm;rate=24000", data: pcm })));
    const [seen] = gemini.requests;
    expect(seen!.method).to.equal("POST");
    expect(seen!.url).to.equal("/v1beta/models/gemini-3.8-flash-lite-tts:generateContent");
    expect(seen!.headers["content-type"]).to.equal("application/json");
    expect(JSON.parse(seen!.body)).to.deep.equal({
      contents: [{ role: "user", parts: [{ text: request.text }] }],
      generationConfig: {
        responseModalities: ["AUDIO"],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: "Puck" } } },
      },
    });
    expect(seen!.headers["x-goog-api-key"]).to.equal(key);
    const elsewhere = [seen!.url, seen!.body, ...seen!.rawHeaders].filter((text) => text.includes(key));
    expect(elsewhere).to.deep.equal([key]);
  });

  it("takes another model and a base URL with a path", async () => {
    gemini.answer = reply(200, spoken({ mimeType: "audio/L16", data: pcm }));
    const options = { geminiApiKey: key, geminiBaseUrl: `${gemini.baseUrl}/proxy/`, geminiTtsModel: "a/../b" };
    await createSynthesizer(options).synthesize(request, calm);
    expect(gemini.requests[0]!.url).to.equal("/proxy/v1beta/models/a%2F..%2Fb:generateContent");
  });

  it("wraps bare samples, in one part or several, at the rate they name", async () => {
    const part = { mimeType: "audio/L16;codec=pcm;rate=16000", data: pcm };
    const { contentType, audio } = await gemini.speak(reply(200, spoken(part, part)));
    expect(contentType).to.equal("audio/wav");
    expect(readWav(audio)).to.include({ sampleRate: 16_000, channels: 1, durationSeconds: 1.5 });
    expect(audio.subarray(44).equals(Buffer.concat([pcm, pcm]))).to.equal(true);
  });

  it("takes the WAV file of the 3.8 models, with a streamed header too", async () => {
    const wav = wrapPcm16(pcm, 24_000);
    const streamed = Buffer.from(wav);
    streamed.writeUInt32LE(0xffffffff, 4);
    streamed.writeUInt32LE(0xffffffff, 40);
    for (const data of [wav, streamed]) {
      const { audio } = await gemini.speak(reply(200, spoken({ mimeType: "audio/wav", data })));
      expect(audio.equals(wav)).to.equal(true);
    }
  });

  it("fails what runs when closed, and everything after", async () => {
    const synthesizer = createGeminiSynthesizer({ apiKey: key, baseUrl: gemini.baseUrl });
    gemini.answer = () => void synthesizer.close();
    for (let i = 0; i < 2; i += 1) {
      const failure = await failureOf(synthesizer.synthesize(request, calm));
      expect(failure).to.include({ retryable: true, message: "The speech synthesizer is closed." });
    }
    expect(gemini.requests).to.have.length(1);
  });

  it("refuses at once a key or base URL that cannot be used, without repeating the key", () => {
    expect(() => createSynthesizer({ geminiApiKey: "secret\nkey" }))
      .to.throw("The Gemini API key holds characters that a header cannot carry.")
      .and.not.have.property("cause");
    for (const geminiBaseUrl of ["ftp://x", "localhost", "http://"]) {
      expect(() => createSynthesizer({ geminiApiKey: key, geminiBaseUrl })).to.throw("not an HTTP URL");
    }
    expect(createSynthesizer({ geminiApiKey: key }).name).to.equal("gemini");
  });
});
