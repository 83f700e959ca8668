import type { Readings } from "../../src/simulator/readings.js";
import type { Ask, Boot, Device, Held, History, Post, Read, Result, Told } from "./history.js";
import { noReadings } from "./values.js";

/*
 * A recording of a built program as a history: messages that a client saw at the broker, the journal's files, the
 * simulated platform's POSTs and registers, and requests through a proxy. Instants are epoch ms of this computer's
 * clock.
 */

export type Fields = Readonly<Record<string, unknown>>;

interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** A record of the journal, dated by this computer's clock, whatever the bridge's clock said. */
export interface Recorded {
  readonly at: number;
  readonly record: Fields;
}

interface Message {
  readonly at: number;
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
}

/** A POST as the platform received it. */
interface PlatformPost {
  readonly at: number;
  readonly code: string;
  readonly address: string;
  readonly value: string;
  readonly effect: string;
}

export interface Recording {
  readonly messages: readonly Message[];
  readonly journal: readonly Recorded[];
  readonly posts: readonly PlatformPost[];
  /** Request lines to the realtime host, such as `GET /api/get-value?…`; null if no proxy saw them. */
  readonly requests: readonly { readonly at: number; readonly line: string }[] | null;
  /** The values of every register, by `<code>/<address>`, oldest first. */
  readonly held: ReadonlyMap<string, readonly Held[]>;
  readonly deviceOf: (code: string, actuator: string) => Device | null;
  /** The configured greatest age of commands, in ms; if absent, only limits in the message itself are judged. */
  readonly maxAgeMs?: number;
  /** The longest time that a message may have been on its way to the bridge. */
  readonly keptMs?: number;
  /** Whether the broker accepted the message; if absent, every message seen counts as accepted. */
  readonly isAcknowledged?: (id: string) => boolean;
  /** Times in which messages to the bridge, or its memory, may be lost; `died` if its process was killed. */
  readonly gaps: readonly (Stretch & { readonly died: boolean })[];
  /** Times in which the client at the broker heard nothing. */
  readonly absences: readonly Stretch[];
  /** Times in which the journal could not be written. */
  readonly unwritable: readonly Stretch[];
  /** Times in which every read was answered with the register's value. */
  readonly honest?: readonly Stretch[];
  readonly showsTravel?: boolean;
  readonly readings?: Readings;
}

/** Time stamps of two processes are rounded to ms and taken at slightly different moments. */
const clockMs = 50;
/** A command is journaled when it comes; one sent just before a crash may be lost with the process. */
const journaledWithinMs = 5_000;
const aroundMs = 1_000;
/** The longest duration of a POST. */
const answeredWithinMs = 35_000;
const keptMs = 5_000;

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

