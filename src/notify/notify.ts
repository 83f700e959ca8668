import { type Clock, every, within } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { withoutSecrets } from "../runtime/redaction.js";
import { type Happening, happenedMessage, type HappeningKind, isCollected } from "./happenings.js";
import { type Message, messageOf, testMessage, type Wording } from "./message.js";
import {
  afterNotice,
  afterSent,
  type Came,
  isQuiet,
  isTryDue,
  meanwhile,
  type Notice,
  noticeDue,
  type Outage,
  outageSince,
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

/*
 * Alarms for people who do not look at the page. It looks at the alarms as the page does, in a round of its own: nothing waits
 * for it, and a defect here ends nothing else.
 */

export interface NotifierSettings {
  readonly notify: NotifySettings;
  /** Of messages that have none of their own. */
  readonly timeZone: string;
  /** Everything that the configuration calls secret. */
  readonly secrets: readonly string[];
}

export interface NotifierPorts {
  readonly settings: NotifierSettings;
  readonly clock: Clock;
  readonly log: Logger;
  /** Those that are shown now. */
  readonly alarms: () => readonly ShownAlarm[];
  readonly nameOf: Wording["nameOf"];
  /** Says on the page that messages do not get out; null once they do. */
  readonly alarm: (message: string | null) => void;
  /** What was told, over restarts. */
  readonly memory: { read(): Promise<string | null>; write(text: string): Promise<void> };
  /** A message went out through a way, or did not. */
  readonly onSent?: (way: string, sent: Sent) => void;
}

interface Way {
  readonly name: string;
  readonly rules: WayRules;
  readonly sender: Sender;
  told: ToldBefore;
  trouble: Trouble | null;
  /** Null while messages get out. */
  outage: Outage | null;
  /** Messages that some of its readers have and others not, the oldest first. */
  owed: readonly Owed[];
  /** A message of it is under way. */
  isBusy: boolean;
  /** What it asks for beside alarms, as it happened. */
  readonly asks: ReadonlySet<HappeningKind>;
  happened: readonly Happening[];
  /** Messages that are about no alarm, the oldest first. */
  queue: readonly Message[];
  advice: string | null;
}

interface Owed {
  readonly message: Message;
  readonly to: readonly string[];
}

type Outgoing =
  | Owed
  | { readonly message: Message; readonly notice: Notice }
  | { readonly message: Message; readonly isQueued: true };

/** More are not kept for who cannot be reached. */
const mostOwed = 20;
const mostHappened = 500;

interface TestResult {
  readonly ok: boolean;
  readonly service: string;
  /** Also of a message that got out, where the service asks for something. */
  readonly problem: string | null;
}

/** What became of a test, by the name of the way. */
export type TestResults = Readonly<Record<string, TestResult>>;

const lookMs = 5_000;
const testPauseMs = 10_000;
/** Alarms are told also where the disk does not answer. */
const longestReadMs = 5_000;

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

const wordingOf = ({ notify, timeZone }: NotifierSettings, nameOf: Wording["nameOf"]): Wording => ({
  name: notify.name ?? null,
  language: notify.language,
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
  return new Map(
    all.map(([name, messenger]) => [name, senderOf(messenger, { clock, proxy, redact })] as const),
  );
}

/** One message through each way, at the same time. */
async function testWays(
  settings: NotifierSettings,
  clock: Clock,
  signal: AbortSignal,
  senders: ReadonlyMap<string, Sender>,
): Promise<ReadonlyMap<string, Sent>> {
  const wording = wordingOf(settings, (controller) => controller);
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

/** The same without a bridge. */
export async function testOnce(
  settings: NotifierSettings,
  clock: Clock,
  signal: AbortSignal,
): Promise<TestResults> {
  const senders = sendersOf(settings, clock);
  return shownResults(await testWays(settings, clock, signal, senders), senders);
}

const isTold = (value: unknown): value is Told =>
  typeof value === "object" && value !== null && "isOn" in value && "at" in value && "type" in value;

const isOwed = (value: unknown): value is Owed =>
  typeof value === "object" &&
  value !== null &&
  "message" in value &&
  "to" in value &&
  Array.isArray(value.to);

const isCame = (entry: readonly [string, unknown]): entry is [string, Came] =>
  typeof entry[1] === "object" && entry[1] !== null && "from" in entry[1] && "type" in entry[1];

/** What the next run has to know, by the ids of alarms, which are no such words. */
const keptOf = ({ told, outage, owed }: Way): object => ({
  ...Object.fromEntries(told),
  ...(outage && { outage: { since: outage.since, came: Object.fromEntries(outage.came) } }),
  ...(owed.length > 0 && { owed }),
});

function outageIn(kept: unknown): Outage | null {
  const { since, came } = { ...Object(kept) } as { readonly since?: unknown; readonly came?: unknown };
  if (typeof since !== "number") return null;
  return { since, came: new Map(Object.entries({ ...Object(came) } as object).filter(isCame)) };
}

export class Notifier {
  readonly #ports: NotifierPorts;
  readonly #wording: Wording;
  readonly #senders: ReadonlyMap<string, Sender>;
  readonly #ways: readonly Way[];
  #isFailing = false;
  #testedAt = -Infinity;
  #written = "";
  #isWriting = false;

  constructor(ports: NotifierPorts) {
    const { settings, clock, nameOf } = ports;
    this.#ports = ports;
    this.#wording = wordingOf(settings, nameOf);
    this.#senders = sendersOf(settings, clock);
    this.#ways = [...this.#senders].flatMap(([name, sender]) => {
      const way = settings.notify.ways[name];
      if (way === undefined) return [];
      const fresh = { told: new Map(), trouble: null, outage: null, owed: [], isBusy: false, advice: null };
      const beside = { asks: new Set(way.events), happened: [], queue: [] };
      return [{ name, rules: rulesOf(way), sender, ...fresh, ...beside }];
    });
  }

  /** Until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, memory } = this.#ports;
    try {
      this.#restore(await within(clock, longestReadMs, () => memory.read(), signal));
    } catch (problem) {
      log.warn({ problem }, "what messages were sent before the start is not known; some may be repeated");
    }
    await every(lookMs, clock, signal, () => {
      try {
        for (const way of this.#ways) this.#look(way, signal);
        this.#report();
      } catch (problem) {
        log.error({ problem }, "what people are to be told could not be judged");
      }
    });
  }

  /** One message through each way. What it shows counts as if it had been an alarm. Rejects where one comes too soon. */
  async test(signal: AbortSignal): Promise<TestResults> {
    const { settings, clock } = this.#ports;
    if (clock.monotonic() - this.#testedAt < testPauseMs)
      throw new Error(`A test was made just now; wait ${testPauseMs / 1_000} seconds.`);
    this.#testedAt = clock.monotonic();
    const sent = await testWays(settings, clock, signal, this.#senders);
    for (const way of this.#ways) this.#note(way, sent.get(way.name) ?? { ok: true }, clock.now());
    this.#report();
    return shownResults(sent, this.#senders);
  }

  /** Whether any way asks for more than alarms. */
  get asksForMore(): boolean {
    return this.#ways.some(({ asks }) => asks.size > 0);
  }

  /** Something that ways may ask for; told once others had the time to come too. */
  happened(one: Happening): void {
    for (const way of this.#ways)
      if (way.asks.has(one.of)) way.happened = [...way.happened, one].slice(-mostHappened);
  }

  /** Sends what is about no alarm, as soon as each way works. */
  say(message: Message, ways: readonly string[] | undefined): void {
    for (const way of this.#ways)
      if (ways === undefined || ways.includes(way.name)) way.queue = [...way.queue, message].slice(-mostOwed);
  }

  get wording(): Wording {
    return this.#wording;
  }

  #restore(text: string | null): void {
    const kept: unknown = text === null ? {} : JSON.parse(text);
    for (const way of this.#ways) {
      const own = { ...Object(Reflect.get(Object(kept), way.name)) } as Readonly<Record<string, unknown>>;
      way.told = new Map(Object.entries(own).filter((entry): entry is [string, Told] => isTold(entry[1])));
      way.outage = outageIn(own["outage"]);
      way.owed = Array.isArray(own["owed"]) ? own["owed"].filter(isOwed) : [];
    }
  }

  #look(way: Way, signal: AbortSignal): void {
    const now = this.#ports.clock.now();
    // That a way does not work is told through the others.
    const shown = this.#ports
      .alarms()
      .filter(({ type }) => (way.trouble === null && way.outage === null) || type !== "notify_failed");
    const minute = minuteIn(this.#wording.timeZone, now);
    if (way.outage !== null) {
      const { rules, told } = way;
      way.outage = meanwhile(way.outage, { rules, told, isOut: way.trouble !== null }, shown, now, minute);
      if (way.trouble === null && way.outage.came.size === 0) way.outage = null;
    }
    if (way.isBusy) return;
    const isDue = isTryDue(way.trouble, now);
    if (!isDue && way.trouble?.isOfSome !== true) return;
    way.told = remember(way.told, way.rules, shown, now);
    const notice = noticeDue(way.rules, way.told, shown, now, minute, way.outage);
    const [owed] = way.owed;
    this.#collect(way, now, minute);
    const [queued] = way.queue;
    if (notice !== null) this.#tell(way, notice, shown, signal);
    else if (owed !== undefined && isDue) void this.#send(way, owed, signal);
    else if (queued !== undefined && isDue) void this.#send(way, { message: queued, isQueued: true }, signal);
  }

  /** Nobody is woken for what is done already. */
  #collect(way: Way, now: number, minute: number): void {
    if (!isCollected(way.happened, now) || isQuiet(way.rules, "info", minute)) return;
    way.queue = [...way.queue, happenedMessage(way.happened, now, this.#wording)].slice(-mostOwed);
    way.happened = [];
  }

  #tell(way: Way, notice: Notice, shown: readonly ShownAlarm[], signal: AbortSignal): void {
    const on = shown.filter(({ type, state }) => type !== "flood" && state !== "cleared");
    const worst = on.toSorted(
      (one, other) => Number(other.severity === "error") - Number(one.severity === "error"),
    );
    const message = messageOf(notice, worst, this.#ports.clock.now(), this.#wording);
    void this.#send(way, { message, notice }, signal);
  }

  /** A message about a notice, or one that some of the readers have already. Never rejects. */
  async #send(way: Way, one: Outgoing, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ports;
    const begunAt = clock.now();
    way.isBusy = true;
    try {
      const sent = await way.sender.send(one.message, signal, "to" in one ? one.to : undefined);
      if (signal.aborted) return;
      const missing = sent.ok ? [] : (sent.missing ?? null);
      if (missing !== null) this.#onReached(way, one, missing);
      this.#note(way, sent, begunAt, "notice" in one ? one.notice : null);
      this.#ports.onSent?.(way.name, sent);
      if (!sent.ok)
        log.warn({ way: way.name, problem: sent.problem }, "a message did not get out; it is tried again");
      this.#report();
    } catch (problem) {
      log.error({ problem }, "a message could not be made");
    } finally {
      way.isBusy = false;
    }
  }

  /** At least some of the readers have it; `missing` have not. */
  #onReached(way: Way, one: Outgoing, missing: readonly string[]): void {
    way.outage = null;
    const owed = missing.length === 0 ? [] : [{ message: one.message, to: missing }];
    if ("to" in one) {
      way.owed = way.owed.flatMap((other) => (other === one ? owed : [other]));
      return;
    }
    if ("notice" in one) way.told = afterNotice(way.told, one.notice, this.#ports.clock.now());
    else way.queue = way.queue.filter((message) => message !== one.message);
    way.owed = [...way.owed, ...owed].slice(-mostOwed);
  }

  /** What became of a message says of its way. With the first that reached nobody an outage begins, at the moment that it was tried. */
  #note(way: Way, sent: Sent, begunAt: number, notice: Notice | null = null): void {
    const { clock, log } = this.#ports;
    way.trouble = afterSent(way.trouble, sent, clock.now());
    if (!sent.ok && sent.missing === undefined) way.outage ??= outageSince(begunAt, notice);
    const advice = sent.ok ? (sent.advice ?? null) : null;
    if (advice !== null && advice !== way.advice) log.warn({ way: way.name }, advice);
    way.advice = advice ?? way.advice;
  }

  /** What does not get out, for the page; and what was told, for the next run. */
  #report(): void {
    const { alarm, log, memory } = this.#ports;
    const failing = this.#ways.flatMap(({ name, sender, trouble }) =>
      trouble?.problem ? [`${name} (${sender.name}): ${trouble.problem}`] : [],
    );
    if (failing.length > 0 || this.#isFailing) alarm(failing.length === 0 ? null : `${failing.join("; ")}.`);
    this.#isFailing = failing.length > 0;
    const text = JSON.stringify(Object.fromEntries(this.#ways.map((way) => [way.name, keptOf(way)])));
    if (text === this.#written || this.#isWriting) return;
    this.#isWriting = true;
    memory
      .write(text)
      .then(() => (this.#written = text))
      .catch((problem: unknown) =>
        log.debug({ problem }, "what was told could not be kept; it is tried again"),
      )
      .finally(() => (this.#isWriting = false));
  }
}
