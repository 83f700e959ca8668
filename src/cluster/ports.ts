/*
 * What the members of a cluster need of the service that they coordinate by. It is far away: a request that rejects may have been
 * carried out or not, and what was read may be old. What is compared and set, or has an expected place, is decided there.
 */

/** Keys that vanish by themselves when they were not written for the time of a lease. */
export interface Bucket {
  /**
   * Makes a key; with the revision of what stands there, right behind that. Resolves with its revision, or null where something
   * else stands there.
   */
  claim(key: string, value: string, over: number): Promise<number | null>;
  /** Null where it has another revision by now, or has vanished. */
  renew(key: string, value: string, revision: number): Promise<number | null>;
  /** Gives a key up, unless it has another revision by now, and leaves a mark. */
  release(key: string, revision: number): Promise<void>;
  get(key: string): Promise<BucketEntry | null>;
  /** Whatever is there; resolves with the revision. */
  put(key: string, value: string): Promise<number>;
  /**
   * Tells of what is there and of each change, not of what vanishes, and may fall silent for good. Resolves once what is there was
   * told.
   */
  watch(listener: (key: string, entry: BucketEntry) => void, signal: AbortSignal): Promise<void>;
}

export interface BucketEntry {
  readonly revision: number;
  /** Null for the mark of who gave it up in order; empty for what was deleted otherwise. */
  readonly value: string | null;
}

export interface StreamEntry {
  /** What it is about: `fence`, or a file. */
  readonly subject: string;
  /** What is done to the file; empty where the bytes are appended. */
  readonly operation: string;
  /** The run of the program that wrote it. */
  readonly run: string;
  readonly data: Uint8Array;
}

export interface StreamState {
  /** When the servers made it: one that was made anew under the same name is another. */
  readonly created: string;
  /** The number of the newest entry; 0 without one. */
  readonly last: number;
  /** So many entries there are, without those that were purged. */
  readonly count: number;
}

/** The journal of one account: entries in one order, for all who read it the same. */
export interface AccountStream {
  /** Resolves with its number once it is kept safely; null where the newest entry is another than `after`, and nothing was kept. */
  append(entry: StreamEntry, after: number): Promise<number | null>;
  state(): Promise<StreamState>;
  /** Of one subject; null without one. */
  newest(subject: string): Promise<Pick<StreamEntry, "operation"> | null>;
  /** In their order; those that were purged are left out. */
  read(from: number, through: number): AsyncIterable<StreamEntry & { readonly number: number }>;
  /** Drops what is older than this number of a subject. */
  purge(subject: string, before: number): Promise<void>;
}