function fieldsOf(payload: string): Fields {
  try {
    const parsed: unknown = JSON.parse(payload);
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

const isWithin = (stretches: readonly Stretch[], at: number, before = aroundMs, after = 0): boolean =>
  stretches.some(({ from, to }) => at >= from - before && at <= to + after);

/**
 * Dates records by the monotonic clock, which setting the clock does not move. A run's first record shows when it
 * began, or where the clock was wrong by years then, the first record after it was set.
 */
export function inRealTime(records: readonly Fields[]): readonly Recorded[] {
  const farMs = 365 * 86_400_000;
  const isCredible = (begin: number) => Math.abs(begin - Date.now()) <= farMs;
  const begins = new Map<unknown, number>();
  for (const { boot, at, mono } of records) {
    const begin = Date.parse(textOf(at)) - Number(mono);
    const known = begins.get(boot);
    if (known === undefined || (!isCredible(known) && isCredible(begin))) begins.set(boot, begin);
  }
  return records.map((record) => ({
    at: (begins.get(record["boot"]) ?? 0) + Number(record["mono"]),
    record,
  }));
}

/** A command is identified by place and id, as a scene gives several actuators the same id. */
const keyOf = (code: unknown, actuator: unknown, id: unknown): string =>
  `${textOf(code)}/${textOf(actuator)} ${textOf(id)}`;

const actuatorTopic = /^greenhouse\/([^/]+)\/actuator\/([^/]+)\/(set|result)$/;

/** The device code of a topic: its id in capitals. */
const codeOf = (id: string): string => id.toUpperCase();

export function historyOf(recording: Recording): History {
  const { journal, gaps, unwritable, absences } = recording;
  const index = indexOf(journal);
  const asks = asksOf(recording);
  const posts = postsOf(recording, asks);
  tell(recording, asks, index);
  const lanes = grouped([...asks.values()], ({ code, actuator }) => `${code}/${actuator}`);
  const lanePosts = grouped(posts, ({ ask, code }) => `${code}/${ask?.actuator ?? ""}`);
  const reads = grouped(readsOf(recording), ({ code, address }) => `${code}/${address}`);
  const begins = new Map<unknown, number>();
  const ends = new Map<unknown, number>();
  for (const { at, record } of journal) {
    const { boot, type } = record;
    if (!begins.has(boot)) begins.set(boot, at);
    if (type === "stop") ends.set(boot, at);
  }
  const outcomes = new Map<string, number>();
  for (const { record } of journal)
    if (record["type"] === "result") {
      const { id } = record["result"] as Fields;
      const own = keyOf(record["controller"], record["actuator"], id);
      outcomes.set(own, (outcomes.get(own) ?? 0) + 1);
    }
  const deaths = gaps.flatMap(({ from, died }) => (died ? [{ from, to: from }] : []));
  const isWritten = (record: string, ask: Ask, at: number) =>
    (index.get(`${record} ${ask.by}`) ?? NaN) <= at + clockMs;
  return {
    clockMs,
    showsTravel: recording.showsTravel ?? false,
    seesReads: recording.requests !== null,
    asks,
    posts,
    lane: (code, actuator) => lanes.get(`${code}/${actuator}`) ?? [],
    postsTo: (code, actuator) => lanePosts.get(`${code}/${actuator}`) ?? [],
    readsOf: (code, address) => reads.get(`${code}/${address}`) ?? [],
    heldBetween: (code, address, from, to) =>
      heldBetween(recording.held.get(`${code}/${address}`) ?? [], from, to),
    isHonest: (from, to) => (recording.honest ?? []).some((one) => from >= one.from && to <= one.to),
    knowsPostsOf: (ask) =>
      !ask.posts.some(({ begunAt }) => isWithin(unwritable, begunAt, answeredWithinMs, aroundMs)),
    startedAt: (boot) => begins.get(boot) ?? 0,
    stoppedAt: (boot) => ends.get(boot) ?? Infinity,
    machineEndedBetween: () => false,
    stalledBefore: (at) =>
      Math.max(-Infinity, ...gaps.flatMap(({ from, to }) => (from <= at ? [Math.min(to, at)] : []))),
    lackedValue: () => true,
    mayBeGone: (ask) => mayBeGone(recording, ask),
    looksTooOld: () => false,
    mayBeUnheard: (ask) => isWithin(absences, index.get(`result ${ask.by}`) ?? NaN),
    journal: {
      isWritten,
      isDurable: isWritten,
      outcomesOf: (ask) => outcomes.get(ask.by) ?? 0,
      mayBeMissing: (at) => isWithin([...unwritable, ...deaths], at, aroundMs, aroundMs),
      isOpen: (ask, at) => isWritten("command_taken", ask, at) && !isWritten("result", ask, at - 2 * clockMs),
    },
  };
}

function grouped<Thing>(
  things: readonly Thing[],
  keyOfThing: (thing: Thing) => string,
): ReadonlyMap<string, Thing[]> {
  const groups = new Map<string, Thing[]>();
  for (const thing of things) {
    const key = keyOfThing(thing);
    const list = groups.get(key);
    if (list === undefined) groups.set(key, [thing]);
    else list.push(thing);
  }
  return groups;
}

/** When each record about a command first came into the journal, by `<record> <key>`. */
function indexOf(journal: readonly Recorded[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const add = (name: string, key: string, at: number) => {
    if (!found.has(`${name} ${key}`)) found.set(`${name} ${key}`, at);
  };
  for (const { at, record } of journal) {
    const { type, controller, actuator, id, result, phase } = record;
    const own = keyOf(
      controller,
      actuator,
      typeof result === "object" && result !== null ? (result as Fields)["id"] : id,
    );
    add(type === "phase" ? textOf(phase) : textOf(type), own, at);
    if (record["took_over"] !== undefined) add("took_over", own, at);
  }
  return found;
}

/** The longest time between a command's arrival and its record, in ms; more means that the clock was set. */
const recordedWithinMs = 120_000;

/** When the bridge received a command. Its record may be written later, as the first one may not reach the disk. */
function receivedAt({ at, record }: Recorded): number {
  const sinceMs = Date.parse(textOf(record["at"])) - Date.parse(textOf(record["received_at"]));
  return sinceMs >= 0 && sinceMs <= recordedWithinMs ? at - sinceMs : at;
}

/** Every command sent with an id, and every command in the journal. */
function asksOf(recording: Recording): ReadonlyMap<string, Ask> {
  const { messages, journal, deviceOf } = recording;
  const taken = new Map<string, Recorded>();
  for (const one of journal) {
    const { type, controller, actuator, id } = one.record;
    if (type === "command_taken") taken.set(keyOf(controller, actuator, id), one);
  }
  const asks = new Map<string, Ask>();
  for (const { at, topic, payload, retain } of messages) {
    const [, controller = "", actuator = "", leaf = ""] = actuatorTopic.exec(topic) ?? [];
    const said = fieldsOf(payload);
    const id = textOf(said["id"]);
    const by = keyOf(codeOf(controller), actuator, id);
    if (leaf !== "set" || id === "" || asks.has(by)) continue;
    const one = taken.get(by) ?? null;
    // A watcher whose link was down, or who had to wait for the processor, sees a command after the bridge.
    const first = Math.min(at, one === null ? at : receivedAt(one));
    const sent = { by, at: first, code: codeOf(controller), actuator, id, payload, said, retain };
    asks.set(by, askOf(recording, sent, one));
  }
  for (const [by, one] of taken) {
    const { controller, actuator, id, target } = one.record;
    if (asks.has(by) || (target !== undefined && target !== "actuator")) continue;
    const place = { code: textOf(controller), actuator: textOf(actuator) };
    if (deviceOf(place.code, place.actuator) === null) continue;
    const sent = {
      by,
      at: receivedAt(one),
      ...place,
      id: textOf(id),
      payload: "",
      said: one.record,
      retain: false,
    };
    asks.set(by, askOf(recording, sent, one));
  }
  for (const [by, { record }] of taken) {
    const ask = asks.get(by);
    const earlier = keyOf(record["controller"], record["actuator"], record["took_over"]);
    if (ask !== undefined && record["took_over"] !== undefined)
      ask.donor = donorOf(asks.get(earlier) ?? null);
  }
  return new Map([...asks].sort(([, one], [, other]) => one.at - other.at));
}

/** The command that was really sent, if a takeover followed another. */
const donorOf = (ask: Ask | null): Ask | null => (ask === null ? null : (ask.donor ?? ask));

interface SentMessage extends Pick<Ask, "by" | "at" | "code" | "actuator" | "payload"> {
  readonly id: string;
  readonly said: Fields;
  readonly retain: boolean;
}

function askOf(recording: Recording, sent: SentMessage, taken: Recorded | null): Ask {
  const { by, at, code, actuator, id, payload, said, retain } = sent;
  const sender = textOf(taken?.record["by"]);
  const boot = (taken?.record["boot"] ?? "") as Boot;
  const isRule = payload === "" && /^(?:rule|lease) /.test(sender);
  const saidMs = 1_000 * Number(/^(\d+)s$/.exec(textOf(said["max_age"]))?.[1] ?? Infinity);
  const maxAgeMs = isRule ? Infinity : Math.min(saidMs, recording.maxAgeMs ?? Infinity);
  const dryRun = said["dry_run"] === true;
  return {
    by,
    at,
    boot,
    code,
    actuator,
    settings: recording.deviceOf(code, actuator),
    payload,
    word: textOf(said["command"]).trim().toLowerCase() || null,
    ownId: taken?.record["own_id"] === false ? null : id,
    repeatOf: null,
    retained: retain,
    force: said["force"] === true,
    dryRun,
    forMs: null,
    holdMs: null,
    rule: !isRule ? null : sender.startsWith("rule") ? "guard" : "lease",
    latestPostAt: at + maxAgeMs + (recording.keptMs ?? keptMs),
    mayExpireAt: -Infinity,
    mustNotPost: dryRun ? "a dry run" : retain ? "retained" : null,
    readings: recording.readings ?? noReadings,
    phases: taken === null ? [] : [{ phase: "waiting", at: taken.at, boot }],
    posts: [],
    results: [],
    donor: null,
    inherits: false,
    delivered: false,
    isAnswerKept: false,
  };
}

/** The POSTs in the journal, joined with those at the platform, and further ones at the platform. */
function postsOf(recording: Recording, asks: ReadonlyMap<string, Ask>): readonly Post[] {
  const { journal, posts } = recording;
  const found: Post[] = [];
  const free = new Map<string, Post[]>();
  for (const step of journal) {
    const { type, controller, address, value } = step.record;
    if (type !== "step_sent") continue;
    const post = sentStep(recording, asks, step);
    found.push(post);
    const key = keyOf(controller, address, value);
    free.set(key, [...(free.get(key) ?? []), post]);
  }
  for (const { at, code, address, value, effect } of posts.toSorted((one, other) => one.at - other.at)) {
    const key = keyOf(code, address, value);
    const candidates = free.get(key) ?? [];
    const nth = candidates.findIndex(({ begunAt }) => begunAt <= at + clockMs);
    const post = candidates[nth];
    if (post !== undefined) {
      free.set(key, candidates.toSpliced(nth, 1));
      Object.assign(post, { wires: post.wires + 1, arrived: { effect } });
      continue;
    }
    const ask = takenWithoutSteps(recording, asks, { at, code, address, value });
    found.push({
      ask,
      boot: ask?.boot ?? "",
      code,
      address,
      value,
      begunAt: at,
      endedAt: at,
      outcome: null,
      sent: true,
      bodyCode: null,
      wires: 1,
      arrived: { effect },
    });
  }
  found.sort((one, other) => one.begunAt - other.begunAt);
  for (const post of found) post.ask?.posts.push(post);
  for (const ask of asks.values()) {
    const [first] = ask.posts;
    if (first !== undefined) ask.phases.push({ phase: "sending", at: first.begunAt, boot: first.boot });
  }
  return found;
}

function sentStep(
  { journal, unwritable }: Recording,
  asks: ReadonlyMap<string, Ask>,
  { at, record }: Recorded,
): Post {
  const { boot, controller, actuator, id, address, value, attempt, seq } = record;
  const answer = journal.find(
    ({ record: one }) =>
      one["type"] === "step_answered" &&
      one["boot"] === boot &&
      one["id"] === id &&
      one["actuator"] === actuator &&
      one["controller"] === controller &&
      one["address"] === address &&
      one["attempt"] === attempt &&
      Number(one["seq"]) > Number(seq),
  );
  const code = answer?.record["code"] ?? null;
  const ask = asks.get(keyOf(controller, actuator, id)) ?? null;
  if (ask !== null && code === "200") ask.isAnswerKept = true;
  return {
    ask,
    boot: boot as Boot,
    code: textOf(controller),
    address: textOf(address),
    value: textOf(value),
    begunAt: at,
    // The record of its outcome may be what the disk refused.
    endedAt: answer?.at ?? (isWithin(unwritable, at, answeredWithinMs, aroundMs) ? at : null),
    outcome: answer === undefined ? null : outcomeOf(code),
    sent: true,
    bodyCode: code === null ? null : textOf(code),
    wires: 0,
    arrived: null,
  };
}

const outcomeOf = (code: unknown): string =>
  code === null
    ? "unanswered"
    : code === "200"
      ? "accepted"
      : ["401", "403"].includes(textOf(code))
        ? "unauthorized"
        : "refused";

/**
 * Finds the command of a POST that the journal lacks. Only `command_taken` has to be on disk before a POST; a full
 * disk, or a death within a second, may lose later records. The command must have been accepted in the same run. Of
 * several it is the one recorded as about to be sent.
 */
function takenWithoutSteps(
  { journal, gaps, unwritable }: Recording,
  asks: ReadonlyMap<string, Ask>,
  { at, code, address, value }: Pick<PlatformPost, "at" | "code" | "address" | "value">,
): Ask | null {
  const deaths = gaps.flatMap(({ from, died }) => (died ? [{ from, to: from }] : []));
  if (!isWithin([...unwritable, ...deaths], at, aroundMs, aroundMs)) return null;
  const life = journal.findLast((one) => one.at <= at + clockMs)?.record["boot"];
  const before = journal.filter((one) => one.record["boot"] === life && one.at <= at + clockMs);
  const fitting = before.filter(
    ({ record: { type, controller, steps } }) =>
      type === "command_taken" &&
      controller === code &&
      Array.isArray(steps) &&
      (steps as readonly Fields[]).some((step) => step["address"] === address && step["value"] === value),
  );
  const sendingAt = ({ record: { controller, actuator, id } }: Recorded) =>
    before.findLast(
      ({ record: one }) =>
        one["phase"] === "sending" &&
        one["controller"] === controller &&
        one["actuator"] === actuator &&
        one["id"] === id,
    )?.at ?? -Infinity;
  const taken = fitting.toSorted((one, other) => sendingAt(one) - sendingAt(other)).at(-1);
  const { controller, actuator, id } = taken?.record ?? {};
  return asks.get(keyOf(controller, actuator, id)) ?? null;
}

/** Adds the published results, with the times at which the journal had them. */
function tell(
  recording: Recording,
  asks: ReadonlyMap<string, Ask>,
  index: ReadonlyMap<string, number>,
): void {
  const { journal, messages, gaps } = recording;
  const resultAt = (ask: Ask) => index.get(`result ${ask.by}`) ?? index.get(`refusal ${ask.by}`) ?? Infinity;
  const lives = journal.map(({ at, record }) => ({ at, boot: record["boot"] as Boot }));
  for (const { at, topic, payload, retain } of messages) {
    const [, controller = "", actuator = "", leaf = ""] = actuatorTopic.exec(topic) ?? [];
    if (leaf !== "result" || retain) continue;
    const result = fieldsOf(payload) as unknown as Result;
    const ask = asks.get(keyOf(codeOf(controller), actuator, result.id));
    // Answers to a repeated delivery of an id are no result of their own.
    if (ask === undefined || result.reason === "duplicate") continue;
    if (result.reason === "bad_payload" && ask.results.length > 0) continue;
    const isJournaled = resultAt(ask) <= at + clockMs;
    const boot = lives.findLast((one) => one.at <= at + clockMs)?.boot ?? "";
    const told: Told = { result, at, boot, isJournaled };
    // It was not accepted by an earlier run: the run that published its result received it.
    if (ask.phases.length === 0 && ask.results.length === 0) Object.assign(ask, { boot });
    // A message that a broken link did not acknowledge is sent again unchanged.
    const isSameBytes = ask.results.some((one) => JSON.stringify(one.result) === JSON.stringify(result));
    if (isSameBytes && isWithin(gaps, at, aroundMs, aroundMs)) continue;
    ask.results.push(told);
    ask.delivered = true;
  }
  for (const ask of asks.values()) {
    const at = index.get(`result ${ask.by}`);
    if (at !== undefined) ask.phases.push({ phase: "done", at, boot: ask.boot });
  }
}

/** Fresh reads of addresses and connections seen by the proxy; their values are unknown. */
function readsOf({ requests }: Recording): readonly Read[] {
  return (requests ?? []).flatMap(({ at, line }) => {
    const [, path = "", query = ""] = /^GET ([^?]*)\?(\S*)/.exec(line) ?? [];
    const asked = new URLSearchParams(query);
    const isConnection = path.endsWith("/mqtt-client-status");
    if (!isConnection && !(path.endsWith("/get-value") && asked.get("flush") === "1")) return [];
    const address = isConnection ? "" : (asked.get("address") ?? "");
    const code = asked.get("deviceCode") ?? "";
    return [
      {
        boot: "",
        code,
        address,
        fresh: true,
        begunAt: at,
        endedAt: at,
        answered: true,
        raw: undefined,
        isLie: false,
      },
    ];
  });
}

/** Values that a register held between two instants, newest first. */
function heldBetween(register: readonly Held[], from: number, to: number): readonly string[] {
  const first = register.findLastIndex(({ at }) => at <= from);
  return register
    .slice(Math.max(0, first))
    .filter(({ at }) => at <= to)
    .map(({ value }) => value)
    .toReversed();
}

/** Whether the message may not have arrived, or waited in a process that died. */
function mayBeGone({ gaps, isAcknowledged, journal }: Recording, ask: Ask): boolean {
  const isKnown = journal.some(
    ({ record }) =>
      record["type"] === "command_taken" &&
      keyOf(record["controller"], record["actuator"], record["id"]) === ask.by,
  );
  if (isKnown) return false;
  if (isAcknowledged !== undefined && !isAcknowledged(ask.by.slice(ask.by.indexOf(" ") + 1))) return true;
  return gaps.some(
    ({ from, to, died }) => ask.at >= from - (died ? journaledWithinMs : aroundMs) && ask.at <= to,
  );
}
