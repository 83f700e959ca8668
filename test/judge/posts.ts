import { isWindow } from "../../src/simulator/control-values.js";
import {
  type Ask,
  type Device,
  doneAt,
  Findings,
  hasShown,
  type History,
  isTaken,
  isUnderWay,
  lastBefore,
  mayHaveShown,
  type Post,
  type ValidRead,
  readsBetween,
} from "./history.js";
import type { Rule } from "./rules.js";
import {
  catchUpMs,
  modeProofMs,
  samePayloadMs,
  secondPostMs,
  stallExcusesMs,
  stopDistanceMs,
  timerMs,
} from "./timing.js";
import {
  isDegree,
  modeAddress,
  positionAddress,
  positionMode,
  provenBy,
  provesMode,
  sameAs,
  shows,
  stateAddresses,
  targetOf,
} from "./values.js";

/*
 * Conditions for a POST when it begins. Only earlier events count, so the judgement is the same at that moment and
 * afterwards.
 */

/** Ends after which it is unknown whether the platform accepted it. */
const ambiguous = new Set([
  ...["timeout", "interrupted", "server", "protocol", "throttled", "unauthorized"],
  "unanswered",
]);

/** One POST with everything that it is judged by. */
interface Posting {
  readonly history: History;
  readonly find: Findings<Rule>;
  readonly post: Post;
  readonly ask: Ask;
  readonly device: Device;
  /** Earlier POSTs of the same command. */
  readonly own: readonly Post[];
  readonly now: number;
  /** Describes it in the text of a breach. */
  readonly what: string;
}

/** Judges a POST at its beginning, when it is the newest of its command and actuator. */
export function judgePost(history: History, post: Post): Findings<Rule> {
  const find = new Findings<Rule>();
  const { ask } = post;
  const what = `${post.code}/${post.address}=${post.value} by ${ask?.by ?? "nobody"}`;
  if (ask === null || ask.settings === null) {
    find.broken("S4", `a POST without a command: ${what}`);
    return find;
  }
  const own = ask.posts.slice(0, Math.max(0, ask.posts.indexOf(post)));
  const posting = { history, find, post, ask, device: ask.settings, own, now: post.begunAt, what };
  judgeRight(posting);
  judgeIdentity(posting);
  judgeOrder(posting);
  judgeValue(posting);
  if (own.length === 0) judgeSeenBefore(posting);
  judgeMode(posting);
  judgeLight(posting);
  judgeSecond(posting);
  return find;
}

/** Judges a POST when its bytes leave. */
export function judgeLeaving(history: History, { ask }: Post, at: number): Findings<Rule> {
  const find = new Findings<Rule>();
  if (ask === null || history.journal.isDurable("command_taken", ask, at)) return find;
  if (ask.word === "stop") find.saw("a stop without the journal");
  else if (ask.rule !== null) find.saw("what a rule sends without the journal");
  else find.broken("S5", `a POST of ${ask.by} leaves before its record is on disk at ${at}`);
  return find;
}

function judgeRight({ history, find, post, ask, own, now, what }: Posting): void {
  const broken = (rule: Rule, text: string) => find.broken(rule, `${text}: ${what}`);
  if (post.boot !== ask.boot) broken("S4", "POST for a command of before the restart");
  if (ask.mustNotPost !== null) broken("S4", `POST for a command that is ${ask.mustNotPost}`);
  if (ask.results.some(({ at }) => at <= now - history.clockMs))
    broken("S4", "POST after the command's result");
  if (own.length === 0 && history.stoppedAt(post.boot) <= now - history.clockMs)
    broken("S12", "a first POST after SIGTERM");
  const lateMs = now - ask.latestPostAt;
  if (lateMs > timerMs + history.clockMs) broken("S6", `POST ${Math.round(lateMs)} ms too late`);
}

function judgeIdentity({ history, find, ask, now, what }: Posting): void {
  const { repeatOf, ownId } = ask;
  const lane = history.lane(ask.code, ask.actuator);
  const wasPosted = ({ posts }: Ask) => posts.some(({ begunAt }) => begunAt <= now);
  // A second press of stop is a new stop, which no broker distinguishes from a repeated message.
  const isStopAgain = ask.word === "stop" && ownId === null;
  if (repeatOf !== null && !isStopAgain && wasPosted(repeatOf) && repeatOf.boot === ask.boot) {
    // Long after its end, or after another command, the same payload is a new command.
    const isBetween = (one: Ask) =>
      one !== ask && one !== repeatOf && one.at >= repeatOf.at && one.at <= ask.at;
    const isOver = ask.at - (doneAt(repeatOf) ?? Infinity) > samePayloadMs;
    if (ownId !== null || (!isOver && !lane.some(isBetween)))
      find.broken("S4", `POST for a message that came twice: ${what}`);
  }
  if (ownId === null) return;
  for (const one of lane)
    if (one !== ask && one.ownId === ownId && wasPosted(one))
      find.broken("S4", `POST for the id ${ownId} that ${one.by} had used: ${what}`);
}

