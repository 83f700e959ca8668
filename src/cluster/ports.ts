/*
 * What members need of the service that coordinates them. It is remote: a rejected request may have been carried out,
 * and what was read may be old. Compare-and-set and expected places are decided there.
 */

/** Keys that expire when they are not written for longer than a lease. */
export interface Bucket {
  /**
   * Makes a key, or replaces the one with the revision `over`. Resolves with its revision; null if something else is
   * there.
   */
  claim(key: string, value: string, over: number): Promise<number | null>;
  /** Null if the key has another revision, or has expired. */
  renew(key: string, value: string, revision: number): Promise<number | null>;
  /** Gives a key up and leaves a mark, unless it has another revision. */
  release(key: string, revision: number): Promise<void>;
  get(key: string): Promise<BucketEntry | null>;
  /** Writes whatever is there; resolves with the revision. */
  put(key: string, value: string): Promise<number>;
  /**
   * Reports what is there and each change, but no expiry, and may fall silent for good. Resolves once all that is there
   * was reported.
   */
  watch(listener: (key: string, entry: BucketEntry) => void, signal: AbortSignal): Promise<void>;
}

export interface BucketEntry {
  readonly revision: number;
  /** Null for the mark of an orderly release; empty if deleted otherwise. */
  readonly value: string | null;
}

export interface StreamEntry {
  /** What it is about: `fence`, `import`, or a file. */
  readonly subject: string;
  /** What is done to the file; empty for bytes that are appended. */
  readonly operation: string;
  /** The run of the program, and the claim, that wrote it. */
  readonly run: string;
  readonly data: Uint8Array;
}

export interface StreamState {
  /** When the servers made the stream; one made anew under the same name differs. */
  readonly created: string;
  /** The number of the newest entry; 0 without one. */
  readonly last: number;
  /** The number of entries, without purged ones. */
  readonly count: number;
}

/** The journal of one account: entries in the same order for all readers. */
export interface AccountStream {
  /**
   * Resolves with the entry's number once it is kept safely; null, keeping nothing, if the newest entry is not `after`.
   */
  append(entry: StreamEntry, after: number): Promise<number | null>;
  state(): Promise<StreamState>;
  /** The newest entry of a subject; null without one. */
  newest(subject: string): Promise<Pick<StreamEntry, "operation"> | null>;
  /** In order, without purged entries. */
  read(from: number, through: number): AsyncIterable<StreamEntry & { readonly number: number }>;
  /** Drops the entries of a subject before this number. */
  purge(subject: string, before: number): Promise<void>;
}
