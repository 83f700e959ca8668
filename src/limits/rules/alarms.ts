import type { BridgeEvent } from "../../greenhouse/events.js";
import type { Alarm, AlarmFacts, AlarmType } from "../../greenhouse/limits.js";
import { mayFollow, standings } from "../../greenhouse/steady.js";

/*
 * Present faults that a person should know: each is raised once, cleared once, and acknowledged by a person. Pure;
 * instants are epoch ms. An alarm is shown for an hour after it cleared.
 */

/** The subject of an alarm as topic ids; both null for the bridge itself. */
export interface Subject {
  readonly controller: string | null;
  readonly actuator: string | null;
  /** Set for an alarm on a reading. */
  readonly sensor?: string;
}

/** The wanted state of an alarm. */
export interface AlarmChange {
  readonly type: AlarmType;
  readonly about: Subject;
  /** Null clears it. */
  readonly message: string | null;
  readonly facts?: AlarmFacts | undefined;
  /** What a cleared alarm says from then on; absent for no change. */
  readonly last?: Pick<Alarm, "message" | "facts"> | undefined;
  /** Absent for the usual severity of the type. */
  readonly severity?: Alarm["severity"] | undefined;
}

const remedies: Readonly<Record<AlarmType, readonly [severity: Alarm["severity"], remedy: string]>> = {
  reading_low: ["warning", "Check heating, water and open windows, and whether the sensor is right."],
  reading_high: ["warning", "Check vents, shade and fans, and whether the sensor is right."],
  guard_blind: [
    "warning",
    "Check the sensor, its cable and whether its value still arrives; until then the guard holds.",
  ],
  guard_unmet: [
    "error",
    "Go and look: what the guard sends was not confirmed. Move the actuator by hand if need be.",
  ],
  lease_overrun: [
    "error",
    "Go and look: the actuator should have ended by now. Switch it off by hand if need be.",
  ],
  command_problem: ["error", "Look at the result of the newest command, and at the actuator."],
  not_running: [
    "error",
    "Go and look: it was commanded on and does not run. Check its breaker, its contactor and its local switch.",
  ],
  readings_overdue: [
    "warning",
    "Check the controller's network and whether its readings come on the platform.",
  ],
  controller_offline: ["warning", "Check the controller's power and network."],
  platform_unreachable: [
    "error",
    "Check the internet connection and the platform; nothing can be commanded until it answers.",
  ],
  unauthorized: ["error", "Check the credential of the platform in the configuration."],
  journal_unavailable: [
    "error",
    "Check the disk; no command but a stop is taken until the journal can be written.",
  ],
  cluster: [
    "error",
    "Check the NATS servers of the cluster and the network to them; no command is taken until they answer.",
  ],
  other_bridge: ["error", "Stop one of the two bridges; nothing but a stop is sent meanwhile."],
  state_lost: [
    "warning",
    "Guards begin as holding. Check locks, holds and running leases, and set again what is missing.",
  ],
  crash_loop: [
    "error",
    "Report the error with the log. The bridge refuses commands until it has run for 15 minutes or was stopped in order; it still sends what guards and leases need.",
  ],
  notify_failed: [
    "warning",
    "Check the network and the section notify. The bridge tries again, and messages may be late; look at the page meanwhile.",
  ],
  settings_returned: [
    "error",
    "The bridge went back to the earlier settings. Correct what the message names, on the page or in the file. To keep the earlier settings, acknowledge this: it ends an hour later. A file that was edited by hand stays as it is: it is tried again once you correct it, and at the next start.",
  ],
  birth_too_large: [
    "error",
    "Raise the broker's packet limit (Mosquitto: max_packet_size; embedded: broker.limits.packet_size), or mirror fewer things of this controller: Sparkplug forbids to split a birth.",
  ],
  duplicate_node: ["error", "Give each bridge in the group its own sparkplug.node, or stop the other one."],
  flood: ["error", "Many alarms at once mostly have one cause: look at power, network and platform first."],
};

export interface AlarmState {
  readonly alarms: ReadonlyMap<string, Alarm>;
  /** When alarms were raised, or became worse, in the last ten minutes. */
  readonly raised: readonly number[];
  /** Alarms whose cause is gone; they stay on for a while. */
  readonly over: ReadonlySet<string>;
}

