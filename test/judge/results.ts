import {
  type Ask,
  doneAt,
  Findings,
  hasShown,
  type History,
  isUnderWay,
  laneOf,
  mayHaveShown,
  type Post,
  type Raw,
  type Read,
  readsBetween,
  type Result,
  type Told,
  type ValidRead,
} from "./history.js";
import type { Rule } from "./rules.js";
import { endWithinMs, longestWaitMs, modeProofMs, mostInAMinute, trustedSkewMs } from "./timing.js";
import {
  isDegree,
  isIdle,
  isNear,
  isPulse,
  mayTell,
  modeAddress,
  provenBy,
  provesMode,
  readsLag,
  sameAs,
  shows,
  showsAll,
  showsSending,
  type Step,
  targetOf,
} from "./values.js";

/* Conditions for a published result: it belongs to its command, was journaled before, and is true. */

/** A result with everything that it is judged by. */
interface Case {
  readonly history: History;
  readonly find: Findings<Rule>;
  readonly ask: Ask;
  readonly told: Told;
  readonly result: Result;
  /** Whether an earlier run sent it. */
  readonly isRecovered: boolean;
  /** The command whose POSTs count: itself, or the equal one whose read-backs it took over. */
  readonly poster: Ask;
  readonly last: Post | undefined;
  /** Whether a POST of its own left, or may have. */
  readonly isSent: boolean;
  readonly target: Step;
  /** Valid reads of the last POST's address between it and the outcome. */
  readonly reads: readonly ValidRead[];
  /** Whether none of these reads can belong to a newer command's checks. */
  readonly isAlone: boolean;
  readonly tell: string;
}

const tellOf = ({ by, word, payload }: Ask, { outcome, reason }: Result): string =>
  `${by} (${word ?? payload}) ended ${outcome} ${reason ?? ""}`;

/** Judges the first publication of a command's result. */
export function judgeResult(history: History, ask: Ask, told: Told): Findings<Rule> {
  const find = new Findings<Rule>();
  judgeJournaled(history, find, ask, told);
  if (ask.boot !== told.boot && !told.result.repeated) find.saw(`recovered as ${told.result.outcome}`);
  if (told.result.outcome === "refused") judgeRefusal(history, find, ask, told);
  judgeTruth(history, find, ask, told);
  return find;
}

/** Judges a later publication of a result against the first. */
export function judgeAgain(ask: Ask, first: Told, { result }: Told): Findings<Rule> {
  const find = new Findings<Rule>();
  const { outcome, reason, finished_at, repeated } = result;
  const isSame = first.result.outcome === outcome && first.result.finished_at === finished_at;
  if (isSame) {
    if (repeated) find.saw("a result repeated");
    else find.broken("S7", `${ask.by}: its result came again without repeated`);
  } else if (ask.word === "stop" && !first.isJournaled)
    find.saw("the outcome of a stop that the journal could not take is found out again");
  // The result of a dry run is not saved with fsync: a power cut may keep only its beginning.
  else if (first.result.outcome !== "dry_run" || outcome !== "refused")
    find.broken(
      "S7",
      `${ask.by} has two results: ${first.result.outcome} ${first.result.reason ?? ""}, then ${outcome} ${reason ?? ""}`,
    );
  return find;
}

/** Judges whether a command that came before `until` has ended with a published result. */
export function judgeEnd(history: History, ask: Ask, until: number): Findings<Rule> {
  const find = new Findings<Rule>();
  // A retained command is answered once for each topic and connection.
  if (ask.retained || until - ask.at < endWithinMs) return find;
  if (history.journal.outcomesOf(ask) > 1) find.broken("S7", `the journal holds two results of ${ask.by}`);
  const [first] = ask.results;
  if (first === undefined) {
    const isKnown = history.journal.isWritten("result", ask, until);
    if (isKnown && !history.mayBeUnheard(ask))
      find.broken("L1", `the result of ${ask.by} was journaled and never published`);
    if (!isKnown && !history.mayBeGone(ask)) find.broken("L1", `${ask.by} has no result`);
    return find;
  }
  const { outcome } = first.result;
  // A result on disk arrives, whatever cuts the link or kills the bridge meanwhile.
  const isKept = outcome !== "refused" && !history.looksTooOld(ask);
  if (!ask.delivered && isKept && history.journal.isDurable("result", ask, until))
    find.broken("L1", `the result of ${ask.by}, ${outcome}, never arrived`);
  return find;
}

