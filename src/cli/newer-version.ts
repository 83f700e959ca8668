import type { Clock } from "../runtime/clock.js";
import { nullIfFailed } from "../runtime/failures.js";

/* Whether a newer version is out. Nobody is asked unless the configuration wants it, and nothing is installed. */

const dayMs = 86_400_000;
const againMs = 3_600_000;
const longestMs = 10_000;
/** The registry's answer about one version has some KiB. */
const mostAnswerBytes = 64 * 1024;
const newest = "https://registry.npmjs.org/greenhouse2mqtt/latest";

type Fetch = (
  url: string,
  init: { readonly signal: AbortSignal; readonly redirect: "error" },
) => Promise<Response>;

/** Asks once a day, and only when somebody looks; he gets the last answer at once. */
export class NewerVersion {
  readonly #clock: Clock;
  readonly #fetch: Fetch;
  readonly #version: string;
  readonly #isWanted: () => boolean;
  #newest: string | null = null;
  #askedAt: number | null = null;
  #isKnown = false;

  /** `version`: the one that runs. */
  constructor(clock: Clock, fetch: Fetch, version: string, isWanted: () => boolean) {
    this.#clock = clock;
    this.#fetch = fetch;
    this.#version = version;
    this.#isWanted = isWanted;
  }

  /** Null if there is none, or the configuration does not want to know. */
  get found(): string | null {
    if (!this.#isWanted()) return null;
    void this.look();
    return this.#newest !== null && isNewer(this.#newest, this.#version) ? this.#newest : null;
  }

  async look(): Promise<void> {
    const fetch = this.#fetch;
    const now = this.#clock.monotonic();
    if (this.#askedAt !== null && now - this.#askedAt < (this.#isKnown ? dayMs : againMs)) return;
    this.#askedAt = now;
    const signal = AbortSignal.timeout(longestMs);
    const body: unknown = await fetch(newest, { signal, redirect: "error" })
      .then(documentIn)
      .catch(nullIfFailed);
    const version = typeof body === "object" && body !== null && "version" in body ? body.version : null;
    this.#isKnown = typeof version === "string";
    if (typeof version === "string") this.#newest = version;
  }
}

/** Null for an error and for an answer that is too long; the rest of either is not read. */
async function documentIn({ ok, body }: Response): Promise<unknown> {
  if (body === null) return null;
  if (!ok) {
    await body.cancel();
    return null;
  }
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > mostAnswerBytes) return null;
    pieces.push(piece);
  }
  return JSON.parse(Buffer.concat(pieces).toString("utf8"));
}

/** Whether `one` is newer; never if either is a prerelease. */
export function isNewer(one: string, other: string): boolean {
  const [numbers, others] = [numbersOf(one), numbersOf(other)];
  if (numbers === null || others === null) return false;
  const at = numbers.findIndex((number, place) => number !== others[place]);
  return at >= 0 && (numbers[at] ?? 0) > (others[at] ?? 0);
}

function numbersOf(version: string): readonly number[] | null {
  const found = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/.exec(version);
  return found === null ? null : found.slice(1).map(Number);
}
