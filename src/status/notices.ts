import type { BridgeEvent } from "../greenhouse/events.js";
import type { ShapeReport } from "../platform/counters.js";

/*
 * Events about the platform that no part raises itself. The bridge checks for them at intervals and raises each once
 * per occurrence. Pure; `now` is monotonic ms, `at` epoch ms.
 */

export interface NoticedFacts {
  readonly shapes: readonly ShapeReport[];
  /** Number of sign-ins so far. */
  readonly signIns: number;
  /** How often a token was refused soon after it was issued; the first time in a row does not count. */
  readonly contested: number;
  /** The platform accepts no credential, although there is an account to sign in with. */
  readonly isSignInRefused: boolean;
}

/** Notices so far by subject: the time of the last one, and the count at that time. */
export type Noticed = ReadonlyMap<string, { readonly count: number; readonly toldAt: number }>;

export const noticedNothing: Noticed = new Map();

/** Something counted; it is reported when new, and after a pause when the count has grown. */
interface Occurrence {
  readonly about: string;
  readonly count: number;
  readonly pauseMs: number;
  readonly event: (at: number) => BridgeEvent;
}

type Entry = readonly [about: string, told: { readonly toldAt: number }];

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const shapeEventsPerHour = 10;
const isShape = (about: string): boolean => about.startsWith("shape ");

/** The new events, and the notices to remember. */
export function notice(
  before: Noticed,
  facts: NoticedFacts,
  now: number,
  at: number,
): { readonly after: Noticed; readonly events: readonly BridgeEvent[] } {
  const { shapes, contested, isSignInRefused } = facts;
  if (before.size + shapes.length + contested === 0 && !isSignInRefused) return { after: before, events: [] };
  const after = new Map(before);
  // A successful sign-in ends that trouble; a later refusal is a new one.
  if (!isSignInRefused) after.delete(signIn);
  const events: BridgeEvent[] = [];
  for (const { about, count, pauseMs, event } of occurrences(facts)) {
    const told = after.get(about);
    const isNews = told === undefined ? count > 0 : count > told.count && now - told.toldAt >= pauseMs;
    if (!isNews) continue;
    const isRecent = ([other, { toldAt }]: Entry) => isShape(other) && now - toldAt < hourMs;
    // What exceeds the limit is not marked as reported, so that it is reported when there is room again.
    if (isShape(about) && [...after].filter(isRecent).length >= shapeEventsPerHour) continue;
    after.set(about, { count, toldAt: now });
    events.push(event(at));
  }
  return { after, events };
}

const signIn = "sign-in";

function occurrences({ shapes, contested, signIns, isSignInRefused }: NoticedFacts): readonly Occurrence[] {
  const found = new Map<string, Occurrence>();
  // The same fault in fields of different names is one occurrence.
  for (const report of shapes) {
    if (report.whole === true) continue;
    const about = `shape ${report.operation} ${String(report.problem)}`;
    const count = report.count + (found.get(about)?.count ?? 0);
    const { event } = found.get(about) ?? { event: (at: number) => shapeUnknown(report, at) };
    found.set(about, { about, count, pauseMs: 24 * hourMs, event });
  }
  return [
    ...found.values(),
    { about: "session", count: contested, pauseMs: hourMs, event: sessionContested },
    {
      about: signIn,
      count: isSignInRefused ? signIns : 0,
      pauseMs: 10 * minuteMs,
      event: (at) => signInRefused(signIns, at),
    },
  ];
}

const shapeUnknown = ({ operation, problem, sample, isLeftOut }: ShapeReport, at: number): BridgeEvent => ({
  type: "shape_unknown",
  severity: "warning",
  message:
    isLeftOut === true
      ? `A frame of ${operation} was left out: ${String(problem)}. Polling reads what it was about.`
      : `An answer of ${operation} could not be read: ${String(problem)}. platform.shapes.${operation} can say where things are; "unreadable" in bridge/health shows the names it had.`,
  at,
  facts: { operation, problem: String(problem), fields: sample.join(" ") },
});

const signInRefused = (signIns: number, at: number): BridgeEvent => ({
  type: "sign_in_refused",
  severity: "error",
  message:
    "Signing in does not help: the platform refuses the account, or the token it has just issued. Check platform.sign_in.body, and ask the operator whether this address must be registered. It is tried again at growing intervals.",
  at,
  facts: { sign_ins: signIns },
});

const sessionContested = (at: number): BridgeEvent => ({
  type: "session_contested",
  severity: "error",
  message:
    "The platform refuses each token soon after it was issued: probably somebody else signs in with the same account, and each sign-in ends the other's. Give the bridge an account of its own.",
  at,
});