function judgeJournaled(
  history: History,
  find: Findings<Rule>,
  ask: Ask,
  { at, result, isJournaled }: Told,
): void {
  if (isJournaled) return;
  // A stop's result is published whatever the disk does; of very many stops those whose turn never came are only
  // counted.
  const isCounted = ask.posts.length === 0 && sentBefore(history, ask) > mostInAMinute;
  if (ask.word === "stop" && (isCounted || history.journal.mayBeMissing(at))) return;
  // Refusals are journaled without waiting; a command that never came into the journal is not ended again.
  if (result.outcome === "refused" && !history.journal.isOpen(ask, at)) return;
  find.broken("S7", `the result of ${ask.by} is published before it is journaled`);
}

function judgeRefusal(history: History, find: Findings<Rule>, ask: Ask, { at, result }: Told): void {
  const { reason } = result;
  if (ask.word === "stop" && ask.ownId === null && (reason === "duplicate" || reason === "overloaded"))
    find.broken("S11", `the stop ${ask.by} is refused as ${reason}`);
  const sent = reason === "overloaded" ? sentBefore(history, ask) : Infinity;
  if (sent <= mostInAMinute)
    find.broken("S16", `${ask.by} is overloaded with ${sent} commands to ${laneOf(ask)}`);
  if (reason === "duplicate") find.saw(`a duplicate by ${ask.ownId === null ? "payload" : "id"}`);
  // With a time of its own it may be older than this clock says. The end of a lease has no age, and expires with its
  // lease.
  const earlyMs = ask.mayExpireAt - at;
  if (
    reason === "expired" &&
    ask.rule !== "lease" &&
    !ask.payload.includes('"at"') &&
    earlyMs > 1 + history.clockMs
  )
    find.broken("S7", `${ask.by} is refused as too old, ${Math.round(earlyMs)} ms too early`);
  if (reason === "no_read_back" && !history.lackedValue(ask.code, ask.at))
    find.broken("S7", `${ask.by}: no answer of the platform lacked a value`);
}

/** The number of commands to its target in the last minute, itself included; targets that do not exist count as one. */
function sentBefore(history: History, ask: Ask): number {
  let count = 0;
  for (const one of history.asks.values()) {
    const isOfTarget = ask.settings === null ? one.settings === null : laneOf(one) === laneOf(ask);
    if (isOfTarget && one.at > ask.at - 60_000 && one.at <= ask.at) count += 1;
  }
  return count;
}

function judgeTruth(history: History, find: Findings<Rule>, ask: Ask, told: Told): void {
  const { result } = told;
  const isRecovered = ask.boot !== told.boot || ask.inherits;
  // A result from before a crash says nothing about now.
  if (isRecovered && result.repeated) return;
  const { outcome, reason } = result;
  const tell = tellOf(ask, result);
  const poster = ask.posts.length > 0 ? ask : (ask.donor ?? ask);
  if (poster.posts.some((post) => post.boot === told.boot && isUnderWay(history, post, told.at)))
    find.broken("S7", `${tell} while its POST is under way`);
  if (isRecovered && outcome !== "refused" && !mayHaveBeenSent(history, ask, told))
    find.broken("S7", `${tell} after a restart although nothing of it was sent`);
  const isUnsent =
    outcome === "refused" || outcome === "already" || outcome === "dry_run" || reason === "before_sending";
  if (isUnsent && ask.posts.length > 0) find.broken("S4", `${tell} although it was sent`);
  if (ask.settings === null || ask.word === null) {
    if (outcome !== "refused") find.broken("S7", `${tell}: it is no command`);
    return;
  }
  const target = targetOf(ask.settings, ask.word);
  const last = poster.posts.at(-1);
  judgeOutcome({
    history,
    find,
    ask,
    told,
    result,
    isRecovered,
    poster,
    last,
    isSent: ask.posts.some((one) => one.sent || one.wires > 0),
    target,
    ...readsFor(history, ask, told, last, target),
    tell,
  });
  if (!isRecovered && ask.posts.length > 0 && history.knowsPostsOf(ask)) judgeSteps(find, ask, result, tell);
}

