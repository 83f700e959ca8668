import { type KindRow, kindRows } from "../../src/greenhouse/actuator-kinds.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import { modeAddress, positionAddress, stateAddresses } from "../../src/greenhouse/fold-registers.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import type { Bridge } from "./bridge.js";
import { type Ask, doneAt, type Write } from "./history.js";
import {
  Check,
  isDegree,
  isModeStep,
  isTaken,
  laneOf,
  positionMode,
  provesMode,
  sameAs,
  shows,
  showsSending,
} from "./judging.js";
import { targetOf } from "./messages.js";

const ambiguous = new Set(["timeout", "interrupted", "server", "protocol", "throttled", "unauthorized"]);
const secondPostMs = 5_000;
const modeProofMs = 30_000;
const samePayloadMs = 2_000;
const stopDistanceMs = 2_000;

interface Posting {
  readonly ask: Ask;
  readonly settings: ActuatorSettings;
  readonly write: Write;
  /** For the message of a violation. */
  readonly what: string;
}

/** Judges every POST at its beginning, and again when its bytes leave. */
export class PostChecks extends Check {
  posting(bridge: Bridge, write: Write): void {
    const { ask } = write;
    const what = `${write.code}/${write.address}=${write.value} by ${ask?.by ?? "nobody"}`;
    if (ask === null || ask.settings === null) {
      this.broken("S4", `a POST without a command: ${what}`);
      return;
    }
    const post = { ask, settings: ask.settings, write, what };
    this.#checkRight(bridge, post);
    this.#checkIdentity(post);
    this.#checkOrder(post);
    this.#checkValue(post);
    if (ask.writes.length === 0) this.#checkSeenBefore(post);
    this.#checkMode(post);
    this.#checkLight(post);
    this.#checkSecond(post);
    this.book.lastPosted.set(laneOf(ask), write);
  }

  /** The bytes of a POST go out. */
  leaving(write: Write): void {
    const { disk, time } = this.world;
    const by = write.ask?.by ?? "";
    if (disk.durable.has(`command_taken ${by}`)) return;
    if (write.ask?.word === "stop") this.saw("a stop without the journal");
    else if (write.ask?.rule !== null && write.ask?.rule !== undefined)
      this.saw("what a rule sends without the journal");
    else this.broken("S5", `a POST of ${by} leaves before its record is on disk at ${time.now}`);
  }

