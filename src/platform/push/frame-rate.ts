const windowMs = 1_000;
const framesPerWindow = 200;
const bytesPerWindow = 2 * 1024 * 1024;

/** How much one channel may take of the bridge's time: 200 frames or 2 MiB a second. */
export class FrameRate {
  #windowAt = -Infinity;
  #frames = 0;
  #bytes = 0;

  /** Counts a frame; ms to rest before the next one, 0 mostly. */
  restMs(bytes: number, now: number): number {
    if (now - this.#windowAt >= windowMs) {
      this.#windowAt = now;
      this.#frames = 0;
      this.#bytes = 0;
    }
    this.#frames += 1;
    this.#bytes += bytes;
    const isFull = this.#frames >= framesPerWindow || this.#bytes >= bytesPerWindow;
    return isFull ? this.#windowAt + windowMs - now : 0;
  }
}
