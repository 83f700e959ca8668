import { ignored } from "../runtime/failures.js";
import { randomUUID } from "node:crypto";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { targetOf, targetSent } from "../greenhouse/command/words.js";
import type { Journal } from "../journal/journal.js";
import type { JournaledResult } from "../journal/recent.js";
import type { CommandTaken, RecordBody } from "../journal/records.js";
import { sendable } from "../mqtt/connection/publish.js";
import type { LimitPorts } from "../limits/ports.js";
import { LimitService } from "../limits/service.js";
import type { FloodListener, IncomingMessage, PublishOptions, Surplus } from "../mqtt/connection/settings.js";
import { type Outbox, resultDelivery, resultOutbox } from "../mqtt/outbox.js";
import { type Incoming, incomingOn, type Topics } from "../mqtt/topics.js";
import { type Clock, every } from "../runtime/clock.js";
import type {
  Addressed,
  Command,
  CommandOutput,
  CommanderPorts,
  CommandRequest,
  Phase,
  ResultAddressee,
  Target,
} from "./command.js";
import { laneKey } from "./book.js";
import { Commander, type Recorded } from "./commander.js";
import { askedBy, unrecorded } from "./endings.js";
import { readOnlyBy } from "./lane-limits.js";
import { claimedId, isStop } from "./payload.js";
import { type CommandFacts, EarlierPhases, type PhaseTarget } from "./earlier-phases.js";

/** The allowance of targets that do not exist. */
const unknownTargets = "commands to targets that do not exist";
const marksEveryMs = 5_000;
const mostUnanswerable = 100;
/** So far back the journal is asked which commands there were. */
const recordedForMs = 12 * 3_600_000;

export interface CommandServiceParts
  extends
    Omit<CommanderPorts, "output" | "newId" | "limits">,
    Omit<
      LimitPorts,
      "clock" | "store" | "log" | "readOnly" | "run" | "book" | "journal" | "topics" | "retained"
    >,
    Recorded {
  readonly journal: Journal;
  readonly topics: Topics;
  readonly link: {
    publish(topic: string, payload: string, options: PublishOptions): Promise<void>;
  };
  /** The keeper of retained topics. */
  readonly retained: {
    wanted(topic: string, payload: string): void;
    forget(topic: string): void;
    /** Publishes what a controller has shown before anything else. */
    hasten(code: string, about?: Pick<PhaseTarget, "target" | "targetId">): void;
    showAgain(about: Target): void;
  };
}

/** Who is told what becomes of each command, within its path; a listener must not throw. */
export interface CommandListener {
  /** `isNewest`: it is the one that is shown for its target. */
  phase(command: Command, phase: Phase, isNewest: boolean): void;
  /** `isRefusal`: of a message that was not taken, though a command under the same id may be under way. */
  result(result: CommandResult, about: ResultAddressee, isRefusal: boolean): void;
}

/** Where commands come in from the broker and results go out to it. */
export class CommandService {
  readonly commander: Commander;
  readonly outbox: Outbox;
  readonly phases: CommandPhases;
  readonly limits: LimitService;
  /** To be shown what the broker held. */
  readonly earlier: EarlierPhases;
  /** Takes the messages on `.../set` topics. A part of its own, as it is asked first and the rest of this one is told of a link last. */
  readonly incoming: { onMessage(message: IncomingMessage): boolean; readonly flood: FloodListener };
  readonly #parts: CommandServiceParts;
  readonly #listeners: CommandListener[] = [];
  readonly receipts = new Receipts();
  /** Commands of which the journal knows, until the broker has shown what it held. */
  readonly #recorded = new Set<string>();
  readonly #marks = new DeliveryMarks();
  /** Topics whose retained command was answered on this connection. */
  readonly #retainedAnswered = new Set<string>();
  readonly #unanswerableTopics = new Set<string>();
  /** Results of others that the journal is taking. */
  #keeping = 0;
  #markedThrough = 0;
  #leavesMarks = false;