  #checkRight(bridge: Bridge, { ask, what }: Posting): void {
    const { now } = this.world.time;
    const broken = (invariant: string, message: string) => this.broken(invariant, `${message}: ${what}`);
    if (bridge.boot !== ask.boot) broken("S4", "POST for a command of before the restart");
    if (ask.mustNotPost !== null) broken("S4", `POST for a command that is ${ask.mustNotPost}`);
    if (ask.results.length > 0) broken("S4", "POST after the command's result");
    if (bridge.isStopping && ask.writes.length === 0) broken("S12", "a first POST after SIGTERM");
    if (now > ask.latestPostAt + 1) broken("S6", `POST ${Math.round(now - ask.latestPostAt)} ms too late`);
  }

  #checkIdentity({ ask, what }: Posting): void {
    const { repeatOf, ownId } = ask;
    const lane = this.world.journalist.lane(ask.code, ask.actuator);
    // Somebody who presses stop again gets another one, and no broker tells that from a message that came twice.
    const isStopAgain = ask.word === "stop" && ownId === null;
    if (repeatOf !== null && !isStopAgain && repeatOf.writes.length > 0 && repeatOf.boot === ask.boot) {
      // Long after its end, or with another command in between, the same payload is a new wish.
      const isBetween = (one: Ask) =>
        one !== ask && one !== repeatOf && one.at >= repeatOf.at && one.at <= ask.at;
      const isOver = ask.at - (doneAt(repeatOf) ?? Infinity) > samePayloadMs;
      if (ownId !== null || (!isOver && !lane.some(isBetween)))
        this.broken("S4", `POST for a message that came twice: ${what}`);
    }
    if (ownId === null) return;
    for (const one of lane)
      if (one !== ask && one.ownId === ownId && one.writes.length > 0)
        this.broken("S4", `POST for the id ${ownId} that ${one.by} had used: ${what}`);
  }

  #checkOrder({ ask, settings, write, what }: Posting): void {
    const { time } = this.world;
    const lane = laneOf(ask);
    const newest = this.book.lastPosted.get(lane);
    if (newest?.endedAt === null && newest.boot === write.boot)
      this.broken("S11", `a POST while another to the same actuator is under way: ${what}`);
    const last = newest?.ask ?? null;
    if (last !== null && last !== ask && ask.writes.length > 0)
      this.broken("S11", `sequences of one actuator mix: ${what} after a POST of ${last.by}`);
    const stop = this.world.journalist
      .lane(ask.code, ask.actuator)
      .findLast(
        (one) =>
          one.word === "stop" && isTaken(one) && !one.dryRun && one.boot === ask.boot && one.at < time.now,
      );
    if (stop !== undefined && stop.at > ask.at && ask.word !== "stop")
      this.broken("S11", `a POST after the stop ${stop.by}: ${what}`);
    if (ask.word === "stop") this.#checkStopDistance(lane, write, what);
    if (ask.writes.length > 0) return;
    const first = this.book.firstPost.get(lane);
    const sinceMs = first?.boot === write.boot ? time.now - first.begunAt : Infinity;
    const { minIntervalMs } = settings;
    if (ask.word !== "stop" && sinceMs < minIntervalMs - 1)
      this.broken(
        "S11",
        `${Math.round(sinceMs)} ms after the last command, min_interval is ${minIntervalMs}: ${what}`,
      );
    this.book.firstPost.set(lane, write);
  }

  #checkStopDistance(lane: string, write: Write, what: string): void {
    const { boot, begunAt } = write;
    const last = this.book.lastStop.get(lane);
    this.book.lastStop.set(lane, write);
    // Without a credential at hand nothing was sent: that was no POST.
    if (last?.boot !== boot || (last.outcome === "unauthorized" && !last.sent)) return;
    if (begunAt - last.begunAt < stopDistanceMs - 1)
      this.broken("S11", `${Math.round(begunAt - last.begunAt)} ms after another stop: ${what}`);
    else if (begunAt - last.begunAt < stopDistanceMs + 1)
      this.saw("a stop waits for its distance from the last");
  }

  #checkValue({ ask, settings, write, what }: Posting): void {
    const { word } = ask;
    if (word === null) return;
    const target = targetOf(settings, word);
    if (write.address === target.address && write.value === target.value) return;
    const isMode = write.value === positionMode && write.address === modeAddress(settings) && isDegree(word);
    const isLeadIn =
      settings.kind === "light" && write.value === "1010" && settings.leadIn !== "never" && word !== "on";
    if (!isMode && !isLeadIn) this.broken("S14", `a value nobody asked for: ${what}, asked was ${word}`);
  }

  /** Before the first POST: the controller online and a fresh value. */
  #checkSeenBefore({ ask, settings, what }: Posting): void {
    if (ask.word === "stop") return;
    const { journalist } = this.world;
    // Another actuator's command may have asked for the controller since, and have been told otherwise.
    const wasOnline = journalist.readsSince(ask.code, "", ask.at).some(({ raw }) => raw === "online");
    if (!wasOnline) this.broken("S12", `POST although the controller was not seen online: ${what}`);
    const isFresh = stateAddresses(settings).some(
      (address) => journalist.readsSince(ask.code, address, ask.at).length > 0,
    );
    if (!isFresh && !ask.force) this.broken("S12", `POST without a fresh read before: ${what}`);
  }

  #checkMode({ ask, settings, write, what }: Posting): void {
    const row: KindRow = kindRows[settings.kind];
    const isDegreeSent =
      row.positionMode !== null && isDegree(write.value) && write.address === positionAddress(settings);
    if (!isDegreeSent) return;
    const { lastStallAt, time } = this.world;
    const mode = ask.writes.findLast(
      (one) => one.value === positionMode && one.address === modeAddress(settings),
    );
    if (mode === undefined || mode.endedAt === null) {
      this.broken("S2", `a degree without mode 10100 before it: ${what}`);
      return;
    }
    const proof = this.world.journalist
      .readsSince(ask.code, mode.address, mode.endedAt)
      .find(({ raw }) => provesMode(settings, raw));
    const stalledMs = time.now - lastStallAt < 90_000 ? 30_000 : 0;
    if (proof === undefined) this.broken("S2", `a degree although mode 10100 was not read back: ${what}`);
    else if (proof.begunAt > mode.endedAt + modeProofMs + 1 + stalledMs)
      this.broken("S2", `mode 10100 was proven too late: ${what}`);
  }

  #checkLight({ ask, settings, write, what }: Posting): void {
    const needsLight =
      settings.kind === "light" &&
      settings.leadIn !== "never" &&
      ask.word !== "on" &&
      ask.word !== "stop" &&
      write.value !== "1010" &&
      !ask.force;
    if (!needsLight) return;
    const wasLit = this.world.journalist
      .readsSince(ask.code, settings.address, ask.at)
      .some(({ raw }) => sameAs("1010", raw));
    if (!wasLit) this.broken("S2", `a light's value although 1010 was not read back: ${what}`);
  }

  #checkSecond({ ask, settings, write, what }: Posting): void {
    const { journalist } = this.world;
    // Without a credential at hand nothing was sent: that was no POST.
    const earlier = ask.writes.filter(
      ({ address, value, outcome, sent }) =>
        address === write.address && value === write.value && (sent || outcome !== "unauthorized"),
    );
    const [first] = earlier;
    if (first === undefined || first.endedAt === null) return;
    this.saw("a second POST");
    if (earlier.length > 1) this.broken("S1", `POST number ${earlier.length + 1}: ${what}`);
    const { outcome, bodyCode, sent } = first;
    const isUnauthorized = outcome === "unauthorized";
    const isAmbiguous = ambiguous.has(outcome ?? "") && (bodyCode === null || isUnauthorized);
    if (!isAmbiguous || !sent)
      this.broken("S1", `a second POST after ${outcome ?? "nothing"} (code ${bodyCode ?? "none"}): ${what}`);
    const sinceMs = write.begunAt - first.endedAt;
    if (sinceMs < secondPostMs - 1)
      this.broken("S1", `a second POST after ${Math.round(sinceMs)} ms: ${what}`);
    // After a refused credential nothing was taken: what the register shows is older, and a stop asks for no read.
    if (isUnauthorized && ask.word === "stop") return;
    const isWanted = ask.word !== null && write.value === targetOf(settings, ask.word).value;
    if (isUnauthorized && (ask.force || !isWanted)) return;
    const last = journalist.readsSince(ask.code, write.address, first.endedAt).at(-1);
    if (last === undefined) this.broken("S1", `a second POST without a read before it: ${what}`);
    else if (shows(ask, write, last.raw))
      this.broken("S1", `a second POST although the read showed the value: ${what}`);
  }
}

