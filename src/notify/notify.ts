import { createHash } from "node:crypto";
import type { Core } from "../feature/core.js";
import { bridgeItself } from "../greenhouse/limits.js";
import { tellIn } from "../language/languages.js";
import { keptText, type Text, textFrom } from "../language/text.js";
import type { Tell } from "../language/words.js";
import type { TextFile } from "../runtime/file-system.js";
import { type Clock, diskPatienceMs, every, within } from "../runtime/clock.js";
import { ignored } from "../runtime/failures.js";
import { withoutSecrets } from "../runtime/redaction.js";
import {
  type Happening,
  happenedMessage,
  type HappeningKind,
  isCollected,
  isHappening,
} from "./happenings.js";
import { type Message, messageOf, testMessage, type Wording } from "./message.js";
import {
  afterNotice,
  afterSent,
  type Came,
  errorsFirst,
  goneSince,
  isQuiet,
  isTryDue,
  meanwhile,
  type Notice,
  noticeDue,
  type Outage,
  outageAfter,
  remember,
  type Sent,
  type ShownAlarm,
  type Told,
  type ToldBefore,
  type Trouble,
  type WayRules,
} from "./plan.js";
import { type Sender, senderOf } from "./send.js";
import type { NotifySettings, WaySettings } from "./section.js";
import { messengersOf } from "./services.js";
import { fieldsOf } from "../runtime/objects.js";

/*
 * Sends alarms to people who do not look at the page. It reads the alarms in a loop of its own: nothing waits for it,
 * and a defect here stops nothing else.
 */

export interface NotifierSettings {
  readonly notify: NotifySettings;
  /** For messages where `notify.time_zone` is absent. */
  readonly timeZone: string;
  /** All secrets of the configuration. */
  readonly secrets: readonly string[];
}

/** The alarms shown now, and how to set the alarm that messages do not get out. */
type Alarms = Pick<Core["commands"]["limits"]["alarms"], "list" | "set">;

interface WayAsSet {
  rules: WayRules;
  sender: Sender;
  /** Digest of its settings; with other settings a failed way is tried afresh. */
  digest: string;
  /** The happenings that it asks for beside alarms. */
  asks: ReadonlySet<HappeningKind>;
}

interface Way extends WayAsSet {
  readonly name: string;
  told: ToldBefore;
  trouble: Trouble | null;
  /** Null while messages get out and no missed alarm is left to report. */
  outage: Outage | null;
  /** Messages that only some of its readers have, the oldest first. */
  owed: readonly Owed[];
  /** Whether a message is being sent. */
  isBusy: boolean;
  /** Happenings that are still being collected. */
  happened: readonly Happening[];
  /** Messages that are about no alarm, the oldest first. */
  queue: readonly Message[];
  /** Day of the last daily message handed to this way, sent or not. */
  dailyOn: string | null;
  advice: Text | null;
}

const untold = () => ({
  told: new Map<string, Told>(),
  ...{ trouble: null, outage: null, isBusy: false, advice: null, dailyOn: null },
  ...{ owed: [], happened: [], queue: [] },
});

interface Owed {
  readonly message: Message;
  readonly to: readonly string[];
}

type Outgoing =
  | Owed
  | { readonly message: Message; readonly notice: Notice }
  | { readonly message: Message; readonly isQueued: true };

/** Drops readers that were removed from a way: they get nothing more, and their failures no longer count. */
function forgetRemoved(way: Way): void {
  if (way.owed.length === 0) return;
  way.owed = way.owed.flatMap(({ message, to }) => {
    const left = to.filter((address) => way.sender.isReader(address));
    return left.length === 0 ? [] : [{ message, to: left }];
  });
  if (way.owed.length === 0 && way.trouble?.isOfSome === true) way.trouble = null;
}

/** Bounds on what is kept for readers who cannot be reached. */
const mostOwed = 20;
const mostHappened = 500;

interface TestResult {
  readonly ok: boolean;
  readonly service: string;
  /** What went wrong; or advice of the service, though the message got out. */
  readonly problem: Text | null;
}

/** The results of a test, by name of the way. */
export type TestResults = Readonly<Record<string, TestResult>>;

const lookMs = 5_000;
const testPauseMs = 10_000;

export const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));

