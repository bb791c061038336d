const headerBytes = 44;

/** What a PCM16 WAV file says about itself; the audio is `dataBytes` long and begins at `dataOffset`. */
export type WavInfo = {
  sampleRate: number;
  channels: number;
  durationSeconds: number;
  dataOffset: number;
  dataBytes: number;
};

/** Put a RIFF header before little-endian PCM16 samples; `sampleRate` in Hz. */
export function wrapPcm16(pcm: Uint8Array, sampleRate: number, channels = 1): Buffer<ArrayBuffer> {
  const frameBytes = channels * 2;
  const wav = Buffer.allocUnsafeSlow(headerBytes + pcm.byteLength);
  wav.write("RIFF", 0, "latin1");
  wav.writeUInt32LE(headerBytes - 8 + pcm.byteLength, 4);
  wav.write("WAVEfmt ", 8, "latin1");
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(channels, 22);
  wav.writeUInt32LE(sampleRate, 24);
  wav.writeUInt32LE(sampleRate * frameBytes, 28);
  wav.writeUInt16LE(frameBytes, 32);
  wav.writeUInt16LE(16, 34);
  wav.write("data", 36, "latin1");
  wav.writeUInt32LE(pcm.byteLength, 40);
  wav.set(pcm, headerBytes);
  return wav;
}

/** Read the header of a PCM16 WAV file; throws RangeError when it is not one. */
export function readWav(wav: Buffer): WavInfo {
  if (wav.length < 12 || wav.toString("latin1", 0, 4) !== "RIFF" || wav.toString("latin1", 8, 12) !== "WAVE") {
    throw new RangeError("This is not a RIFF WAVE file.");
  }
  const format = findChunk(wav, "fmt ");
  const data = findChunk(wav, "data");
  if (format.bytes < 16 || wav.readUInt16LE(format.offset) !== 1 || wav.readUInt16LE(format.offset + 14) !== 16) {
    throw new RangeError("This WAVE file does not hold 16-bit PCM.");
  }
  const channels = wav.readUInt16LE(format.offset + 2);
  const sampleRate = wav.readUInt32LE(format.offset + 4);
  if (channels === 0 || sampleRate === 0) throw new RangeError("This WAVE file has no channels or no sample rate.");
  const dataBytes = data.bytes - (data.bytes % (channels * 2));
  return {
    sampleRate,
    channels,
    durationSeconds: dataBytes / (channels * 2 * sampleRate),
    dataOffset: data.offset,
    dataBytes,
  };
}

function findChunk(wav: Buffer, id: string): { offset: number; bytes: number } {
  for (let at = 12; at + 8 <= wav.length;) {
    const declared = wav.readUInt32LE(at + 4);
    // A streamed WAV declares more than it holds, because its writer could not know the length.
    if (wav.toString("latin1", at, at + 4) === id) {
      return { offset: at + 8, bytes: Math.min(declared, wav.length - at - 8) };
    }
    at += 8 + declared + (declared % 2);
  }
  throw new RangeError(`This WAVE file has no "${id}" chunk.`);
}
