import { expect } from "chai";
import { readWav, wrapPcm16 } from "../../src/speech/wav.js";

describe("wav", () => {
  it("reads back what it wrapped", () => {
    const pcm = Buffer.alloc(48_000, 7);
    const wav = wrapPcm16(pcm, 24_000);
    expect(wav.length).to.equal(48_044);
    expect(wav.readUInt32LE(4)).to.equal(wav.length - 8);
    expect(readWav(wav)).to.deep.equal({
      sampleRate: 24_000,
      channels: 1,
      durationSeconds: 1,
      dataOffset: 44,
      dataBytes: 48_000,
    });
    expect(wav.subarray(44).equals(pcm)).to.equal(true);
  });

  it("counts a stereo file's duration in frames", () => {
    expect(readWav(wrapPcm16(Buffer.alloc(8000), 1000, 2)).durationSeconds).to.equal(2);
  });

  it("skips chunks it does not know, odd ones with their padding", () => {
    const wav = wrapPcm16(Buffer.from([1, 2, 3, 4]), 8000);
    const list = Buffer.from("LIST\x03\0\0\0abc\0", "latin1");
    const { dataOffset, dataBytes } = readWav(Buffer.concat([wav.subarray(0, 36), list, wav.subarray(36)]));
    expect({ dataOffset, dataBytes }).to.deep.equal({ dataOffset: 44 + list.length, dataBytes: 4 });
  });

  it("trusts the file's length over a streamed header", () => {
    const wav = wrapPcm16(Buffer.alloc(101), 8000);
    wav.writeUInt32LE(0xffffffff, 40);
    expect(readWav(wav).dataBytes).to.equal(100);
  });

  it("refuses what is not PCM16 in RIFF WAVE", () => {
    const wav = wrapPcm16(Buffer.alloc(4), 8000);
    const change = (offset: number, value: number) => {
      const copy = Buffer.from(wav);
      copy.writeUInt16LE(value, offset);
      return copy;
    };
    const broken = [
      Buffer.alloc(0),
      Buffer.from("ID3"),
      wav.subarray(0, 30),
      wav.subarray(0, 40),
      change(20, 3),
      change(22, 0),
      change(34, 8),
    ];
    for (const file of broken) expect(() => readWav(file)).to.throw(RangeError);
  });
});