/**
 * Whether an earlier run may have sent it, or the equal command whose read-backs it took over; for a stop this is
 * unknown.
 */
function mayHaveBeenSent(history: History, ask: Ask, { at, boot: teller, result }: Told): boolean {
  const { journal } = history;
  // The record of sending has no fsync, so a power cut may lose it, also one after a later run. Then it is unknown.
  const checked = ask.phases.find(({ phase }) => phase === "checking");
  if (checked !== undefined && history.machineEndedBetween(checked.boot, teller)) return true;
  // Killed while the disk was writing the record of sending: the POST was about to follow.
  if (journal.isWritten("sending", ask, at, result.id)) return true;
  if (ask.word === "stop" || ask.posts.length > 0 || ask.donor !== null || ask.inherits) return true;
  return ask.phases.some(({ phase }) => phase === "sending");
}

function readsFor(
  history: History,
  ask: Ask,
  { at }: Told,
  last: Post | undefined,
  target: Step,
): Pick<Case, "reads" | "isAlone"> {
  const since = last?.endedAt ?? last?.begunAt ?? ask.at;
  const until = doneAt(ask) ?? at;
  const { address } = provenBy(ask, last ?? target);
  return {
    reads: readsBetween(history, ask.code, address, since, until).filter(({ endedAt }) => endedAt !== null),
    isAlone: !isAnotherChecking(history, ask, since - 60_000, until),
  };
}

function isAnotherChecking(history: History, ask: Ask, from: number, to: number): boolean {
  const lane = history.lane(ask.code, ask.actuator);
  const first = lane.findLastIndex(({ at }) => at < from - longestWaitMs) + 1;
  return lane
    .slice(first)
    .some(
      ({ phases, by }) =>
        by !== ask.by && phases.some(({ phase, at }) => phase === "checking" && at >= from && at <= to),
    );
}

function judgeOutcome(one: Case): void {
  const { ask, result, isRecovered, tell, find } = one;
  switch (result.outcome) {
    case "confirmed":
      judgeConfirmed(one);
      break;
    case "already":
      judgeAlready(one);
      break;
    case "unconfirmed":
      if (!isRecovered) judgeUnconfirmed(one);
      else judgeNotShown(one);
      break;
    case "failed":
      if (isRecovered) judgeFailedAfterCrash(one);
      else judgeFailed(one);
      break;
    case "unknown":
      judgeUnknown(one);
      break;
    case "rejected":
      judgeRejected(one);
      break;
    case "superseded":
      judgeSuperseded(one);
      break;
    case "dry_run":
      if (!ask.dryRun) find.broken("S7", `${tell}: nobody asked for a dry run`);
      break;
    case "refused":
      if (isRecovered && result.reason !== "shutting_down") find.broken("S7", `${tell} after a restart`);
      if (result.reason === "retained" && !ask.retained) find.broken("S7", `${tell}: it was not retained`);
      break;
    default:
      find.broken("S7", `${tell}, which is no outcome`);
  }
}