export const noAlarms: AlarmState = { alarms: new Map(), raised: [], over: new Set() };

/** The new state, the alarms that changed (null: its topic is emptied), and the events. */
export interface AlarmNews {
  readonly state: AlarmState;
  readonly changed: ReadonlyMap<string, Alarm | null>;
  readonly events: readonly BridgeEvent[];
}

const noNews = (state: AlarmState): AlarmNews => ({ state, changed: new Map(), events: [] });

const alarmId = (type: AlarmType, { controller, actuator, sensor }: Subject): string =>
  [type, controller, actuator, sensor].filter((part) => typeof part === "string").join(".");

const floodWindowMs = 600_000;
const mostRaised = 10;
/** The most instants kept in `raised`, more than a flood needs. */
const mostCounted = 100;
const ranks: Readonly<Record<Alarm["severity"], number>> = { error: 2, warning: 1, info: 0 };
const shownAfterMs = 3_600_000;

/** Alarms about something that has happened, which stay true over a restart. */
const ofThePast: ReadonlySet<AlarmType> = new Set(["command_problem", "state_lost", "flood"]);

/** An alarm of an earlier run; for a condition it is unknown whether it still holds. */
export function carriedOver(alarm: Alarm): Alarm {
  if (!isOn(alarm) || ofThePast.has(alarm.type)) return alarm;
  return { ...alarm, facts: { ...alarm.facts, carried: true } };
}

const isCarried = (alarm: Alarm): boolean => isOn(alarm) && alarm.facts?.carried === true;

const isOn = (alarm: Alarm | undefined): boolean => alarm !== undefined && alarm.state !== "cleared";

/** A time in the future comes from a clock that was set back since. */
const isRecent = (now: number) => (at: number) => at <= now && now - at < floodWindowMs;

/** Changes alarms together, in order, as thousands of readings can cross their limits at once. */
export function change(state: AlarmState, changes: Iterable<AlarmChange>, now: number): AlarmNews {
  const draft = draftOf(state, now);
  for (const one of changes)
    if (one.message === null) endIn(state, draft, alarmId(one.type, one.about), one.last);
    else raiseIn(state, draft, { ...one, message: one.message });
  return newsOf(state, draft);
}

const draftOf = ({ raised, over: overBefore }: AlarmState, now: number): Draft => ({
  alarms: null,
  raised,
  overBefore,
  over: null,
  changed: new Map(),
  events: [],
  now,
});

function newsOf(state: AlarmState, draft: Draft): AlarmNews {
  const { raised, changed, events } = draft;
  const alarms = draft.alarms ?? state.alarms;
  const over = draft.over ?? state.over;
  const isSame = alarms === state.alarms && raised === state.raised && over === state.over;
  return { state: isSame ? state : { alarms, raised, over }, changed, events };
}

/** Raises an alarm or changes its text. */
export const raise = (
  state: AlarmState,
  type: AlarmType,
  about: Subject,
  message: string,
  now: number,
): AlarmNews => change(state, [{ type, about, message }], now);

/** The changes to a state; its alarms and its `over` set are copied with the first change. */
interface Draft {
  alarms: Map<string, Alarm> | null;
  raised: readonly number[];
  readonly overBefore: ReadonlySet<string>;
  over: Set<string> | null;
  readonly changed: Map<string, Alarm | null>;
  readonly events: BridgeEvent[];
  readonly now: number;
}

const heldIn = (state: AlarmState, draft: Draft, id: string): Alarm | undefined =>
  (draft.alarms ?? state.alarms).get(id);

function putIn(state: AlarmState, draft: Draft, alarm: Alarm): void {
  draft.alarms ??= new Map(state.alarms);
  draft.alarms.set(alarm.id, alarm);
  draft.changed.set(alarm.id, alarm);
}