/** The minute of the day in a time zone. */
export function minuteIn(timeZone: string, now: number): number {
  const text = new Date(now).toLocaleTimeString("en-GB", { timeZone, hour: "2-digit", minute: "2-digit" });
  return minutesOf(text);
}

const rulesOf = ({ severity, cleared, quiet_hours: quiet }: WaySettings): WayRules => ({
  severity,
  cleared,
  quiet: quiet ? { from: minutesOf(quiet.from), to: minutesOf(quiet.to), severity: quiet.severity } : null,
});

const wordingOf = (
  { notify, timeZone }: NotifierSettings,
  { tell, nameOf }: Pick<Wording, "tell" | "nameOf">,
): Wording => ({
  name: notify.name ?? null,
  language: notify.language,
  tell,
  timeZone: notify.time_zone ?? timeZone,
  nameOf,
});

function sendersOf({ notify, secrets }: NotifierSettings, clock: Clock): ReadonlyMap<string, Sender> {
  const { ways, proxy } = notify;
  const all = Object.entries(ways).flatMap(([name, way]) =>
    messengersOf(way).map(([, messenger]) => [name, messenger] as const),
  );
  const hidden = [...secrets, ...all.flatMap(([, messenger]) => messenger.secrets ?? [])];
  const redact = withoutSecrets(() => hidden);
  return new Map(all.map(([name, messenger]) => [name, senderOf(messenger, clock, proxy, redact)] as const));
}

/** Sends one message through all ways at the same time. */
async function testWays(
  settings: NotifierSettings,
  clock: Clock,
  signal: AbortSignal,
  { senders, tell }: { readonly senders: ReadonlyMap<string, Sender>; readonly tell: Tell },
): Promise<ReadonlyMap<string, Sent>> {
  const wording = wordingOf(settings, { tell, nameOf: (controller) => controller });
  const tried = [...senders].map(async ([name, sender]) => {
    return [name, await sender.send(testMessage(name, clock.now(), wording), signal)] as const;
  });
  return new Map(await Promise.all(tried));
}

const shownResults = (sent: ReadonlyMap<string, Sent>, senders: ReadonlyMap<string, Sender>): TestResults =>
  Object.fromEntries(
    [...sent].map(([name, one]) => {
      const problem = one.ok ? (one.advice ?? null) : one.problem;
      return [name, { ok: one.ok, service: senders.get(name)?.name ?? "", problem }] as const;
    }),
  );

/** Sends a test through each way without a bridge. */
export async function testOnce(
  settings: NotifierSettings,
  clock: Clock,
  signal: AbortSignal,
): Promise<TestResults> {
  const senders = sendersOf(settings, clock);
  const tell = await tellIn(settings.notify.language);
  return shownResults(await testWays(settings, clock, signal, { senders, tell }), senders);
}

const isTold = (value: unknown): value is Told =>
  typeof value === "object" && value !== null && "isOn" in value && "at" in value && "type" in value;

const isOwed = (value: unknown): value is Owed =>
  typeof value === "object" &&
  value !== null &&
  "message" in value &&
  "to" in value &&
  Array.isArray(value.to);

const isMessage = (value: unknown): value is Message =>
  typeof value === "object" &&
  value !== null &&
  ["kind", "title", "text"].every((key) => typeof Reflect.get(value, key) === "string");

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const isCame = (entry: readonly [string, unknown]): entry is [string, Came] =>
  typeof entry[1] === "object" && entry[1] !== null && "from" in entry[1] && "type" in entry[1];

/** What the next run needs of a way. Sent alarms have their ids as keys, which differ from the other keys. */
const keptOf = ({ told, digest, trouble, outage, owed, queue, happened, dailyOn }: Way): object => ({
  ...Object.fromEntries(told),
  ...(trouble?.problem && { trouble: { [digest]: keptText(trouble.problem) } }),
  ...(outage && { outage: { ...outage, came: Object.fromEntries(outage.came) } }),
  ...(owed.length > 0 && { owed }),
  ...(queue.length > 0 && { queue }),
  ...(happened.length > 0 && { happened }),
  ...(dailyOn !== null && { dailyOn }),
});

function outageIn(kept: unknown): Outage | null {
  const { since, until, hasGaps, came } = fieldsOf(kept);
  if (typeof since !== "number") return null;
  const entries = Object.entries(fieldsOf(came));
  const end = typeof until === "number" ? until : null;
  return { since, until: end, ...(hasGaps === true && { hasGaps }), came: new Map(entries.filter(isCame)) };
}

