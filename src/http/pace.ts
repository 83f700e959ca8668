import type { Socket } from "node:net";
import { forgetOldest } from "../runtime/table.js";
import type { Clock } from "../runtime/clock.js";
import { sourceOf } from "../runtime/logins.js";
import { placeOf, type Visitor } from "./access.js";
import type { Answer } from "./answer.js";

/* How many requests anybody gets answered: more than a page or a program ever asks, and too few to delay the bridge. */

/** How many requests at once, and how many a second from then on. */
interface Allowance {
  readonly atOnce: number;
  readonly perSecond: number;
}

/** An allowance that a request takes from. */
interface Payer extends Allowance {
  readonly key: string;
}

/** Nobody is kept for longer than until the allowance is whole again, so that the oldest can be forgotten. */
const maxRecords = 4_096;

/** A page with its files, its first questions and its live connection are 20 requests. */
const ofSocket: Allowance = { atOnce: 100, perSecond: 25 };
const ofAddress: Allowance = { atOnce: 300, perSecond: 50 };
/** Who has logged in is known also where a proxy gives everybody one address and few sockets. */
const ofUser: Allowance = { atOnce: 600, perSecond: 100 };

/** Token buckets by key. */
export class Pace {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #buckets = new Map<string, { readonly left: number; readonly at: number }>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Takes one from each payer: 0, or in how many ms each will have one, and then nothing is taken. */
  take(payers: readonly Payer[]): number {
    const waits = payers.map((payer) => this.#waitOf(payer));
    const wait = Math.max(0, ...waits);
    if (wait === 0) for (const payer of payers) this.#charge(payer);
    return wait;
  }

  /** Takes one that may be there only later: in how many ms. Null, and nothing is taken, where that is too long. */
  book(payer: Payer, longestMs: number): number | null {
    const wait = this.#waitOf(payer);
    if (wait > longestMs) return null;
    this.#charge(payer);
    return wait;
  }

  #waitOf(payer: Payer): number {
    return Math.max(0, Math.ceil(((1 - this.#leftOf(payer)) / payer.perSecond) * 1_000));
  }

  #leftOf({ key, atOnce, perSecond }: Payer): number {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return atOnce;
    const grown = ((this.#clock.monotonic() - bucket.at) / 1_000) * perSecond;
    return Math.min(atOnce, bucket.left + grown);
  }

  #charge(payer: Payer): void {
    const left = this.#leftOf(payer) - 1;
    this.#buckets.delete(payer.key);
    this.#buckets.set(payer.key, { left, at: this.#clock.monotonic() });
    forgetOldest(this.#buckets, maxRecords);
  }
}

/**
 * Who is logged in, or shows the token, pays alone, and so does a browser that has logged in before (`known`); of all others both the socket
 * and the address do.
 */
export function payersOf(
  asking: Visitor | Answer,
  { remoteAddress = "", remotePort = 0 }: Pick<Socket, "remoteAddress" | "remotePort">,
  known: string | null = null,
): readonly Payer[] {
  const isUser = "who" in asking && (asking.user !== null || asking.via !== null);
  if (isUser) return [{ key: `user ${asking.via ?? ""} ${placeOf(asking)}`, ...ofUser }];
  if (known !== null) return [{ key: `known ${known}`, ...ofSocket }];
  return [
    { key: `socket ${remoteAddress} ${remotePort}`, ...ofSocket },
    { key: `address ${sourceOf(remoteAddress)}`, ...ofAddress },
  ];
}