/** The newest valid read since then that shows it, or may have. */
function proofOf(history: History, ask: Ask, sent: Step, since: number, at: number): ValidRead | undefined {
  const step = provenBy(ask, sent);
  const isProof = (raw: Raw) =>
    showsAll(ask, step, raw) || (isPulse(ask.readings, ask.settings) && isIdle(raw));
  return readsBetween(history, ask.code, step.address, since, at).findLast((read) =>
    mayHaveShown(read, isProof),
  );
}

function judgeConfirmed(one: Case): void {
  const { history, find, ask, told, isRecovered, poster, last, target, tell } = one;
  // A restarted program's reads begin after its start.
  const since = isRecovered ? history.startedAt(told.boot) : (last?.endedAt ?? last?.begunAt ?? ask.at);
  const proof = proofOf(history, ask, target, since, told.at);
  if (proof === undefined) find.broken("S8", `${tell}: no read-back shows ${target.value}`);
  const isShown = proof !== undefined && mayHaveShown(proof, (raw) => showsAll(ask, target, raw));
  // A pulse may show nothing: then acceptance is the proof, also by a platform that carries it out later.
  const isIdleAlone = isPulse(ask.readings, ask.settings) && !isShown;
  if (proof !== undefined && !isIdleAlone) judgeHeld(one, poster, proof);
  if (last === undefined && !isRecovered) find.broken("S8", `${tell} without a POST`);
  const isAccepted = poster.posts.some(({ outcome }) => outcome === "accepted") || isRecovered;
  if (isIdleAlone && !isAccepted && !poster.posts.some(isUntold))
    find.broken("S8", `${tell} although nothing was accepted, and nothing of a pulse is shown`);
}

function judgeAlready(one: Case): void {
  const { history, find, ask, told, target, tell } = one;
  if (isPulse(ask.readings, ask.settings)) find.broken("S8", `${tell}: a pulse is never there already`);
  const proof = proofOf(history, ask, target, ask.at, told.at);
  if (proof === undefined) find.broken("S8", `${tell}: no fresh read shows ${target.value}`);
  else judgeHeld(one, ask, proof);
  judgeModeShown(one);
  if (ask.force || ask.word === "stop") find.broken("S4", `${tell} although it was forced or is a stop`);
  // It is published once it is on disk; the next command may be sent by then.
  const until = Math.min(doneAt(ask) ?? told.at, nextCheckedAt(history, ask));
  const posts = history.postsTo(ask.code, ask.actuator);
  const last = posts.findLast(({ begunAt }) => begunAt <= told.at);
  if (last === undefined || last.begunAt > until) return;
  const isOver = last.ask?.phases.some(({ phase, at }) => phase === "done" && at <= told.at);
  if (isOver === false && !sameAs(last.value, target.value))
    find.broken("S8", `${tell} while ${last.value} of ${last.ask?.by ?? ""} is on its way`);
  if (last.boot !== ask.boot || last.endedAt === null) return;
  const travelMs = ask.settings?.travelMs ?? 0;
  if (ask.word !== null && isDegree(ask.word) && told.at - last.endedAt < travelMs)
    find.broken("S8", `${tell} while the actuator may still travel`);
  if (last.sent && readsBetween(history, ask.code, last.address, last.endedAt).length === 0)
    find.broken("S8", `${tell} although the POST of ${last.ask?.by ?? ""} was not read back`);
}

/**
 * When the next command of its actuator began its checks; Infinity for none. One is checked at a time, so this one was
 * decided by then.
 */
export function nextCheckedAt(history: History, ask: Ask): number {
  const checkedAt = ({ phases }: Ask) => phases.find(({ phase }) => phase === "checking")?.at;
  const own = checkedAt(ask) ?? ask.at;
  const later = history
    .lane(ask.code, ask.actuator)
    .flatMap((one) => (one !== ask && one.boot === ask.boot ? (checkedAt(one) ?? []) : []));
  return Math.min(...later.filter((at) => at > own), Infinity);
}