const digestOf = (settings: object): string =>
  createHash("sha256").update(JSON.stringify(settings)).digest("hex").slice(0, 16);

export class Notifier {
  #settings: NotifierSettings;
  readonly #core: Pick<Core, "clock" | "log">;
  readonly #alarms: Alarms;
  /** Keeps over restarts what was sent. */
  readonly #memory: TextFile;
  #wording: Wording;
  #senders: ReadonlyMap<string, Sender>;
  #ways: readonly Way[] = [];
  #isFailing = false;
  #testedAt = -Infinity;
  #written = "";
  #writing: Promise<void> | null = null;
  #hasRead = false;
  /** Daily messages that are not on disk yet. */
  readonly #unkept = new Set<Message>();
  /** Whether the log says that they wait for the disk; false again after each successful write. */
  #isUnkeptTold = false;

  constructor(
    settings: NotifierSettings,
    core: Pick<Core, "clock" | "log" | "file">,
    alarms: Alarms,
    said: Pick<Wording, "tell" | "nameOf">,
  ) {
    this.#settings = settings;
    this.#core = core;
    this.#alarms = alarms;
    this.#memory = core.file("notified.json");
    this.#wording = wordingOf(settings, said);
    this.#senders = sendersOf(settings, core.clock);
    this.#ways = this.#waysAsSet();
  }

  /** Takes over new settings. A way keeps its history by its name; with other settings a failed way is tried afresh. */
  reload(settings: NotifierSettings, said: Pick<Wording, "tell" | "nameOf">): void {
    this.#settings = settings;
    this.#wording = wordingOf(settings, said);
    this.#senders = sendersOf(settings, this.#core.clock);
    this.#ways = this.#waysAsSet();
  }

