import { ignored } from "../runtime/failures.js";
import { targetOf } from "../greenhouse/command/words.js";
import type { Actuator, CommandProblem, Controller, Register } from "../greenhouse/model.js";
import type { RuleCommand } from "../limits/ports.js";
import type { Entry } from "../limits/rules/entry.js";
import type { LimitContext } from "../limits/rules/guards.js";
import { clockAgrees } from "../runtime/clock.js";
import { at, entries } from "../runtime/table.js";
import { type Pace, PlatformError, type RawValue } from "../greenhouse/ports.js";
import { aboutKey, type RecordBody } from "../journal/records.js";
import { Posting } from "./posting.js";
import type { ReadBacks } from "../sync/push-mirror.js";
import {
  aboutOf,
  type AddressRead,
  type Asker,
  type Book,
  type Connection,
  type Effect,
  type EffectOf,
  emptyBook,
  type Environment,
  type Input,
  laneKey,
  type StepAnswer,
  type Unrecorded,
} from "./book.js";
import { contextIn } from "./lane-limits.js";
import type { Command, CommanderPorts, CommandRequest } from "./command.js";
import { commandLines, endedLine, takenLine } from "./log-lines.js";
import { isOfLane, laneRecord } from "./memory.js";
import type { StepRecording } from "./recording.js";
import { awaiting, heldBackIn, nextWakeAt, openIn, print, step, takenIn, writingIn } from "./step.js";

type JournalAnswer =
  | { readonly sequence: number }
  | { readonly sequence: null; readonly problem: string; readonly isOpen: boolean };

interface Submitted {
  /** Its id. */
  readonly id: string;
  readonly isTaken: boolean;
  /** The message repeats an earlier one, which has or gets the result. */
  readonly isKnown?: true;
}

type PlatformQuestion = EffectOf<"check" | "read" | "post" | "renew">;

/** A recording of every step of the book, if a maintainer asks for it. */
export interface Recorded {
  readonly recording?: Pick<StepRecording, "add"> | undefined;
}

/**
 * Accepts commands and does what their book says: it asks the platform and the journal, reports the life of commands,
 * feeds answers back, and wakes the book with one timer.
 */
export class Commander implements ReadBacks {
  readonly #ports: CommanderPorts & Recorded;
  readonly #questions = new Map<number, AbortController>();
  /** The order of POSTs for each controller. */
  readonly #posting: Posting;
  /** Problems on their way to the store, by controller. */
  readonly #problems = new Map<string, readonly CommandProblem[]>();
  /** Lanes with a record that the journal could not write. */
  readonly #unrecorded = new Set<string>();
  #book: Book = emptyBook;
  #isFeeding = false;
  /** Inputs that follow the present one. */
  readonly #next: (() => unknown)[] = [];
  #timer: { readonly at: number; readonly takeBack: () => void } | null = null;
  #onPushed: Parameters<ReadBacks["onPushed"]>[0] = () => undefined;

