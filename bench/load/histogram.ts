const BUCKETS_PER_OCTAVE = 64;

/** Latencies in logarithmic buckets of 1.1 %: constant memory and no sorting, however long a round is. */
export class Histogram {
  #buckets = new Uint32Array(32 * BUCKETS_PER_OCTAVE);
  #count = 0;

  /** Adds a latency in milliseconds. */
  record(milliseconds: number): void {
    const bucket = Math.floor(Math.log2(Math.max(1, milliseconds * 1000)) * BUCKETS_PER_OCTAVE);
    this.#buckets[bucket]! += 1;
    this.#count += 1;
  }

  /** The latency in milliseconds that `share` (0..1) of all stay within; 0 where there are none. */
  percentile(share: number): number {
    let left = Math.ceil(this.#count * share);
    for (const [bucket, count] of this.#buckets.entries()) {
      left -= count;
      if (left <= 0 && count > 0) return 2 ** ((bucket + 0.5) / BUCKETS_PER_OCTAVE) / 1000;
    }
    return 0;
  }
}