/** Within this after the travel time the bridge has looked again, and said what it saw. */
const withinMs = 60_000;

interface Due {
  readonly ask: Ask;
  readonly last: Write;
  readonly at: number;
  readonly id: string;
}

/** S16: what was confirmed and travels is read once more, and something else there is told. */
export class SecondLookChecks extends Check {
  /** Ids of commands whose value was said to be reverted. */
  readonly #told = new Set<unknown>();

  event({ type, facts }: BridgeEvent): void {
    if (type === "reverted") this.#told.add(facts?.["id"]);
  }

  result(bridge: Bridge, ask: Ask, result: CommandResult): void {
    const { time } = this.world;
    const last = (ask.writes.length > 0 ? ask : ask.donor)?.writes.at(-1);
    if (result.outcome !== "confirmed" || ask.boot !== bridge.boot || ask.inherits || !last) return;
    if (ask.settings === null || ask.word === null || last.endedAt === null || last.boot !== bridge.boot)
      return;
    const row: KindRow = kindRows[ask.settings.kind];
    const travels = row.positionMode !== null || ask.settings.kind === "motor";
    if (!travels || !stateAddresses(ask.settings).includes(last.address)) return;
    const at = last.endedAt + ask.settings.travelMs;
    if ((doneAt(ask) ?? time.now) > at - 1_000) return;
    const due = { ask, last, at, id: result.id };
    this.world.in(at + withinMs - time.now, () => this.#check(bridge, due));
  }

  #check(bridge: Bridge, { ask, last, at, id }: Due): void {
    const { world } = this.book;
    const { settings, word } = ask;
    if (settings === null || word === null || this.book.lastPosted.get(laneOf(ask)) !== last) return;
    if (world.bridge !== bridge || !bridge.clock.isAlive || bridge.isStopping) return;
    const reads = world.journalist
      .readsSince(ask.code, last.address, at - 1)
      .filter(({ endedAt }) => endedAt !== null);
    if (reads.length === 0) {
      if (world.calmFrom <= at - settings.travelMs)
        this.broken("S16", `${ask.by} was confirmed, and nobody looked whether it held`);
      return;
    }
    this.saw("a confirmed value is looked at again");
    const target = targetOf(settings, word);
    const held = reads.filter(({ raw }) => shows(ask, target, raw) || showsSending(ask, target, raw));
    if (held.length === 0 && !this.#told.has(id))
      this.broken("S16", `${ask.by} was reverted to ${String(reads[0]?.raw)}, and nobody said so`);
    if (held.length === reads.length && this.#told.has(id))
      this.broken("S16", `${ask.by} is said to be reverted, and every read shows it`);
  }
}

/** Notes what a crash interrupts: each window of the path has to be met by one. */
export class CrashWindows extends Check {
  crashing(bridge: Bridge, isPowerCut: boolean): void {
    const { journalist } = this.world;
    const asks = [...journalist.asks.values()];
    // It takes what an earlier crash of the program alone had left.
    if (isPowerCut) this.book.survived.clear();
    const open = asks.filter(
      ({ boot, results, phases }) => boot === bridge.boot && results.length === 0 && phases.length > 0,
    );
    for (const ask of open) {
      this.saw(`a crash ${this.#window(ask)}`);
      if (!isPowerCut && this.#isAnswerKept(ask)) this.book.survived.add(ask.by);
      if (this.#isForgotten(ask))
        this.broken("S7", `${ask.by} took over read-backs and the journal does not know it`);
      if (this.#isUnknown(ask)) this.broken("S7", `${ask.by} was taken and the journal does not know it`);
    }
    if (open.length === 0) this.saw("a crash with nothing open");
    if (isPowerCut) this.saw("a power cut");
    if (bridge.isStopping) this.saw("a crash while stopping");
    if (bridge.isStarting) this.saw("a crash while starting");
    if (asks.some(({ results, delivered }) => results.some(({ boot }) => boot === bridge.boot) && !delivered))
      this.saw("a crash before a result was delivered");
    const isRecovering = ({ phases, boot, results }: Ask) =>
      boot !== bridge.boot && results.length === 0 && phases.at(-1)?.boot === bridge.boot;
    if (asks.some(isRecovering)) this.saw("a crash while recovering from the last");
    this.book.senders.clear();
  }

  #window(ask: Ask): string {
    const phase = ask.phases.at(-1)?.phase ?? "";
    const last = ask.writes.at(-1);
    if (phase === "waiting") return "while waiting";
    if (last === undefined) {
      const isTaken = this.world.disk.durable.has(`command_taken ${ask.by}`);
      return isTaken ? "while checking, journaled" : "while checking, not journaled";
    }
    const step = isModeStep(ask, last) ? "the mode" : "the value";
    if (last.endedAt === null) return isSecond(ask, last) ? "while posting again" : `while posting ${step}`;
    if (last.outcome !== "accepted") return "after a POST that may have been lost";
    const reads = this.world.journalist.readsSince(ask.code, last.address, last.endedAt);
    return reads.length === 0 ? `while ${step} settles` : `while ${step} is read back`;
  }

  /** Whoever takes over read-backs has no POST that would need its record first, yet the next start must know it. */
  #isForgotten({ by, donor, phases }: Ask): boolean {
    const last = phases.at(-1);
    if (donor === null || last?.phase !== "confirming") return false;
    const isExcused = this.#isDiskExcused(last.at);
    if (!isExcused) this.saw("a crash while an heir waits for read-backs");
    return !isExcused && !this.#isInJournal("took_over", by);
  }

  /** A command that was taken has to be ended by the next start, whatever became of it so far. */
  #isUnknown({ by, boot, phases }: Ask): boolean {
    const taken = phases.find((phase) => phase.boot === boot);
    return taken !== undefined && !this.#isDiskExcused(taken.at) && !this.#isInJournal("command_taken", by);
  }

  #isInJournal(record: string, by: string): boolean {
    const { disk } = this.world;
    return disk.written.has(`${record} ${by}`) || disk.durable.has(`${record} ${by}`);
  }

  /** What was to be written at this instant may be missing now. */
  #isDiskExcused(at: number): boolean {
    const { disk, lastDiskTroubleAt, lastStallAt, scenario, time } = this.world;
    const isTooSoon = time.now - at < 2_000 || lastStallAt > at - 30_000;
    return isTooSoon || disk.full || scenario.syncFailure > 0 || lastDiskTroubleAt > at - 60_000;
  }

  /** The answer to its last POST was written long enough ago to outlive the program, if not the machine. */
  #isAnswerKept({ writes }: Ask): boolean {
    const { disk, lastDiskTroubleAt, scenario, time } = this.world;
    const last = writes.at(-1);
    if (last === undefined || last.endedAt === null || last.endedAt >= time.now - 1) return false;
    return !disk.full && scenario.syncFailure === 0 && lastDiskTroubleAt < last.begunAt - 30_000;
  }
}

const isSecond = (ask: Ask, write: Write): boolean =>
  ask.writes.some((one) => one !== write && one.address === write.address && one.value === write.value);