const isFirst = (post: Post): boolean => post.ask?.posts[0] === post;

function judgeOrder({ history, find, post, ask, device, own, now, what }: Posting): void {
  const posts = history.postsTo(ask.code, ask.actuator);
  const newest = lastBefore(posts, post);
  if (newest?.boot === post.boot && isUnderWay(history, newest, now))
    find.broken("S11", `a POST while another to the same actuator is under way: ${what}`);
  const last = newest?.ask ?? null;
  if (last !== null && last !== ask && own.length > 0)
    find.broken("S11", `sequences of one actuator mix: ${what} after a POST of ${last.by}`);
  const stop = history
    .lane(ask.code, ask.actuator)
    .findLast(
      (one) => one.word === "stop" && isTaken(one) && !one.dryRun && one.boot === ask.boot && one.at < now,
    );
  if (stop !== undefined && stop.at > ask.at && ask.word !== "stop")
    find.broken("S11", `a POST after the stop ${stop.by}: ${what}`);
  if (ask.word === "stop") judgeStopDistance({ history, find, post, now, what }, posts);
  else if (own.length === 0) {
    const first = lastBefore(posts, post, isFirst);
    const sinceMs = first?.boot === post.boot ? now - first.begunAt : Infinity;
    if (sinceMs < device.minIntervalMs - timerMs - history.clockMs)
      find.broken(
        "S11",
        `${Math.round(sinceMs)} ms after the last command, min_interval is ${device.minIntervalMs}: ${what}`,
      );
  }
}

function judgeStopDistance(
  { history, find, post, now, what }: Pick<Posting, "history" | "find" | "post" | "now" | "what">,
  posts: readonly Post[],
): void {
  const last = lastBefore(posts, post, ({ ask }) => ask?.word === "stop");
  // Without a credential nothing was sent, so it was no POST.
  if (last?.boot !== post.boot || (last.outcome === "unauthorized" && !last.sent)) return;
  const sinceMs = now - last.begunAt;
  if (sinceMs < stopDistanceMs - timerMs - history.clockMs)
    find.broken("S11", `${Math.round(sinceMs)} ms after another stop: ${what}`);
  else if (sinceMs < stopDistanceMs + timerMs) find.saw("a stop waits for its distance from the last");
}

function judgeValue({ find, post, ask, device, what }: Posting): void {
  const { word } = ask;
  if (word === null) return;
  const target = targetOf(device, word);
  if (post.address === target.address && post.value === target.value) return;
  const isMode = post.value === positionMode && post.address === modeAddress(device) && isDegree(word);
  const isLeadIn =
    device.kind === "light" && post.value === "1010" && device.leadIn !== "never" && word !== "on";
  if (!isMode && !isLeadIn) find.broken("S14", `a value nobody asked for: ${what}, asked was ${word}`);
}

/** Before the first POST the controller has to be online, with a fresh value. */
function judgeSeenBefore({ history, find, ask, device, now, what }: Posting): void {
  if (ask.word === "stop") return;
  // Another command may have asked for the controller since, and got another answer.
  const wasOnline = readsBetween(history, ask.code, "", ask.at, now).some((read) =>
    mayHaveShown(read, (raw) => raw === "online"),
  );
  if (!wasOnline) find.broken("S12", `POST although the controller was not seen online: ${what}`);
  const isFresh = stateAddresses(device).some(
    (address) => readsBetween(history, ask.code, address, ask.at, now).length > 0,
  );
  if (!isFresh && !ask.force) find.broken("S12", `POST without a fresh read before: ${what}`);
}

/** Whether a fresh read of the command showed the mode, or a degree where that proves it. */
const wasInMode = (history: History, ask: Ask, device: Device, now: number): boolean =>
  readsBetween(history, ask.code, modeAddress(device), ask.at, now).some((read) =>
    mayHaveShown(read, (raw) => provesMode(device, raw)),
  );

