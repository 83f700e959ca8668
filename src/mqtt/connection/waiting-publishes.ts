/** A first-in-first-out queue bounded in number and bytes. */
export class WaitingPublishes<Publish extends { readonly parcel: { readonly bytes: number } }> {
  readonly #most: number;
  readonly #mostBytes: number;
  #queue: Publish[] = [];
  #next = 0;
  #bytes = 0;

  constructor(most: number, mostBytes: number) {
    this.#most = most;
    this.#mostBytes = mostBytes;
  }

  get size(): number {
    return this.#queue.length - this.#next;
  }

  get first(): Publish | undefined {
    return this.#queue[this.#next];
  }

  hasRoomFor(bytes: number): boolean {
    return this.size < this.#most && this.#bytes + bytes <= this.#mostBytes;
  }

  add(publish: Publish): void {
    this.#queue.push(publish);
    this.#bytes += publish.parcel.bytes;
  }

  removeFirst(): void {
    this.#bytes -= this.first?.parcel.bytes ?? 0;
    this.#next += 1;
    // The head is cut off now and then, so that taking from the front stays cheap.
    if (this.#next < this.#queue.length && this.#next < 1024) return;
    this.#queue = this.#queue.slice(this.#next);
    this.#next = 0;
  }

  /** Empties it. */
  removeAll(): readonly Publish[] {
    const all = this.#queue.slice(this.#next);
    this.#queue = [];
    this.#next = 0;
    this.#bytes = 0;
    return all;
  }
}