  constructor(parts: CommandServiceParts) {
    this.#parts = parts;
    this.incoming = { onMessage: this.#onMessage, flood: this.#flood() };
    const { topics, link, retained, clock, log, store } = parts;
    this.outbox = resultOutbox({ link, clock }, log);
    this.phases = new CommandPhases(topics.base, retained, store, clock);
    const onUnrecorded = parts.isOfCluster === true ? this.#onUnrecorded : undefined;
    this.earlier = new EarlierPhases(topics.base, this.phases, onUnrecorded);
    this.limits = new LimitService({
      ...parts,
      run: randomUUID(),
      readOnly: () => readOnlyBy(parts.rules()),
      book: () => this.commander,
    });
    this.commander = new Commander({
      ...parts,
      output: this.#output(),
      onRecorded: parts.isOfCluster === true ? this.#onRecorded : undefined,
      newId: randomUUID,
      limits: this.limits.engine,
    });
  }

  listen(listener: CommandListener): void {
    this.#listeners.push(listener);
  }

  onConnected(): void {
    // What a result tells is shown before it, also where both waited for the link.
    const { store, retained } = this.#parts;
    for (const controllerId of this.outbox.controllers) {
      const code = store.byId(controllerId)?.info.code;
      if (code !== undefined) retained.hasten(code);
    }
    this.outbox.onConnected();
  }

  /** Not when connected: the next link's retained commands come before that is known. */
  onDisconnected(): void {
    this.#retainedAnswered.clear();
    this.receipts.clear();
    this.outbox.onDisconnected();
  }

  readonly #onMessage = (message: IncomingMessage): boolean => {
    const { topics, rules } = this.#parts;
    const asked = incomingOn(topics, message.topic);
    if (asked?.type !== "command") return false;
    if (isAnswered(message, this.#retainedAnswered)) {
      message.acknowledge?.();
      return true;
    }
    const { response_topics: responseTopics } = rules();
    const command = incomingCommand(message, asked, { topics, responseTopics });
    const { responseTopic } = message.properties;
    if (responseTopic !== undefined && command.response === null) this.unanswerable(responseTopic);
    const { acknowledge } = message;
    if (acknowledge === undefined) this.commander.submit(command);
    else
      this.receipts.whenTaken(acknowledge, () => {
        const { id, isKnown = false } = this.commander.submit(command);
        return { key: receiptKey(command, id), isOpen: !isKnown };
      });
    return true;
  };

  /** Each target has its own allowance, and all that do not exist share one. */
  #flood(): FloodListener {
    const { topics, store, rules } = this.#parts;
    const targetOn = (topic: string) => {
      const asked = incomingOn(topics, topic);
      if (asked?.type !== "command") return null;
      const { controllerId, target, id: targetId } = asked;
      const controller = store.byId(controllerId);
      const code = controller?.info.code ?? controllerId;
      const about = { code, controllerId, target, targetId };
      return { about, settings: targetOf(controller, about, rules()) };
    };
    return {
      allowanceOf: (topic) => {
        const settings = targetOn(topic)?.settings;
        if (settings === undefined) return null;
        if ("reason" in settings) return { key: unknownTargets, isUrgent: null };
        return { key: topic, isUrgent: (payload) => isStop(payload, settings), idOf: claimedId };
      },
      onSurplus: ({ key, ...surplus }) => {
        const about = targetOn(key)?.about ?? null;
        if (about !== null || key === unknownTargets) this.onSurplus(about, surplus);
      },
    };
  }