function raiseIn(
  state: AlarmState,
  draft: Draft,
  { type, about, message, facts, severity }: AlarmChange & { readonly message: string },
): void {
  const { now } = draft;
  const before = heldIn(state, draft, alarmId(type, about));
  if (before !== undefined && isOn(before)) {
    // The alarm before was acknowledged and its cause had gone; this one is new.
    const isUnseen = before.state === "acknowledged" && (draft.over ?? draft.overBefore).has(before.id);
    markOver(draft, before.id, false);
    if (before.message === message && !isCarried(before) && !isUnseen) return;
    const changed = changedInPlace(before, message, severity ?? before.severity, facts);
    putIn(state, draft, isUnseen ? { ...changed, state: "active", by: null } : changed);
    if (ranks[changed.severity] > ranks[before.severity]) announceIn(state, draft, changed);
    return;
  }
  const made = { ...newAlarm(type, about, message, now), facts };
  const alarm = severity === undefined ? made : { ...made, severity };
  putIn(state, draft, alarm);
  announceIn(state, draft, alarm);
}

/** Reports an alarm that came or became worse: by itself, or in a flood as one of many. */
function announceIn(state: AlarmState, draft: Draft, alarm: Alarm): void {
  const { now } = draft;
  draft.raised = [...draft.raised.filter(isRecent(now)), now].slice(-mostCounted);
  const isFlood = draft.raised.length > mostRaised;
  if (!isFlood) draft.events.push(alarmEvent("alarm", alarm, now));
  if (!isFlood || isOn(heldIn(state, draft, "flood"))) return;
  const text = `More than ${mostRaised} alarms came within 10 minutes, so one message stands for all.`;
  const flood = newAlarm("flood", { controller: null, actuator: null }, text, now);
  putIn(state, draft, flood);
  draft.events.push(alarmEvent("flood", flood, now));
}

/** An alarm that became worse is not acknowledged any more. */
function changedInPlace(
  before: Alarm,
  message: string,
  severity: Alarm["severity"],
  facts: AlarmFacts | undefined,
): Alarm {
  const isWorse = ranks[severity] > ranks[before.severity];
  return { ...before, message, severity, facts, ...(isWorse && { state: "active" as const, by: null }) };
}

function newAlarm(type: AlarmType, subject: Subject, message: string, now: number): Alarm {
  const [severity, remedy] = remedies[type];
  const { controller, actuator, sensor } = subject;
  return {
    id: alarmId(type, subject),
    type,
    state: "active",
    since: new Date(now).toISOString(),
    severity,
    controller,
    actuator,
    ...(sensor !== undefined && { sensor }),
    message,
    remedy,
    by: null,
    clearedAt: null,
  };
}

function markOver(draft: Draft, id: string, isOver: boolean): void {
  if ((draft.over ?? draft.overBefore).has(id) === isOver) return;
  draft.over ??= new Set(draft.overBefore);
  if (isOver) draft.over.add(id);
  else draft.over.delete(id);
}

/** Clears an alarm once it has stood for a while; one that comes and goes stays on. */
function endIn(state: AlarmState, draft: Draft, id: string, last?: AlarmChange["last"]): void {
  const before = heldIn(state, draft, id);
  if (before === undefined || !isOn(before)) return;
  // For an alarm of an earlier run the first check decides.
  const shown = isCarried(before) ? null : { state: true, since: Date.parse(before.since) };
  if (mayFollow(shown, false, draft.now, standings.alarm)) takeBack(state, draft, id, last);
  else markOver(draft, id, true);
}

function takeBack(state: AlarmState, draft: Draft, id: string, last?: AlarmChange["last"]): void {
  const before = heldIn(state, draft, id);
  if (before === undefined || !isOn(before)) return;
  markOver(draft, id, false);
  const isFlood = isOn(heldIn(state, draft, "flood")) && id !== "flood";
  const alarm: Alarm = { ...before, ...last, state: "cleared", clearedAt: draft.now };
  putIn(state, draft, alarm);
  if (!isFlood) draft.events.push(alarmEvent("alarm_cleared", alarm, draft.now));
}

/** Clears an alarm at once. */
export function clear(state: AlarmState, id: string, now: number): AlarmNews {
  const draft = draftOf(state, now);
  takeBack(state, draft, id);
  return newsOf(state, draft);
}

/** Acknowledges alarms, which clears none; null if none of them is on. */
export function acknowledge(state: AlarmState, ids: readonly string[], by: string | null): AlarmNews | null {
  const draft = draftOf(state, 0);
  for (const id of ids) {
    const before = heldIn(state, draft, id);
    if (before !== undefined && isOn(before)) putIn(state, draft, { ...before, state: "acknowledged", by });
  }
  return draft.changed.size === 0 ? null : newsOf(state, draft);
}