function judgeMode({ history, find, post, ask, device, own, now, what }: Posting): void {
  const isDegreeSent =
    isWindow(device.kind) && isDegree(post.value) && post.address === positionAddress(device);
  if (!isDegreeSent) return;
  const mode = own.findLast(
    ({ value, address }) => value === positionMode && address === modeAddress(device),
  );
  // If sending the mode again would restart the device, it is left out once a fresh read shows it.
  if (mode === undefined && ask.readings.has("mode_restarts") && wasInMode(history, ask, device, now)) return;
  if (mode === undefined || isUnderWay(history, mode, now)) {
    find.broken("S2", `a degree without mode 10100 before it: ${what}`);
    return;
  }
  // A mode that can only be written counts once it was accepted.
  if (provenBy(ask, mode).address !== mode.address && mode.outcome === "accepted") return;
  const endedAt = mode.endedAt ?? mode.begunAt;
  const proof = readsBetween(history, ask.code, mode.address, endedAt, now).find((read) =>
    mayHaveShown(read, (raw) => provesMode(device, raw)),
  );
  const stalledMs = now - history.stalledBefore(now) < stallExcusesMs ? catchUpMs : 0;
  if (proof === undefined) find.broken("S2", `a degree although mode 10100 was not read back: ${what}`);
  else if (proof.begunAt > endedAt + modeProofMs + timerMs + history.clockMs + stalledMs)
    find.broken("S2", `mode 10100 was proven too late: ${what}`);
}

function judgeLight({ history, find, post, ask, device, now, what }: Posting): void {
  const needsLight =
    device.kind === "light" &&
    device.leadIn !== "never" &&
    ask.word !== "on" &&
    ask.word !== "stop" &&
    post.value !== "1010" &&
    !ask.force;
  if (!needsLight) return;
  const wasLit = readsBetween(history, ask.code, device.address, ask.at, now).some((read) =>
    mayHaveShown(read, (raw) => sameAs("1010", raw)),
  );
  if (!wasLit) find.broken("S2", `a light's value although 1010 was not read back: ${what}`);
}

function judgeSecond({ history, find, post, ask, device, own, now, what }: Posting): void {
  // Without a credential nothing was sent, so it was no POST.
  const earlier = own.filter(
    ({ address, value, outcome, sent }) =>
      address === post.address && value === post.value && (sent || outcome !== "unauthorized"),
  );
  const [first] = earlier;
  if (first === undefined) return;
  if (isUnderWay(history, first, now)) {
    find.broken("S1", `a second POST before the first had ended: ${what}`);
    return;
  }
  find.saw("a second POST");
  if (earlier.length > 1) find.broken("S1", `POST number ${earlier.length + 1}: ${what}`);
  const { outcome, bodyCode, sent } = first;
  const isUnauthorized = outcome === "unauthorized";
  const isAmbiguous = ambiguous.has(outcome ?? "unanswered") && (bodyCode === null || isUnauthorized);
  if (!isAmbiguous || !sent)
    find.broken("S1", `a second POST after ${outcome ?? "nothing"} (code ${bodyCode ?? "none"}): ${what}`);
  const endedAt = first.endedAt ?? first.begunAt;
  if (now - endedAt < secondPostMs - timerMs - history.clockMs)
    find.broken("S1", `a second POST after ${Math.round(now - endedAt)} ms: ${what}`);
  // After a refused credential nothing was accepted, so the register's value is older; a stop needs no read.
  if (isUnauthorized && ask.word === "stop") return;
  const isWanted = ask.word !== null && post.value === targetOf(device, ask.word).value;
  if (isUnauthorized && (ask.force || !isWanted)) return;
  const { address } = provenBy(ask, post);
  const last = readsBetween(history, ask.code, address, endedAt, now).at(-1);
  if (last === undefined) find.broken("S1", `a second POST without a read before it: ${what}`);
  else if (showed(history, post, last))
    find.broken("S1", `a second POST although the read showed the value: ${what}`);
}

/** Whether a read before a POST showed its value; if nobody saw it, whether the register held only that value. */
function showed(history: History, post: Post, read: ValidRead): boolean {
  const { ask, code, address, begunAt } = post;
  if (ask === null) return false;
  if (hasShown(read, (raw) => shows(ask, provenBy(ask, post), raw))) return true;
  if (read.raw !== undefined) return false;
  const held = history.heldBetween(code, address, read.begunAt, begunAt);
  return held.length > 0 && held.every((value) => sameAs(post.value, value));
}