/** A degree counts only in position mode. */
function judgeModeShown({ history, find, ask, tell }: Case): void {
  const { settings, word } = ask;
  if (settings === null || word === null || !isDegree(word)) return;
  if (provenBy(ask, { address: modeAddress(settings), value: word }).address !== modeAddress(settings))
    return;
  const modes = readsBetween(history, ask.code, modeAddress(settings), ask.at);
  if (!modes.some((read) => mayHaveShown(read, (raw) => provesMode(settings, raw))))
    find.broken("S8", `${tell} although no read shows position mode`);
}

/** Whether it ended in a way that nobody outside knows. */
const isUntold = (post: Post | undefined): boolean => post?.outcome === null && post.endedAt !== null;

function judgeUnconfirmed(one: Case): void {
  const { find, last, reads, tell } = one;
  if (last?.outcome !== "accepted" && !isUntold(last)) {
    find.broken("S7", `${tell}: nothing was accepted (${last?.outcome ?? "nothing sent"})`);
    return;
  }
  if (reads.length === 0) find.broken("S7", `${tell}: without a read after the POST it is unknown`);
  judgeNotShown(one);
}

/**
 * An unconfirmed value must not have been shown by a seen read; after a restart a mode alone proves nothing about its
 * command.
 */
function judgeNotShown(one: Case): void {
  const { history, find, ask, told, last, reads, isAlone, isRecovered, target, tell } = one;
  if (last === undefined || !isAlone) return;
  if (isRecovered && (last.address !== target.address || last.value !== target.value)) return;
  const since = isRecovered ? history.startedAt(told.boot) : -Infinity;
  const shown = reads.find(
    (read) => read.begunAt >= since && hasShown(read, (raw) => showsAll(ask, last, raw)),
  );
  if (shown !== undefined) find.broken("S7", `${tell}: a read-back showed it at ${shown.begunAt}`);
  const from = Math.max(since, last.endedAt ?? last.begunAt);
  if (!history.isHonest(from, told.at)) return;
  const held = history.heldBetween(ask.code, last.address, from, told.at);
  if (held.length > 0 && held.every((value) => showsAll(ask, last, value)))
    find.broken("S7", `${tell}, and the register held ${last.value} all the time`);
}

function judgeFailedAfterCrash(one: Case): void {
  const { find, ask, target, tell } = one;
  const accepted = ask.posts.some(
    ({ outcome, value, address }) =>
      outcome === "accepted" && value === target.value && address === target.address,
  );
  if (accepted && ask.isAnswerKept)
    find.broken("S7", `${tell} after a restart although the journal says that the platform accepted it`);
  judgeNotShown(one);
}

function judgeFailed({ find, ask, told, result, target, last, reads, isAlone, tell }: Case): void {
  if (result.reason === "expired_midway") {
    const isEarly = Number.isFinite(ask.latestPostAt) && told.at <= ask.latestPostAt - trustedSkewMs;
    // A step before the value was shown too late, as after the computer slept.
    const isShownLate =
      last !== undefined &&
      last.value !== target.value &&
      reads.some(({ begunAt }) => begunAt > (last.endedAt ?? last.begunAt) + modeProofMs);
    if (ask.posts.length === 0 || (isEarly && !isShownLate)) find.broken("S7", `${tell}: too early`);
    return;
  }
  if (result.reason === "interlock") {
    if (ask.posts.length === 0) find.broken("S7", `${tell} although nothing was sent`);
    return;
  }
  if (result.reason === "not_sent") {
    const unsent = result.steps.at(-1);
    const isOf = ({ address, value }: Post) => address === unsent?.address && value === unsent.value;
    if (ask.posts.some((one) => isOf(one) && one.wires > 0))
      find.broken("S7", `${tell} although a POST left`);
    return;
  }
  const steps = ask.posts.filter((one) => one.address === last?.address && one.value === last.value);
  if (steps.some(({ outcome }) => outcome === "accepted"))
    find.broken("S7", `${tell} although the platform accepted it`);
  if (reads.length === 0) find.broken("S7", `${tell} without a read after the POST: it is unknown`);
  const shown = reads.find((read) => last !== undefined && hasShown(read, (raw) => shows(ask, last, raw)));
  if (shown !== undefined && isAlone) find.broken("S7", `${tell} although a read showed the value`);
}

