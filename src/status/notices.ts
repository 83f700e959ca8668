import type { BridgeEvent } from "../greenhouse/events.js";
import type { ShapeReport } from "../platform/shape-reports.js";

/*
 * Events about the platform that no part raises by itself: looked for now and then, each raised once per occurrence. Pure;
 * `now` is monotonic ms, `at` epoch ms.
 */

export interface NoticedFacts {
  readonly shapes: readonly ShapeReport[];
  /** Sign-ins sent so far. */
  readonly signIns: number;
  /** How often a token was refused soon after it was issued, from the second in a row. */
  readonly contested: number;
  /** There is no credential the platform takes, although there is an account to sign in with. */
  readonly isSignInRefused: boolean;
}

export interface Noticed {
  /** Shapes told, with how many of them there were then and when that was. */
  readonly shapes: ReadonlyMap<string, { readonly count: number; readonly toldAt: number }>;
  readonly signIns: number;
  readonly signInToldAt: number | null;
  readonly contested: number;
  readonly contestedToldAt: number | null;
  /** When the newest events about shapes were raised. */
  readonly shapeEvents: readonly number[];
}

export const noticedNothing: Noticed = {
  shapes: new Map(),
  signIns: 0,
  signInToldAt: null,
  contested: 0,
  contestedToldAt: null,
  shapeEvents: [],
};

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const shapeEventsPerHour = 10;
const signInPauseMs = 600_000;
const contestedPauseMs = 3_600_000;

/** What is new, and what to remember. */
export function notice(
  before: Noticed,
  facts: NoticedFacts,
  now: number,
  at: number,
): { readonly after: Noticed; readonly events: readonly BridgeEvent[] } {
  const shapes = shapeNews(before, facts.shapes, now, at);
  const signIn = signInNews(before, facts, now, at);
  const session = sessionNews(before, facts, now, at);
  return {
    after: { ...shapes.after, ...signIn.after, ...session.after },
    events: [...shapes.events, ...signIn.events, ...session.events],
  };
}

function sessionNews(before: Noticed, { contested }: NoticedFacts, now: number, at: number) {
  const mayTell = before.contestedToldAt === null || now - before.contestedToldAt >= contestedPauseMs;
  if (contested <= before.contested || !mayTell)
    return { after: { contested, contestedToldAt: before.contestedToldAt }, events: [] };
  return { after: { contested, contestedToldAt: now }, events: [sessionContested(at)] };
}

function shapeNews(before: Noticed, reports: readonly ShapeReport[], now: number, at: number) {
  const told = new Map(before.shapes);
  const recent = before.shapeEvents.filter((then) => now - then < hourMs);
  const events: BridgeEvent[] = [];
  for (const [key, report] of summed(reports)) {
    const known = told.get(key);
    const isNews = known === undefined || (report.count > known.count && now - known.toldAt >= dayMs);
    // What is over the limit is not marked as told, so that it is told when there is room again.
    if (!isNews || recent.length >= shapeEventsPerHour) continue;
    told.set(key, { count: report.count, toldAt: now });
    recent.push(now);
    events.push(shapeUnknown(report, at));
  }
  return { after: { shapes: told, shapeEvents: recent }, events };
}

/** One entry per operation and problem: the same fault in differently named fields is one occurrence. */
function summed(reports: readonly ShapeReport[]): ReadonlyMap<string, ShapeReport> {
  const found = new Map<string, ShapeReport>();
  for (const report of reports) {
    const key = `${report.operation}\n${report.problem}`;
    const other = found.get(key);
    found.set(key, other ? { ...other, count: other.count + report.count } : report);
  }
  return found;
}

function signInNews(before: Noticed, { signIns, isSignInRefused }: NoticedFacts, now: number, at: number) {
  if (!isSignInRefused) return { after: { signIns, signInToldAt: null }, events: [] };
  const isNew = signIns > before.signIns;
  const mayTell = before.signInToldAt === null || now - before.signInToldAt >= signInPauseMs;
  if (!isNew || !mayTell)
    return { after: { signIns: before.signIns, signInToldAt: before.signInToldAt }, events: [] };
  return { after: { signIns, signInToldAt: now }, events: [signInRefused(signIns, at)] };
}

const shapeUnknown = ({ operation, problem, sample }: ShapeReport, at: number): BridgeEvent => ({
  type: "shape_unknown",
  severity: "warning",
  message: `An answer of ${operation} could not be read: ${problem}. platform.shapes.${operation} can say where things are; "unreadable" in bridge/health shows the names it had.`,
  at,
  facts: { operation, problem, fields: sample.join(" ") },
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
