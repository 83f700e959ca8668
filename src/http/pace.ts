import type { Socket } from "node:net";
import { forgetOldest } from "../runtime/table.js";
import type { Clock } from "../runtime/clock.js";
import { sourceOf } from "../runtime/logins.js";
import { placeOf, type Visitor } from "./access.js";
import type { Answer } from "./answer.js";

/* How many requests a visitor may send: more than a page or program ever does, and too few to delay the bridge. */

/** Requests allowed at once, and per second from then on. */
interface Allowance {
  readonly atOnce: number;
  readonly perSecond: number;
}

/** A user, browser, socket or address whose allowance a request uses. */
interface Payer extends Allowance {
  readonly key: string;
}

/** Most allowances in memory. The one used longest ago is forgotten first, as it is most likely whole again. */
const maxRecords = 4_096;

/** Opening the page takes 20 requests: its files, first questions and live connection. */
const ofSocket: Allowance = { atOnce: 100, perSecond: 25 };
const ofAddress: Allowance = { atOnce: 300, perSecond: 50 };
/** A user who has logged in is recognised even behind a proxy, where everybody shares an address and few sockets. */
const ofUser: Allowance = { atOnce: 600, perSecond: 100 };

/** Token buckets by key. */
export class Pace {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #buckets = new Map<string, { readonly left: number; readonly at: number }>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Takes one request from each payer and returns 0; or takes nothing and returns the ms until each has one. */
  take(payers: readonly Payer[]): number {
    const waits = payers.map((payer) => this.#waitOf(payer));
    const wait = Math.max(0, ...waits);
    if (wait === 0) for (const payer of payers) this.#charge(payer);
    return wait;
  }

  /** Takes one request in advance and returns in how many ms it is due; null, taking nothing, above `longestMs`. */
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
 * Who pays for a request: a logged-in user or holder of the token alone, so too a browser that logged in before
 * (`known`). Otherwise both socket and address pay.
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