function judgeUnknown({ find, ask, isSent, isRecovered, isAlone, last, reads, tell }: Case): void {
  if (isRecovered) return;
  if (!isSent && ask.donor === null) find.broken("S7", `${tell}: nothing was sent`);
  // What earlier reads showed may have another cause, or be a lie. The first of lagging reads proves nothing, nor does
  // a pulse that is over.
  const isSilent = (readsLag(ask.readings) && reads.length < 2) || isPulse(ask.readings, ask.settings);
  const newest = isSilent ? undefined : reads.at(-1);
  const isGood = (raw: Raw) => last === undefined || !showsSending(ask, last, raw);
  if (isAlone && newest !== undefined && hasShown(newest, isGood))
    find.broken("S7", `${tell} although the newest read after the POST showed ${String(newest.raw)}`);
}

function judgeRejected({ find, ask, last, tell }: Case): void {
  const isFlagged = isUntold(last) || (ask.readings.has("flagged_refusals") && last?.outcome !== "accepted");
  const code = last?.bodyCode ?? null;
  const isSaid = isFlagged || (code !== null && code !== "200");
  if (!isSaid && !ask.posts.some(({ outcome, sent }) => outcome === "unauthorized" && sent))
    find.broken("S7", `${tell}: the platform gave no other code (${last?.outcome ?? "nothing sent"})`);
}

function judgeSuperseded({ history, find, ask, result, isSent, isRecovered, tell }: Case): void {
  const newest = history.lane(ask.code, ask.actuator).findLast((one) => one !== ask);
  if (newest === undefined || newest.at < ask.at) find.broken("S7", `${tell}: nothing newer came`);
  if (result.reason === "after_sending" && !isSent && ask.donor === null && !isRecovered)
    find.broken("S7", `${tell}: nothing was sent`);
}

/** The platform must really have held the value at some time, unless it told a lie that no client could detect. */
function judgeHeld(one: Case, poster: Ask, proof: Read): void {
  const { history, find, ask, told, tell } = one;
  const target = provenBy(ask, one.target);
  if (proof.isLie) {
    find.saw("a lie was believed");
    return;
  }
  // Some platforms show a window's position while it travels, and others no degree at all.
  const { showsTravel, clockMs } = history;
  if (showsTravel || (proof.raw !== undefined && showsSending(ask, target, proof.raw ?? ""))) return;
  const from = Math.min(poster.posts[0]?.begunAt ?? ask.at, proof.begunAt);
  const held = history.heldBetween(ask.code, target.address, from - clockMs, told.at + clockMs);
  const wasHeld = (value: string) =>
    sameAs(target.value, value) ||
    isNear(ask.settings, target.value, value) ||
    mayTell(ask.readings, value, target.value);
  if (!held.some(wasHeld))
    find.broken("S8", `${tell} but the platform never held ${target.value}: ${held.join(", ")}`);
}

function judgeSteps(find: Findings<Rule>, ask: Ask, { steps }: Result, tell: string): void {
  for (const { address, value, attempts, code } of steps) {
    const posts = ask.posts.filter((one) => one.address === address && one.value === value);
    if (posts.length !== attempts)
      find.broken("S7", `${tell}: its step says ${attempts} attempts, ${posts.length} were made`);
    const answered = posts.findLast(({ sent }) => sent)?.bodyCode ?? null;
    if (code !== answered)
      find.broken("S7", `${tell}: its step says code ${code ?? "null"}, it was ${answered ?? "null"}`);
  }
  if (steps.length === 0) find.broken("S7", `${tell} without telling its steps`);
}
