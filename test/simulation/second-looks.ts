import type { BridgeEvent } from "../../src/greenhouse/events.js";
import { type Ask, type Post, type Result } from "../judge/history.js";
import { isPulse, provenBy, showsAll, stateAddresses, targetOf, travels } from "../judge/values.js";
import type { Bridge } from "./bridge.js";
import { Check } from "./judging.js";

/** Within this time after the travel time the bridge has looked again and reported it. */
const withinMs = 60_000;
/** How long it goes on while the platform cannot be read. */
const looksForMs = 600_000;

interface Due {
  readonly ask: Ask;
  readonly last: Post;
  readonly at: number;
  readonly id: string;
}

/** S16: a confirmed value that travels is read again, and a different value is reported. */
export class SecondLookChecks extends Check {
  /** Ids of commands whose value was reported as reverted. */
  readonly #told = new Set<unknown>();

  event({ type, facts }: BridgeEvent): void {
    if (type === "reverted") this.#told.add(facts?.["id"]);
  }

  result(bridge: Bridge, ask: Ask, result: Result): void {
    const { time } = this.world;
    const last = (ask.posts.length > 0 ? ask : ask.donor)?.posts.at(-1);
    if (result.outcome !== "confirmed" || ask.boot !== bridge.boot || ask.inherits || !last) return;
    if (ask.settings === null || ask.word === null || last.endedAt === null || last.boot !== bridge.boot)
      return;
    // A register that returns to idle is not read again, as it shows nothing of what was sent.
    if (isPulse(ask.readings, ask.settings)) return;
    if (!travels(ask.settings) || !stateAddresses(ask.settings).includes(last.address)) return;
    const at = last.endedAt + ask.settings.travelMs;
    // Its result may come later than the beginning of the confirming read.
    const { journalist } = this.world;
    const { address } = provenBy(ask, last);
    const confirming = journalist.readsSince(ask.code, address, last.endedAt).at(-1);
    if ((confirming?.begunAt ?? time.now) > at - 1_000) return;
    const due = { ask, last, at, id: result.id };
    this.world.in(at + withinMs - time.now, () => this.#check(bridge, due));
  }

  #check(bridge: Bridge, { ask, last, at, id }: Due): void {
    const { world } = this.book;
    const { settings, word } = ask;
    if (
      settings === null ||
      word === null ||
      world.journalist.postsTo(ask.code, ask.actuator).at(-1) !== last
    )
      return;
    if (world.bridge !== bridge || !bridge.clock.isAlive || bridge.isStopping) return;
    const { address } = provenBy(ask, last);
    // An unanswered look is repeated as long as the bridge goes on looking.
    const isUnanswered = world.journalist
      .readsOf(ask.code, address)
      .some(({ begunAt, raw }) => begunAt >= at - 1 && raw === null);
    if (isUnanswered && world.time.now < at + looksForMs) {
      world.in(withinMs, () => this.#check(bridge, { ask, last, at, id }));
      return;
    }
    const reads = world.journalist
      .readsSince(ask.code, address, at - 1)
      .filter(({ endedAt }) => endedAt !== null);
    if (reads.length === 0) {
      if (world.calmFrom <= at - settings.travelMs)
        this.broken("S16", `${ask.by} was confirmed, and nobody looked whether it held`);
      return;
    }
    this.saw("a confirmed value is looked at again");
    const target = provenBy(ask, targetOf(settings, word));
    const held = reads.filter(({ raw }) => showsAll(ask, target, raw));
    if (held.length === 0 && !this.#told.has(id))
      this.broken("S16", `${ask.by} was reverted to ${String(reads[0]?.raw)}, and nobody said so`);
    if (held.length === reads.length && this.#told.has(id))
      this.broken("S16", `${ask.by} is said to be reverted, and every read shows it`);
  }
}