  constructor(ports: CommanderPorts & Recorded) {
    this.#ports = ports;
    this.#posting = new Posting(ports.clock);
    ports.store.onChange(this.#onChange);
  }

  /** The limits of a lane's actuator; null if it is not configured and an earlier run left nothing of it. */
  limitsOf(key: string): Entry | null {
    return at(this.#book.lanes, key)?.limits ?? this.#ports.limits?.settings.unlimited.get(key) ?? null;
  }

  /** The limits of every lane with something to remember. */
  get limited(): readonly Entry[] {
    return [...entries(this.#book.lanes)].flatMap(([, { limits }]) => limits ?? []);
  }

  /** Everything that a lane must remember, as a record. */
  laneRecord(key: string): RecordBody {
    const { clock } = this.#ports;
    return laneRecord(this.#book, key, { at: clock.now(), mono: clock.monotonic() });
  }

  /** What limits look at now; null for an unknown controller. */
  context(code: string): LimitContext | null {
    const limits = this.#ports.limits?.settings;
    return limits === undefined
      ? null
      : contextIn({ book: this.#book, limits, now: this.#environment() }, code);
  }

  /** The state of all open commands, or of those of one controller, by its code. */
  print(code: string | null): unknown {
    const { clock } = this.#ports;
    return print(this.#book, { at: clock.now(), mono: clock.monotonic() }, code);
  }

  /** Commands accepted and not ended. */
  get open(): readonly Command[] {
    return openIn(this.#book);
  }

  /** Whether a command is open, or a result is on its way to the journal and the listeners. */
  get isBusy(): boolean {
    return this.open.length > 0 || this.isTelling;
  }

  /** The number of results held back until the journal can write them. */
  get heldBack(): number {
    return heldBackIn(this.#book);
  }

  get isTelling(): boolean {
    return writingIn(this.#book) > 0;
  }

  /** Accepts a request or answers it with a refusal; never throws. Returns whether it was accepted, and its id. */
  submit(request: CommandRequest): Submitted {
    const { store, journal, clockSkewMs, newId } = this.#ports;
    const controller = store.byId(request.controllerId);
    const rules = this.#ports.rules();
    const id = request.givenId ?? newId();
    const code = controller?.info.code ?? request.controllerId;
    const answer = this.feed({
      type: "asked",
      arrived: {
        request,
        rules,
        id,
        journal: journal.state(),
        notTaking: this.#ports.notTaking?.(aboutKey(aboutOf({ ...request, code }))) ?? null,
        clockTrusted: clockAgrees(clockSkewMs()) === true,
        code,
        target: targetOf(controller, request, rules),
      },
    });
    const submitted = {
      id: answer !== null && "id" in answer ? answer.id : id,
      isTaken: answer?.type === "taken",
    };
    return answer?.type === "known" ? { ...submitted, isKnown: true } : submitted;
  }

  /** Accepts nothing more; what was sent stays open in the journal for the next start. */
  close(): void {
    this.feed({ type: "closing" });
  }

  /**
   * Writes to the journal what it could not write before, and counts of refusals; call it at intervals. `isLast`: also if the journal has
   * not noticed yet that it can write again.
   */
  journalAgain({ isLast = false }: { readonly isLast?: boolean } = {}): void {
    const available = isLast || this.#ports.journal.state().available;
    this.feed({ type: "tick", journalAvailable: available });
    if (!available) return;
    const lanes = this.#unrecordedLanes();
    this.#unrecorded.clear();
    if (lanes.length > 0) this.feed({ type: "unrecorded", lanes });
  }

  /** Whether the journal could not write some records. */
  get lacksRecords(): boolean {
    return this.#unrecorded.size > 0;
  }

  /** At the end of the program: ends commands that were sent and of which the journal has no record, as the next start will not know them. */
  giveUp(): void {
    const lanes = this.#unrecordedLanes().filter(({ missing }) => missing.length > 0);
    if (lanes.length > 0) this.feed({ type: "given_up", lanes });
  }

  #unrecordedLanes(): readonly Unrecorded[] {
    const { journal } = this.#ports;
    return [...this.#unrecorded].map((key) => {
      const lost = takenIn(this.#book, key).filter((one) => !journal.isOpen(aboutOf(one), one.id));
      return { key, missing: lost.map(({ id }) => id) };
    });
  }

  readsBack(code: string, address: string): boolean {
    return awaiting(this.#book, code, address).length > 0;
  }

  readBackNow(code: string, address: string, raw: RawValue): boolean {
    const isWanted = awaiting(this.#book, code, address, raw).length > 0;
    for (const key of awaiting(this.#book, code, address)) this.feed({ type: "pushed", key, address, raw });
    return isWanted;
  }

  onPushed(listener: Parameters<ReadBacks["onPushed"]>[0]): void {
    this.#onPushed = listener;
  }

  /**
   * Folds one input into the book and does what follows, also for what an earlier run left. It must not be called
   * within another call: the input would be judged by an outdated book.
   */
  feed(input: Input): StepAnswer | null {
    if (this.#isFeeding) throw new Error(`${input.type} came within another input of the book`);
    const now = this.#environment();
    this.#isFeeding = true;
    try {
      const { recording, limits, store } = this.#ports;
      const stepped = step(this.#book, input, now, limits?.settings);
      recording?.add(input, now, limits?.settings, store.controllers(), stepped);
      const { book, effects, answer, wakeAt } = stepped;
      const isOtherwiseBusy = book.busy !== this.#book.busy;
      this.#book = book;
      for (const effect of effects) this.#perform(effect);
      if (isOtherwiseBusy) this.#arm(wakeAt);
      return answer;
    } finally {
      this.#isFeeding = false;
      for (let next = this.#next.shift(); next !== undefined; next = this.#next.shift()) next();
    }
  }

  #environment(): Environment {
    const { clock, rules, store, clockSkewMs, limits, gaps } = this.#ports;
    return {
      at: clock.now(),
      mono: clock.monotonic(),
      awakeSince: gaps?.newest()?.until ?? -Infinity,
      rules: rules(),
      controller: store.find,
      skewMs: clockSkewMs(),
      mayRulesSend: limits?.mayRulesSend ?? false,
    };
  }

  /** Feeds an input now, or after the one that is being handled. */
  feedSoon(input: Input): void {
    if (this.#isFeeding) this.#next.push(() => this.feed(input));
    else this.feed(input);
  }

  readonly #onChange = (before: Controller | undefined, after: Controller | undefined): void => {
    if (after === undefined) return;
    const { code, id: controllerId } = after.info;
    const read: (readonly [Command["target"], id: string, Actuator | Register])[] = [];
    if (before?.actuators !== after.actuators)
      for (const [id, actuator] of after.actuators)
        if (before?.actuators.get(id)?.registers !== actuator.registers)
          read.push(["actuator", id, actuator]);
    if (before?.parameters !== after.parameters)
      for (const [id, { register }] of after.parameters)
        if (register && before?.parameters.get(id)?.register !== register)
          read.push(["parameter", id, register]);
    if (before?.addresses !== after.addresses)
      for (const [id, { register }] of after.addresses)
        if (register && before?.addresses.get(id)?.register !== register)
          read.push(["address", id, register]);
    for (const [target, targetId, shown] of read) {
      const about = { code, controllerId, target, targetId };
      this.feedSoon({ type: "shown", key: laneKey(about), about, target: shown });
    }
  };

  /**
   * Shows problems later, as a listener of the store must not dispatch. Changes of a moment are shown together, so that
   * no problem seems to end while a start takes several up one by one.
   */
  #showProblems({ code, open }: EffectOf<"problem">): void {
    if (!this.#problems.has(code))
      queueMicrotask(() => {
        const newest = this.#problems.get(code) ?? [];
        this.#problems.delete(code);
        this.#ports.store.dispatch(code, { type: "problem", open: newest });
      });
    this.#problems.set(code, open);
  }

  #perform(effect: Effect): void {
    const { output, store, clock, log, commandLog } = this.#ports;
    const { type } = effect;
    if (type === "journal") void this.#journal(effect);
    else if (type === "note") this.#note(effect);
    else if (type === "forget") this.#questions.get(effect.token)?.abort();
    else if (type === "phase") output.phase(effect.command, effect.phase);
    else if (type === "posted") {
      const { code, target, targetId: id } = effect.command;
      store.dispatch(code, { type, target, id, at: clock.monotonic(), between: effect.between });
    } else if (type === "steps_ended") {
      const { code, target, targetId: id } = effect.command;
      store.dispatch(code, { type, target, id, degree: effect.degree, word: effect.word });
      const actuator = target === "actuator" ? store.get(code)?.actuators.get(id) : undefined;
      if (actuator) this.feedSoon({ type: "settled", key: laneKey(effect.command), actuator });
    } else if (type === "problem") this.#showProblems(effect);
    else if (type === "result") output.result(effect.result, effect.about, effect.sequence, effect.isRefusal);
    else if (type === "event") output.event(effect.event);
    else if (type === "pushed") this.#onPushed(effect.command.code, effect.address, effect.raw);
    else if (type === "warn") log.error({ reason: effect.reason }, effect.message);
    else if (type === "taken") commandLog?.info(takenLine(effect.command), commandLines.taken);
    else if (type === "ended") commandLog?.info(endedLine(effect.result), commandLines.ended);
    else if (type === "limits") this.#ports.limits?.onLimitsChange(effect.lane);
    else if (type === "rule") this.#next.push(() => this.submit(ruleRequest(effect.send)));
    else if (type === "counted")
      commandLog?.info({ ...effect.count }, "commands ended that were only counted");
    else void this.#asking(effect);
  }

  #note({ key, record, durable, quiet }: EffectOf<"note">): void {
    const { journal, log, onRecorded } = this.#ports;
    const isAwaited = onRecorded !== undefined && record.type === "command_taken";
    journal.append(record, { durable: durable || isAwaited }).then(
      () => {
        if (isAwaited) onRecorded(record);
      },
      (error: unknown) => {
        this.#onFailure(key, record);
        if (quiet) return;
        const said = "the journal could not take a record of a command under way";
        log.error({ reason: reasonOf(error) }, said);
      },
    );
  }

  async #journal({ key, token, record, unlessOpen, durable }: EffectOf<"journal">): Promise<void> {
    const { journal } = this.#ports;
    const isMissing = unlessOpen !== undefined && !journal.isOpen(unlessOpen, unlessOpen.id);
    // Writing without fsync is enough only if the next start can tell whether the machine ended since.
    const isChecked = unlessOpen !== undefined && journal.isChecked(unlessOpen, unlessOpen.id);
    const until = durable === "before" && !isChecked ? true : durable;
    const records = isMissing ? [unlessOpen, record] : [record];
    // Read before writing: a power cut may lose an unsaved result, while its command stays.
    const isResult = record.type === "result";
    const wasOpen = isResult && journal.isOpen(record, record.result.id);
    let answer: JournalAnswer;
    try {
      const appended: Promise<number>[] = [];
      for (const one of records) appended.push(journal.append(one, { durable: until }));
      answer = { sequence: (await Promise.all(appended)).at(-1) ?? 0 };
    } catch (error) {
      this.#onFailure(key, record);
      const isOpen = wasOpen || (isResult && journal.isOpen(record, record.result.id));
      answer = { sequence: null, problem: reasonOf(error), isOpen };
    }
    this.feed({ type: "journaled", key, token, ...answer });
  }

  #onFailure(key: string, record: RecordBody): void {
    if (isOfLane(record)) this.#unrecorded.add(key);
  }

  async #asking(question: PlatformQuestion): Promise<void> {
    const { key, token } = question;
    const given = new AbortController();
    this.#questions.set(token, given);
    try {
      const isPost = question.type === "post";
      const answer = isPost
        ? await this.#post(question, given)
        : await answerTo(question, this.#ports, given);
      this.feed({ key, token, ...answer });
    } catch (error) {
      // The answer to an aborted question is not awaited.
      if (!given.signal.aborted) {
        this.#ports.log.error({ err: error }, "a command ended by a defect of the bridge");
        this.feed({ type: "defect", key, token });
      }
    } finally {
      this.#questions.delete(token);
    }
  }

  async #post({ key, token, command, step }: EffectOf<"post">, given: AbortController) {
    const { platform, store } = this.#ports;
    const { code, targetId, wanted } = command;
    let before: RawValue | null = null;
    // A ready connection asks the book at once, which must not happen within the input that asked for it.
    await Promise.resolve();
    const intervalMs = this.#ports.rules().controller_interval;
    const isStop = wanted.type === "stop";
    let sinceOtherMs: number | undefined;
    // The connection stands: may the POST leave? If not, the book has already decided about its command.
    const mayPost = () => {
      before = store.get(code)?.actuators.get(targetId)?.registers[step.address]?.raw ?? null;
      const mayLeave = this.feed({ type: "begins", key, token })?.type === "may_leave";
      if (mayLeave) sinceOtherMs = this.#posting.begin(code);
      return mayLeave;
    };
    await this.#posting.turn(code, { intervalMs, isFirst: isStop, signal: given.signal });
    try {
      const lane = aboutKey(aboutOf(command));
      const manner = { pace: paceOf(command), isStop, lane, mayPost };
      const answer = await platform.write(code, step.address, step.value, given.signal, manner);
      return { type: "answered", answer: { type: "accepted", answer }, before } as const;
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      const { text: message, facts } = error;
      const answer = { type: "error", message, facts } as const;
      return {
        type: "answered",
        answer,
        before,
        ...(sinceOtherMs !== undefined && { sinceOtherMs }),
      } as const;
    } finally {
      this.#posting.ended(code);
    }
  }

  /** Sets the timer no later than any lane waits for. If it fires early, the next time is looked up then. */
  #arm(at: number): void {
    const isIdle = this.#book.busy.size === 0;
    if (!isIdle && this.#timer !== null && this.#timer.at <= at) return;
    this.#timer?.takeBack();
    this.#timer = null;
    if (isIdle || at === Infinity) return;
    const { clock } = this.#ports;
    const takeBack = clock.after(Math.max(0, at - clock.monotonic()), () => {
      this.#timer = null;
      this.feed({ type: "woke" });
      this.#arm(nextWakeAt(this.#book) ?? Infinity);
    });
    this.#timer = { at, takeBack };
  }
}

/**
 * Answers a question, and folds what was read into the mirror. `given` aborts it; its signal is costly, so it is made
 * only where somebody listens to it.
 */
async function answerTo(
  question: EffectOf<"check" | "read" | "renew">,
  ports: CommanderPorts,
  given: AbortController,
) {
  const { type } = question;
  if (type === "renew")
    return { type: "renewed", isNew: await ports.platform.renewCredential(given.signal) } as const;
  const { command } = question;
  if (type === "read")
    return { type, ...(await freshRead(command, question.address, ports, given.signal)) } as const;
  if (!question.command.dryRun) ports.platform.prepareWrite?.();
  const status = readConnection(command, ports, given.signal);
  const reading = question.addresses.map((address) => freshRead(command, address, ports, given.signal));
  const reads = Promise.all(reading);
  // A defect that ends them before the status is known is thrown below; until then it must be no unhandled rejection.
  reads.catch(ignored);
  const connection = await status;
  if (connection.type === "online") return { type: "checked", connection, reads: await reads } as const;
  given.abort();
  return { type: "checked", connection, reads: [] } as const;
}

async function readConnection(
  command: Asker,
  { platform, store }: CommanderPorts,
  signal: AbortSignal,
): Promise<Connection> {
  const { code } = command;
  try {
    const status = await platform.connection(code, signal, paceOf(command));
    store.dispatch(code, { type: "connection", status });
    return { type: status.state };
  } catch (error) {
    return unansweredBy(error);
  }
}

async function freshRead(
  command: Asker,
  address: string,
  { platform, store, clock }: CommanderPorts,
  signal: AbortSignal,
): Promise<AddressRead> {
  const { code } = command;
  const startedAt = clock.monotonic();
  try {
    const raw = await platform.value(code, address, true, signal, paceOf(command));
    if (raw === null) return { address, read: { type: "absent" } };
    const read = { values: new Map([[address, raw]]), startedAt, readAt: clock.now() };
    store.dispatch(code, { type: "registers_read", ...read, fresh: true, source: "read_back" });
    return { address, read: { type: "value", raw, startedMono: startedAt } };
  } catch (error) {
    return { address, read: unansweredBy(error) };
  }
}

function unansweredBy(error: unknown) {
  if (!(error instanceof PlatformError)) throw error;
  return { type: "unanswered", reason: error.text, facts: error.facts } as const;
}

/** Other requests without an answer must not delay a stop or a rule's command. */
const paceOf = ({ rule = null, wanted }: Asker): Pace =>
  rule !== null || wanted?.type === "stop" ? "first" : "urgent";

/** The request for a command of a guard or an ended lease, which is a command like any other. */
function ruleRequest({ controllerId, actuator, command, id, by, rule }: RuleCommand): CommandRequest {
  return {
    controllerId,
    target: "actuator",
    targetId: actuator,
    payload: new TextEncoder().encode(JSON.stringify({ command, id, by })),
    rule,
    retained: false,
    expiryMs: null,
    by: null,
    via: null,
    response: null,
  };
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : "unknown reason");