  /** Commands of a flood that were only counted; `about`: null where nobody knows their target. */
  onSurplus(about: Addressed | null, { count, isUrgent, ids }: Omit<Surplus, "key">): void {
    const reason = isUrgent ? "before_sending" : "overloaded";
    this.commander.feed({ type: "surplus", about, id: randomUUID(), reason, count, ids });
    const facts = { controller: about?.controllerId, target: about?.targetId, count, reason };
    this.#parts.log.warn(
      facts,
      "commands of a flood were only counted: slow the sender down, or take the right to send from it",
    );
  }

  readonly #onRecorded = ({ controller, target = "actuator", actuator, id }: CommandTaken): void => {
    const controllerId = this.#parts.store.get(controller)?.info.id ?? controller;
    this.receipts.settle(receiptKey({ controllerId, target, targetId: actuator }, id));
  };

  /** An earlier owner of the account showed it on its way, and it never came into the journal, or not whole. */
  readonly #onUnrecorded = (about: PhaseTarget, command: CommandFacts, phase: unknown): void => {
    const { store, clock } = this.#parts;
    const { controllerId, target, targetId } = about;
    const code = store.byId(controllerId)?.info.code;
    const isOld = !(clock.now() - Date.parse(command.received_at) < recordedForMs);
    if (code === undefined || this.#leavesMarks || isOld) return;
    const of = { code, target, targetId };
    const { id } = command;
    if (this.#recorded.has(`${laneKey(of)} ${id}`) || this.commander.open.some((one) => one.id === id))
      return;
    const asked = { ...command, controller: controllerId, actuator: targetId };
    const ending = unrecorded(phase, command.command);
    this.commander.feedSoon({ type: "abandoned", one: { about: of, ownId: true, asked, ending } });
  };

  /** Said once a topic, and for no more topics than a log should name. */
  unanswerable(asked: string): void {
    const { log, topics } = this.#parts;
    const topic = asked.slice(0, 200);
    if (this.#unanswerableTopics.has(topic) || this.#unanswerableTopics.size >= mostUnanswerable) return;
    this.#unanswerableTopics.add(topic);
    log.warn(
      { topic },
      `a command asks for its answer on a topic where the bridge answers nobody: name one below ${topics.bridge.answers}/ of at most 512 bytes without wildcards, or allow its first levels in commands.response_topics; the result is on .../result`,
    );
  }

  /** A result of an earlier run that may never have arrived. */
  restoreResult({ seq, result, target, isTaken }: JournaledResult): void {
    const address = { controllerId: result.controller, target, targetId: result.actuator, response: null };
    const delivered = this.#marks.onSent(seq);
    this.outbox.restore(resultDelivery(this.#parts.topics, result, address, delivered));
    if (isTaken) this.endedBefore(address, result);
  }

  /** A command of an earlier run that may never have been shown to have ended. */
  endedBefore(about: PhaseTarget, command: CommandFacts): void {
    const target = targetSent(this.#parts.store.byId(about.controllerId), about);
    if (target !== null) this.earlier.onEnd(about, command);
  }

  /** What the broker shows of it is not the only trace of it. */
  isRecorded(about: Target, id: string): void {
    if (this.earlier.isLooking) this.#recorded.add(`${laneKey(about)} ${id}`);
  }

  /** A mark counts for everything before it, and so for results of earlier runs that this one could not read. */
  leaveDeliveryMarks(): void {
    this.#leavesMarks = true;
  }

  /**
   * Has the journal keep a result that another part tells; what it resolves with is called once that was delivered. It counts as told
   * with those of commands.
   */
  async keepResult(record: RecordBody, durable: boolean): Promise<() => void> {
    this.#keeping += 1;
    try {
      return this.deliveryOf(await this.#parts.journal.append(record, { durable }));
    } finally {
      this.#keeping -= 1;
    }
  }

  /** A result of this number in the journal goes out; what comes back is called once it was delivered. */
  deliveryOf(sequence: number): () => void {
    return this.#marks.onSent(sequence);
  }

  get #isTelling(): boolean {
    return this.commander.isTelling || this.#keeping > 0;
  }

  /** Notes now and then in the journal which results have arrived. */
  async run(signal: AbortSignal): Promise<void> {
    await every(marksEveryMs, this.#parts.clock, signal, () => {
      this.commander.journalAgain();
      this.#noteDelivered();
    });
    // Before anything that waits for a disk: what was told to end sends nothing more.
    this.commander.close();
    this.commander.journalAgain();
    await this.#lastOutcomes();
    this.#noteDelivered();
  }

  /** A POST in flight is let finish, and what ends now is told before the link does; for five seconds at most. */
  async #lastOutcomes(): Promise<void> {
    const { clock } = this.#parts;
    const until = clock.monotonic() + 5_000;
    while (this.commander.isBusy && clock.monotonic() < until) await clock.wait(50);
    // A slow disk may still hold outcomes back when the last POST was given up.
    while (this.#isTelling && clock.monotonic() < until + 2_000) await clock.wait(50);
  }

  #noteDelivered(): void {
    this.outbox.tick();
    // An outcome that the disk is still taking may have a lower number than one that arrived already.
    if (this.#isTelling) return;
    const { through } = this.#marks;
    if (this.#leavesMarks || through <= this.#markedThrough) return;
    this.#markedThrough = through;
    this.#parts.journal.append({ type: "delivered", through }, { durable: false }).catch(ignored);
  }

  #output(): CommandOutput {
    return {
      phase: (command, phase) => {
        const isNewest = this.phases.show(command, phase);
        for (const listener of this.#listeners) listener.phase(command, phase, isNewest);
      },
      result: (result, about, sequence, isRefusal) => {
        this.phases.publish();
        this.#parts.retained.hasten(about.code, about);
        for (const listener of this.#listeners) listener.result(result, about, isRefusal);
        if (this.#parts.isOfCluster === true) {
          this.receipts.settle(receiptKey(about, result.id));
          this.isRecorded(about, result.id);
        }
        const delivered = this.#marks.onSent(sequence);
        this.outbox.send(resultDelivery(this.#parts.topics, result, about, delivered));
        // A screen that showed the state that was asked for has to see the true one again.
        if (result.outcome !== "confirmed") this.#parts.retained.showAgain(about);
      },
      event: this.#parts.onEvent,
    };
  }
}

interface Shown {
  readonly command: Command;
  readonly phase: Phase;
}

/** A sender may name raw addresses without end, where they are allowed; everything else is in the configuration. */
const mostAddresses = 1_000;

/** Keeps `.../command` at the newest command of each target and its phase, and shows nothing more of older ones. */
export class CommandPhases {
  readonly #base: string;
  readonly #retained: Pick<CommandServiceParts["retained"], "wanted" | "forget">;
  /** The topics of a controller that was removed must not come back. */
  readonly #store: { byId(controllerId: string): unknown };
  readonly #clock: Pick<Clock, "soon">;
  readonly #newest = new Map<string, Command>();
  readonly #overtaken = new WeakSet<Command>();
  /** Not yet published, oldest first. */
  #waiting: Shown[] = [];
  /** Topics of raw addresses, longest unused first. */
  readonly #addresses = new Set<string>();

  constructor(
    base: string,
    retained: Pick<CommandServiceParts["retained"], "wanted" | "forget">,
    store: { byId(controllerId: string): unknown },
    clock: Pick<Clock, "soon">,
  ) {
    this.#base = base;
    this.#retained = retained;
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Whether it is the one that is shown for its target. Published a moment later: telling of a command must not hold up its next
   * request.
   */
  show(command: Command, phase: Phase): boolean {
    // It had been passed over for a newer one that was refused, and now has its turn after all.
    if (phase === "checking") this.#overtaken.delete(command);
    if (this.#overtaken.has(command)) return false;
    const topic = this.topicOf(command);
    const before = this.#newest.get(topic);
    if (before !== undefined && before !== command) this.#overtaken.add(before);
    this.#newest.set(topic, command);
    this.#waiting.push({ command, phase });
    if (this.#waiting.length === 1) this.#clock.soon(this.publish);
    return true;
  }

  /** A command of an earlier run after which a newer one had been shown already. */
  overtaken(command: Command): void {
    this.#overtaken.add(command);
  }

  /** The end of an earlier run's command; of no weight once this run has shown one for the target. */
  endedBefore(about: PhaseTarget, command: CommandFacts): void {
    if (!this.#newest.has(this.topicOf(about))) this.#send(about, command, "done");
  }

  readonly publish = (): void => {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { command, phase } of waiting) this.#send(command, askedBy(command), phase);
  };

  topicOf({ controllerId, target, targetId }: PhaseTarget): string {
    return `${this.#base}/${controllerId}/${target}/${targetId}/command`;
  }

  #send(about: PhaseTarget, facts: CommandFacts, phase: Phase): void {
    const topic = this.topicOf(about);
    if (this.#store.byId(about.controllerId) === undefined) {
      this.#newest.delete(topic);
      return;
    }
    const { id, command, value, by, via, received_at } = facts;
    this.#retained.wanted(topic, JSON.stringify({ id, command, value, phase, by, via, received_at }));
    if (about.target === "address") this.#boundAddresses(topic);
  }

  #boundAddresses(topic: string): void {
    this.#addresses.delete(topic);
    this.#addresses.add(topic);
    const [oldest] = this.#addresses;
    if (oldest === undefined || this.#addresses.size <= mostAddresses) return;
    this.#newest.delete(oldest);
    this.#addresses.delete(oldest);
    this.#retained.forget(oldest);
  }
}

/*
 * What the broker is still to be told of commands that it gave us. Until it is told it gives them to whoever connects next, so a command
 * is acknowledged once the journal has it or its result was told: one that neither holds of is another member's to end.
 */

/** By what it is for and its id, as senders may use one id for several targets. */
const receiptKey = ({ controllerId, target, targetId }: PhaseTarget, id: string): string =>
  `${controllerId} ${target} ${targetId} ${id}`;

/** A broker gives a client only so many messages at a time (Mosquitto 20), and a stop must not wait for a place among them. */
const mostOwed = 12;

type Acknowledge = () => void;

export class Receipts {
  readonly #owed = new Map<string, Acknowledge[]>();
  /** Keys that are settled while their command is handed over. */
  #told: Set<string> | null = null;

  /** Hands over a command; `take` returns the key that it goes by, and whether anything is still to come of it. */
  whenTaken(acknowledge: Acknowledge, take: () => { readonly key: string; readonly isOpen: boolean }): void {
    const told = new Set<string>();
    this.#told = told;
    const { key, isOpen } = take();
    this.#told = null;
    if (told.has(key) || !(isOpen || this.#owed.has(key))) {
      acknowledge();
      return;
    }
    this.#owed.set(key, [...(this.#owed.get(key) ?? []), acknowledge]);
    const waiting = [...this.#owed].filter(([, owed]) => owed.length > 0);
    const [oldest] = waiting;
    if (waiting.length > mostOwed && oldest !== undefined) this.settle(oldest[0]);
  }

  /** The journal has it, or its result was told. */
  settle(key: string): void {
    this.#told?.add(key);
    const owed = this.#owed.get(key) ?? [];
    this.#owed.delete(key);
    for (const acknowledge of owed) acknowledge();
  }

  /** The link is gone: the broker gives all of them again, and is told no sooner then. */
  clear(): void {
    for (const key of this.#owed.keys()) this.#owed.set(key, []);
  }
}

/** Which journaled results the broker has taken: everything up to `through` needs no repeating after a restart. */
class DeliveryMarks {
  readonly #open = new Set<number>();
  #last = 0;

  /** A result goes out; what comes back is called once it was delivered. One that is not in the journal needs no mark. */
  onSent(sequence: number | null): () => void {
    if (sequence === null) return () => undefined;
    this.#open.add(sequence);
    this.#last = Math.max(this.#last, sequence);
    return () => this.#open.delete(sequence);
  }

  /** The newest number below which nothing is open; 0 while nothing was delivered. */
  get through(): number {
    return this.#open.size === 0 ? this.#last : Math.min(...this.#open) - 1;
  }
}

/** Where answers may go that a command asks for. */
interface AnswerRules {
  readonly topics: Topics;
  /** Further first levels, as configured. */
  readonly responseTopics: readonly string[];
}

/** Whether a retained message needs no answer: each topic gets one a connection, and an empty one clears it, as the answer asks. */
export function isAnswered({ retain, payload, topic }: IncomingMessage, answered: Set<string>): boolean {
  if (!retain) return false;
  if (payload.length === 0 || answered.has(topic)) return true;
  answered.add(topic);
  return false;
}

/** What a message on a `.../set` topic says. */
export function incomingCommand(
  message: IncomingMessage,
  where: Extract<Incoming, { type: "command" }>,
  rules: AnswerRules,
): CommandRequest {
  const {
    by = null,
    via = null,
    messageExpiryIntervalS,
    responseTopic,
    correlationData,
  } = message.properties;
  return {
    controllerId: where.controllerId,
    target: where.target,
    targetId: where.id,
    payload: message.payload,
    retained: message.retain,
    ageMs: message.ageMs,
    isKept: message.isKept === true,
    expiryMs: messageExpiryIntervalS === undefined ? null : messageExpiryIntervalS * 1_000,
    by,
    via,
    response:
      responseTopic === undefined || !mayAnswerTo(responseTopic, rules)
        ? null
        : { topic: responseTopic, correlationData: correlationData ?? null },
  };
}

const noLimits = { maxPayloadBytes: Infinity, facts: null };

/** The bridge may publish where its senders may not, so an answer goes only where answers are meant to go. */
const mayAnswerTo = (topic: string, { topics, responseTopics }: AnswerRules) =>
  typeof sendable(topic, "", {}, noLimits) === "object" &&
  [topics.bridge.answers, ...responseTopics].some(
    (root) => topic.length > root.length + 1 && topic.startsWith(`${root}/`),
  );