/**
 * Lets time pass: alarms whose cause is gone are cleared once they have stood long enough, the flood ends, and alarms
 * that cleared an hour ago are forgotten. At most `most` change at once; `isMore` says that others are left.
 */
export function passTime(
  before: AlarmState,
  now: number,
  most = Infinity,
): AlarmNews & { readonly isMore: boolean } {
  const ended = draftOf(before, now);
  for (const id of before.over) {
    if (ended.changed.size >= most) break;
    endIn(before, ended, id);
  }
  const { state, changed: over, events } = newsOf(before, ended);
  const gone: string[] = [];
  for (const { id, clearedAt } of state.alarms.values()) {
    if (over.size + gone.length >= most) break;
    if (clearedAt !== null && (now - clearedAt >= shownAfterMs || clearedAt > now + shownAfterMs))
      gone.push(id);
  }
  const changed = new Map<string, Alarm | null>(gone.map((id) => [id, null]));
  const left = () => new Map([...state.alarms].filter(([id]) => !changed.has(id)));
  const forgotten = gone.length === 0 ? state : { ...state, alarms: left() };
  const isOver = isOn(state.alarms.get("flood")) && state.raised.filter(isRecent(now)).length <= mostRaised;
  const news = isOver ? clear(forgotten, "flood", now) : noNews(forgotten);
  return {
    state: news.state,
    changed: new Map([...over, ...changed, ...news.changed]),
    events: [...events, ...news.events],
    isMore: over.size + gone.length >= most,
  };
}

function alarmEvent(type: "alarm" | "alarm_cleared" | "flood", alarm: Alarm, at: number): BridgeEvent {
  const { id, type: kind, controller, actuator, sensor, message, severity, remedy } = alarm;
  const of = { controller, actuator, ...(sensor !== undefined && { sensor }) };
  const facts = { alarm: id, alarm_type: kind, ...of, remedy };
  return { type, severity: type === "alarm_cleared" ? "info" : severity, message, at, facts };
}

const carriedRemedy = "Look again in a few minutes: the bridge was started and has not judged it anew yet.";

/** The alarm as it is shown. */
export function shownAlarm(alarm: Alarm): Omit<Alarm, "clearedAt" | "facts"> {
  const { id, type, state, since, severity, controller, actuator, sensor, by } = alarm;
  const isOfBefore = isCarried(alarm);
  const message = isOfBefore ? `Before the restart: ${alarm.message}` : alarm.message;
  const remedy = isOfBefore ? carriedRemedy : alarm.remedy;
  const of = { controller, actuator, ...(sensor !== undefined && { sensor }) };
  return { id, type, state, since, severity, ...of, message, remedy, by };
}

const mostListed = 10;

/** ISO times, compared as text: a comparison by the rules of a language takes long for thousands. */
const newerFirst = (one: string, other: string): number => (one > other ? -1 : one < other ? 1 : 0);

type Ranked = Pick<Alarm, "state" | "severity" | "since" | "message" | "remedy">;

/** Unacknowledged ones first, then the worst, then the newest. */
const byWeight = (one: Ranked, other: Ranked): number =>
  Number(other.state === "active") - Number(one.state === "active") ||
  ranks[other.severity] - ranks[one.severity] ||
  newerFirst(one.since, other.since);

/** All alarms that are on: their number, and the ten most important. One pass, as thousands may change in a row. */
export function alarmSummary<One extends Ranked>(alarms: Iterable<One>) {
  const first: One[] = [];
  let count = 0;
  let unseen = 0;
  for (const alarm of alarms) {
    if (alarm.state === "cleared") continue;
    count += 1;
    if (alarm.state === "active") unseen += 1;
    const last = first.at(-1);
    if (first.length === mostListed && last !== undefined && byWeight(alarm, last) >= 0) continue;
    const place = first.findIndex((one) => byWeight(alarm, one) < 0);
    first.splice(place < 0 ? first.length : place, 0, alarm);
    if (first.length > mostListed) first.pop();
  }
  const { message = null, remedy = null } = first[0] ?? {};
  return { count, unacknowledged: unseen, message, remedy, alarms: first };
}