  #waysAsSet(): readonly Way[] {
    return [...this.#senders].flatMap(([name, sender]) => {
      const way = this.#settings.notify.ways[name];
      if (way === undefined) return [];
      const set: WayAsSet = { rules: rulesOf(way), sender, digest: digestOf(way), asks: new Set(way.events) };
      const known = this.#ways.find((one) => one.name === name);
      if (known === undefined) return [{ name, ...set, ...untold() }];
      if (known.digest !== set.digest) known.trouble = null;
      known.happened = known.happened.filter((one) => set.asks.has(one.of));
      return [Object.assign(known, set)];
    });
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#core;
    try {
      this.#restore(await within(clock, diskPatienceMs, () => this.#memory.read(), signal));
    } catch (problem) {
      log.warn({ problem }, "what messages were sent before the start is not known; some may be repeated");
    }
    this.#hasRead = true;
    this.#isFailing = this.#alarms.list.some(({ type }) => type === "notify_failed");
    await every(lookMs, clock, signal, () => {
      try {
        for (const way of this.#ways) this.#look(way, signal);
        this.#report();
      } catch (problem) {
        log.error({ problem }, "what people are to be told could not be judged");
      }
    });
    await within(clock, diskPatienceMs, () => this.#keepNewest()).catch(ignored);
  }

  /**
   * Sends one message through each way; its success or failure counts like that of an alarm. Rejects within
   * `testPauseMs` of the last test.
   */
  async test(signal: AbortSignal): Promise<TestResults> {
    const { clock } = this.#core;
    if (clock.monotonic() - this.#testedAt < testPauseMs)
      throw new Error(`A test was made just now; wait ${testPauseMs / 1_000} seconds.`);
    this.#testedAt = clock.monotonic();
    const sent = await testWays(this.#settings, clock, signal, {
      senders: this.#senders,
      tell: this.#wording.tell,
    });
    for (const way of this.#ways) this.#note(way, sent.get(way.name) ?? { ok: true }, clock.now());
    this.#report();
    return shownResults(sent, this.#senders);
  }

  /** Reports a happening to the ways that ask for it. Each collects for a while before it sends. */
  happened(one: Happening): void {
    for (const way of this.#ways)
      if (way.asks.has(one.of)) way.happened = [...way.happened, one].slice(-mostHappened);
  }

  /** Queues a message that is about no alarm, for the given ways or all. */
  say(message: Message, ways: readonly string[] | undefined): void {
    for (const way of this.#ways)
      if (ways === undefined || ways.includes(way.name)) way.queue = [...way.queue, message].slice(-mostOwed);
  }

  /**
   * Queues a daily message once for each way, over restarts too, so it is sent only when it is on disk. Resolves to
   * whether it is, after at most `diskPatienceMs`. Never rejects.
   */
  async sayOnce(message: Message, ways: readonly string[] | undefined, day: string): Promise<boolean> {
    for (const way of this.#ways) {
      if ((ways !== undefined && !ways.includes(way.name)) || way.dailyOn === day) continue;
      this.#unkept.add(message);
      way.dailyOn = day;
      way.queue = [...way.queue, message].slice(-mostOwed);
    }
    await within(this.#core.clock, diskPatienceMs, () => this.#keepNewest()).catch((problem: unknown) =>
      this.#tellUnkept(problem),
    );
    return this.#unkept.size === 0;
  }

  get wording(): Wording {
    return this.#wording;
  }

  #restore(text: string | null): void {
    const kept: unknown = text === null ? {} : JSON.parse(text);
    for (const way of this.#ways) {
      const own = fieldsOf(Reflect.get(Object(kept), way.name));
      way.told = new Map(Object.entries(own).filter((entry): entry is [string, Told] => isTold(entry[1])));
      const problem = textFrom(Reflect.get(Object(own["trouble"]), way.digest));
      if (problem !== "") way.trouble = { failures: 1, notBefore: -Infinity, problem };
      way.outage = outageIn(own["outage"]);
      way.owed = listOf(own["owed"]).filter(isOwed);
      way.queue = [...listOf(own["queue"]).filter(isMessage), ...way.queue].slice(-mostOwed);
      const happened = listOf(own["happened"]).filter(isHappening);
      way.happened = [...happened.filter((one) => way.asks.has(one.of)), ...way.happened].slice(
        -mostHappened,
      );
      way.dailyOn ??= typeof own["dailyOn"] === "string" ? own["dailyOn"] : null;
    }
  }

  #look(way: Way, signal: AbortSignal): void {
    const { clock } = this.#core;
    const now = clock.now();
    const isOut = way.trouble !== null || (way.outage !== null && way.outage.until === null);
    // The other ways report that this one does not work.
    const shown = this.#alarms.list.filter(({ type }) => !isOut || type !== "notify_failed");
    const minute = minuteIn(this.#wording.timeZone, now);
    if (way.outage !== null) this.#watchOutage(way, way.outage, shown, minute);
    if (way.isBusy) return;
    const isDue = isTryDue(way.trouble, clock.monotonic());
    if (!isDue && way.trouble?.isOfSome !== true) return;
    way.told = remember(way.told, way.rules, shown, now);
    const notice = noticeDue(way.rules, way.told, shown, now, minute, way.outage);
    forgetRemoved(way);
    const [owed] = way.owed;
    this.#collect(way, now, minute);
    const queued = way.queue.find((message) => !this.#unkept.has(message));
    if (notice !== null) this.#tell(way, notice, shown, signal);
    else if (owed !== undefined && isDue) void this.#send(way, owed, signal);
    else if (queued !== undefined && isDue) void this.#send(way, { message: queued, isQueued: true }, signal);
  }

  #watchOutage(way: Way, outage: Outage, shown: readonly ShownAlarm[], minute: number): void {
    const { rules, told, trouble } = way;
    const isOut = trouble !== null && outage.until === null;
    const after = meanwhile(outage, { rules, told, isOut }, shown, this.#core.clock.now(), minute);
    way.outage = trouble === null && after.came.size === 0 ? null : after;
  }

  /** Nobody is woken for something that is already done. */
  #collect(way: Way, now: number, minute: number): void {
    if (!isCollected(way.happened, now) || isQuiet(way.rules, "info", minute)) return;
    way.queue = [...way.queue, happenedMessage(way.happened, now, this.#wording)].slice(-mostOwed);
    way.happened = [];
  }

  #tell(way: Way, notice: Notice, shown: readonly ShownAlarm[], signal: AbortSignal): void {
    const on = shown.filter(({ type, state }) => type !== "flood" && state !== "cleared");
    const worst = errorsFirst(on);
    const message = messageOf(notice, worst, this.#core.clock.now(), this.#wording);
    void this.#send(way, { message, notice }, signal);
  }

  /** Sends one message and records what became of it. Never rejects. */
  async #send(way: Way, one: Outgoing, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#core;
    const begunAt = clock.now();
    way.isBusy = true;
    try {
      const sent = await way.sender.send(one.message, signal, "to" in one ? one.to : undefined);
      if (signal.aborted) return;
      const missing = sent.ok ? [] : (sent.missing ?? null);
      if (missing !== null) this.#onReached(way, one, missing);
      this.#note(way, sent, begunAt, "notice" in one ? one.notice : null);
      if (!sent.ok)
        log.warn(
          { way: way.name, problem: String(sent.problem) },
          "a message did not get out; it is tried again",
        );
      this.#report();
    } catch (problem) {
      log.error({ problem }, "a message could not be made");
    } finally {
      way.isBusy = false;
    }
  }

  /** Records that at least some readers have the message; `missing` have not. */
  #onReached(way: Way, one: Outgoing, missing: readonly string[]): void {
    const owed = missing.length === 0 ? [] : [{ message: one.message, to: missing }];
    if ("to" in one) {
      way.owed = way.owed.flatMap((other) => (other === one ? owed : [other]));
      return;
    }
    if ("notice" in one) way.told = afterNotice(way.told, one.notice, this.#core.clock.now());
    else way.queue = way.queue.filter((message) => message !== one.message);
    way.owed = [...way.owed, ...owed].slice(-mostOwed);
  }

  /**
   * Records what became of a message. An outage begins at the moment when the first message that reached nobody was
   * tried, and ends once the missed alarms are reported.
   */
  #note(way: Way, sent: Sent, begunAt: number, notice: Notice | null = null): void {
    const { clock, log } = this.#core;
    way.trouble = afterSent(way.trouble, sent, clock.monotonic());
    const hasReached = sent.ok || sent.missing !== undefined;
    const now = clock.now();
    const minute = minuteIn(this.#wording.timeZone, now);
    const gone = hasReached ? undefined : goneSince(begunAt, way.rules, this.#alarms.list, now, minute);
    way.outage = outageAfter(way.outage, { hasReached, notice, begunAt, now, gone });
    const advice = sent.ok ? (sent.advice ?? null) : null;
    if (advice !== null && String(advice) !== String(way.advice)) log.warn({ way: way.name }, String(advice));
    way.advice = advice ?? way.advice;
  }

  /** Sets or clears the alarm `notify_failed`, and saves what was sent for the next run. */
  #report(): void {
    const failing = this.#ways.flatMap(({ name, sender, trouble }) =>
      trouble?.problem ? [{ name, service: sender.name, problem: trouble.problem }] : [],
    );
    const said = failing.map(({ name, service, problem }) => `${name} (${service}): ${String(problem)}`);
    const message = failing.length === 0 ? null : `${said.join("; ")}.`;
    if (failing.length > 0 || this.#isFailing)
      this.#alarms.set("notify_failed", bridgeItself, message, { ways: failing });
    this.#isFailing = failing.length > 0;
    void this.#keep();
  }

  /** Saves the state, one write at a time; a change meanwhile waits for the next call. Never rejects. */
  #keep(): Promise<void> {
    if (this.#hasRead) this.#writing ??= this.#write().finally(() => (this.#writing = null));
    return this.#writing ?? Promise.resolve();
  }

  /** Waits for a write under way, which may lack the newest state, and then writes once more. */
  async #keepNewest(): Promise<void> {
    await this.#writing;
    await this.#keep();
  }

  #tellUnkept(problem: unknown): void {
    if (this.#unkept.size === 0 || this.#isUnkeptTold) return;
    this.#isUnkeptTold = true;
    this.#core.log.warn({ problem }, "the message of the day waits until the disk can be written to");
  }

  async #write(): Promise<void> {
    const text = JSON.stringify(Object.fromEntries(this.#ways.map((way) => [way.name, keptOf(way)])));
    if (text === this.#written) return;
    const kept = [...this.#unkept];
    try {
      await this.#memory.write(text);
      this.#written = text;
      this.#isUnkeptTold = false;
      for (const message of kept) this.#unkept.delete(message);
    } catch (problem) {
      this.#core.log.debug({ problem }, "what was told could not be kept; it is tried again");
      this.#tellUnkept(problem);
    }
  }
}
