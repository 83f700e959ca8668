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

/** The shared allowance of targets that do not exist. */
const unknownTargets = "commands to targets that do not exist";
const marksEveryMs = 5_000;
/** A little more than the shortest time between two tries of a journal that failed. */
const journalTriedEveryMs = 1_100;
const mostUnanswerable = 100;
/** How far back the journal is searched for commands. */
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
  /** Keeps retained topics. */
  readonly retained: {
    wanted(topic: string, payload: string): void;
    forget(topic: string): void;
    /** Publishes what a controller shows before anything else. */
    hasten(code: string, about?: Pick<PhaseTarget, "target" | "targetId">): void;
    showAgain(about: Target): void;
  };
}

/** Hears of the life of each command, within its path; a listener must not throw. */
export interface CommandListener {
  /** `isNewest`: whether it is the one shown for its target. */
  phase(command: Command, phase: Phase, isNewest: boolean): void;
  /** `isRefusal`: for a message that was not accepted; a command under the same id may be open. */
  result(result: CommandResult, about: ResultAddressee, isRefusal: boolean): void;
}

/** Takes commands from the broker and publishes their results. */
export class CommandService {
  readonly commander: Commander;
  readonly outbox: Outbox;
  readonly phases: CommandPhases;
  readonly limits: LimitService;
  /** Has to be shown what the broker held. */
  readonly earlier: EarlierPhases;
  /** Takes messages on `.../set` topics. A part of its own: it is asked first, while the rest hears of a link last. */
  readonly incoming: { onMessage(message: IncomingMessage): boolean; readonly flood: FloodListener };
  readonly #parts: CommandServiceParts;
  readonly #listeners: CommandListener[] = [];
  readonly receipts = new Receipts();
  /** Commands in the journal, until the broker has shown what it held. */
  readonly #recorded = new Set<string>();
  readonly #marks = new DeliveryMarks();
  /** Topics whose retained command was answered on this connection. */
  readonly #retainedAnswered = new Set<string>();
  readonly #unanswerableTopics = new Set<string>();
  /** The number of other parts' results that the journal is writing. */
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
    // What a result reports is published before it, also where both waited for the link.
    const { store, retained } = this.#parts;
    for (const controllerId of this.outbox.controllers) {
      const code = store.byId(controllerId)?.info.code;
      if (code !== undefined) retained.hasten(code);
    }
    this.outbox.onConnected();
  }

  /** Not in onConnected: the next link's retained commands come before that call. */
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

  /** Each target has its own allowance; all that do not exist share one. */
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

  /** Takes commands of a flood that were only counted; `about` is null if their target is unknown. */
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

  /**
   * Ends a command that an earlier owner of the account showed as open, and that the journal does not have completely.
   */
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

  /** Warns once for each topic, up to a maximum of topics. */
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

  /** Sends a result of an earlier run that may never have arrived. */
  restoreResult({ seq, result, target, isTaken }: JournaledResult): void {
    const address = { controllerId: result.controller, target, targetId: result.actuator, response: null };
    const delivered = this.#marks.onSent(seq);
    this.outbox.restore(resultDelivery(this.#parts.topics, result, address, delivered));
    if (isTaken) this.endedBefore(address, result);
  }

  /** Notes a command of an earlier run that may never have been shown as ended. */
  endedBefore(about: PhaseTarget, command: CommandFacts): void {
    const target = targetSent(this.#parts.store.byId(about.controllerId), about);
    if (target !== null) this.earlier.onEnd(about, command);
  }

  /** Notes that the journal has this command, so it is no unrecorded one. */
  isRecorded(about: Target, id: string): void {
    if (this.earlier.isLooking) this.#recorded.add(`${laneKey(about)} ${id}`);
  }

  /**
   * Stops delivery marks: a mark covers everything before it, and so also results of earlier runs that were unreadable.
   */
  leaveDeliveryMarks(): void {
    this.#leavesMarks = true;
  }

  /**
   * Journals a result that another part publishes. Resolves to a function to call once it was delivered. It counts for
   * delivery marks like the results of commands.
   */
  async keepResult(record: RecordBody, durable: boolean): Promise<() => void> {
    this.#keeping += 1;
    try {
      return this.deliveryOf(await this.#parts.journal.append(record, { durable }));
    } finally {
      this.#keeping -= 1;
    }
  }

  /** Notes that a result with this journal number is sent; call the returned function once it was delivered. */
  deliveryOf(sequence: number): () => void {
    return this.#marks.onSent(sequence);
  }

  get #isTelling(): boolean {
    return this.commander.isTelling || this.#keeping > 0;
  }

  /** Records at intervals in the journal which results have arrived. */
  async run(signal: AbortSignal): Promise<void> {
    await every(marksEveryMs, this.#parts.clock, signal, () => {
      this.commander.journalAgain();
      this.#noteDelivered();
    });
    // Before anything that waits for a disk, so that nothing more is sent.
    this.commander.close();
    this.commander.journalAgain({ isLast: true });
    await this.#lastOutcomes();
    await this.#lastRecords();
    this.#noteDelivered();
  }

  /** A POST in flight may finish, and results are published before the link ends; for five seconds at most. */
  async #lastOutcomes(): Promise<void> {
    const { clock } = this.#parts;
    const until = clock.monotonic() + 5_000;
    while (this.commander.isBusy && clock.monotonic() < until) await clock.wait(50);
    // A slow disk may still hold results back after the last POST was abandoned.
    while (this.#isTelling && clock.monotonic() < until + 2_000) await clock.wait(50);
  }

  /** Tries once more to write what the journal could not, and ends here what it cannot write even then. */
  async #lastRecords(): Promise<void> {
    const { clock } = this.#parts;
    if (!this.commander.lacksRecords) return;
    await clock.wait(journalTriedEveryMs);
    this.commander.journalAgain({ isLast: true });
    await clock.wait(50);
    this.commander.giveUp();
    const until = clock.monotonic() + 2_000;
    while (this.#isTelling && clock.monotonic() < until) await clock.wait(50);
  }

  #noteDelivered(): void {
    this.outbox.tick();
    // A result that the disk is still writing may have a lower number than one that arrived already.
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
        // A screen that showed the requested state has to see the true one again.
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

/** The most raw addresses whose topics are kept, as senders may name any; everything else is configured. */
const mostAddresses = 1_000;

/** Keeps `.../command` at each target's newest command and its phase; older commands are no longer shown. */
export class CommandPhases {
  readonly #base: string;
  readonly #retained: Pick<CommandServiceParts["retained"], "wanted" | "forget">;
  /** The topics of a removed controller must not come back. */
  readonly #store: { byId(controllerId: string): unknown };
  readonly #clock: Pick<Clock, "soon">;
  readonly #newest = new Map<string, Command>();
  readonly #overtaken = new WeakSet<Command>();
  /** Phases not published yet, oldest first. */
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
   * Returns whether it is the command shown for its target. It is published a moment later, so as not to delay the
   * command's next request.
   */
  show(command: Command, phase: Phase): boolean {
    // It was passed over for a newer one that was refused, and now has its turn after all.
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

  /** Notes that a newer command was shown after this one of an earlier run. */
  overtaken(command: Command): void {
    this.#overtaken.add(command);
  }

  /** Shows the end of an earlier run's command, unless this run has shown one for the target. */
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
 * Acknowledgements owed to the broker, which otherwise gives the commands to whichever member connects next. A command
 * is acknowledged once the journal has it or its result was published; a command with neither is left for another
 * member to end.
 */

/** By target and id, as senders may use one id for several targets. */
const receiptKey = ({ controllerId, target, targetId }: PhaseTarget, id: string): string =>
  `${controllerId} ${target} ${targetId} ${id}`;

/** A broker sends a client only so many messages at once (Mosquitto 20), and a stop must not wait for a place. */
const mostOwed = 12;

type Acknowledge = () => void;

export class Receipts {
  readonly #owed = new Map<string, Acknowledge[]>();
  /** Keys settled while their command is being taken. */
  #told: Set<string> | null = null;

  /** Takes a command; `take` returns its key, and whether anything is still to come of it. */
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

  /** The journal has it, or its result was published. */
  settle(key: string): void {
    this.#told?.add(key);
    const owed = this.#owed.get(key) ?? [];
    this.#owed.delete(key);
    for (const acknowledge of owed) acknowledge();
  }

  /** The link is gone: the broker will send all of them again, and each still waits for `settle`. */
  clear(): void {
    for (const key of this.#owed.keys()) this.#owed.set(key, []);
  }
}

/** Which journaled results the broker has: everything up to `through` needs no repetition after a restart. */
class DeliveryMarks {
  readonly #open = new Set<number>();
  #last = 0;

  /** Notes a result that is sent; call the returned function once delivered. One not journaled needs no mark. */
  onSent(sequence: number | null): () => void {
    if (sequence === null) return () => undefined;
    this.#open.add(sequence);
    this.#last = Math.max(this.#last, sequence);
    return () => this.#open.delete(sequence);
  }

  /** The number up to which everything is delivered; 0 for nothing. */
  get through(): number {
    return this.#open.size === 0 ? this.#last : Math.min(...this.#open) - 1;
  }
}

/** The topics on which answers to commands may go. */
interface AnswerRules {
  readonly topics: Topics;
  /** Further first levels, as configured. */
  readonly responseTopics: readonly string[];
}

/** Whether a retained message needs no answer: each topic gets one per connection, and an empty message clears it. */
export function isAnswered({ retain, payload, topic }: IncomingMessage, answered: Set<string>): boolean {
  if (!retain) return false;
  if (payload.length === 0 || answered.has(topic)) return true;
  answered.add(topic);
  return false;
}

/** The request in a message on a `.../set` topic. */
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

/** The bridge may publish where its senders may not, so an answer goes only to topics for answers. */
const mayAnswerTo = (topic: string, { topics, responseTopics }: AnswerRules) =>
  typeof sendable(topic, "", {}, noLimits) === "object" &&
  [topics.bridge.answers, ...responseTopics].some(
    (root) => topic.length > root.length + 1 && topic.startsWith(`${root}/`),
  );
