import type { Held } from "../../end-to-end/support/platform.js";
import { type Breach, type Fields, type History, type Recorded, textOf } from "../history.js";
import { maxAgeMs } from "../support/house.js";

/** Clock stamps are cut to whole milliseconds. */
const roundingMs = 5;
const leastPauseMs = 5_000;

const breach = (at: number, text: string): Breach => ({ at, invariant: "POST", text });

/** No control value without its record on disk before, none after its time, none more often than the contract says. */
export function judgePosts(history: History): readonly Breach[] {
  const steps = history.journal.filter(({ record }) => record["type"] === "step_sent");
  return [
    ...unrecorded(history, steps),
    ...untaken(history.journal, steps),
    ...tooLate(history, steps),
    ...repeated(history, steps),
  ];
}

const keyOf = (code: unknown, address: unknown, value: unknown) =>
  `${textOf(code)}/${textOf(address)}=${textOf(value)}`;

/** Every POST has a `step_sent` of its own that is older, or at least its command where that could not be written. */
function unrecorded(history: History, steps: readonly Recorded[]): readonly Breach[] {
  const free = new Map<string, Recorded[]>();
  for (const step of steps) {
    const { controller, address, value } = step.record;
    const key = keyOf(controller, address, value);
    free.set(key, [...(free.get(key) ?? []), step]);
  }
  return [...history.posts]
    .sort((a, b) => a.at - b.at)
    .flatMap((post) => {
      const { at, code, address, value } = post;
      const key = keyOf(code, address, value);
      const candidates = free.get(key) ?? [];
      const found = candidates.findIndex((step) => step.at <= at + roundingMs);
      if (found < 0 && isTakenWithoutSteps(history, post)) return [];
      if (found < 0) return [breach(at, `${key} was POSTed without a record before it`)];
      free.set(key, candidates.toSpliced(found, 1));
      return [];
    });
}

/**
 * Only `command_taken` has to be on disk before a POST. A full disk, or death within the second, may cost what follows it;
 * the command must then have been taken in the life in which the POST was made.
 */
function isTakenWithoutSteps(
  { journal, gaps, unwritable }: History,
  { at, code, address, value }: History["posts"][number],
): boolean {
  const deaths = gaps.flatMap(({ from, died }) => (died ? [{ from, to: from }] : []));
  if (![...unwritable, ...deaths].some(({ from, to }) => at >= from - 1_000 && at <= to + 1_000))
    return false;
  const life = journal.findLast((one) => one.at <= at + roundingMs)?.record["boot"];
  return journal.some(({ at: takenAt, record }) => {
    const { type, boot, controller, steps } = record;
    if (type !== "command_taken" || boot !== life || controller !== code || takenAt > at + roundingMs)
      return false;
    return (
      Array.isArray(steps) &&
      (steps as readonly Fields[]).some((step) => step["address"] === address && step["value"] === value)
    );
  });
}

/** Every `step_sent` follows a `command_taken` of the same life of the bridge. */
function untaken(journal: readonly Recorded[], steps: readonly Recorded[]): readonly Breach[] {
  const lives = new Map<string, unknown>();
  for (const { record } of journal)
    if (record["type"] === "command_taken") lives.set(textOf(record["id"]), record["boot"]);
  return steps
    .filter(({ record }) => lives.get(textOf(record["id"])) !== record["boot"])
    .map(({ at, record }) => breach(at, `${textOf(record["id"])} was sent in a life that had not taken it`));
}

/** The first POST of a command is not later than its `max_age` after it was sent. */
function tooLate({ sent }: History, steps: readonly Recorded[]): readonly Breach[] {
  const firsts = new Map<string, Recorded>();
  for (const step of steps)
    if (!firsts.has(textOf(step.record["id"]))) firsts.set(textOf(step.record["id"]), step);
  // The broker may have kept it for a while, which only a command that says when it was sent can know.
  return sent.flatMap(({ id, at }) => {
    const first = firsts.get(id);
    const lateMs = (first?.at ?? at) - at - maxAgeMs;
    return lateMs > 60_000 ? [breach(at, `${id} was first POSTed ${lateMs} ms after its time`)] : [];
  });
}

/** At most one second POST per step, after an ambiguous end and a newer read that differs, 5 s later. */
function repeated(history: History, steps: readonly Recorded[]): readonly Breach[] {
  const groups = new Map<string, Recorded[]>();
  for (const step of steps) {
    const { id, purpose, address } = step.record;
    const key = `${textOf(id)} ${textOf(purpose)} ${textOf(address)}`;
    groups.set(key, [...(groups.get(key) ?? []), step]);
  }
  return [...groups].flatMap(([key, [first, second, third]]) => {
    if (first === undefined || second === undefined) return [];
    if (third !== undefined) return [breach(third.at, `${key} was POSTed three times`)];
    const why = unjustified(history, first, second);
    return why === null ? [] : [breach(second.at, `${key} was POSTed again ${why}`)];
  });
}

function unjustified(history: History, first: Recorded, second: Recorded): string | null {
  const { id, controller, address, value } = first.record;
  const answer = history.journal.find(
    ({ record }) =>
      record["type"] === "step_answered" && record["id"] === id && isBetween(record, first, second),
  );
  if (answer === undefined) return "before the first was answered";
  const { code } = answer.record;
  if (code !== null && !["401", "403"].includes(textOf(code)))
    return `although it was answered ${textOf(code)}`;
  const readAt = newestRead(history, textOf(address), answer.at, second.at);
  if (readAt === null) return "without a newer read";
  const register = history.held.get(`${textOf(controller)}/${textOf(address)}`) ?? [];
  // After a refused credential nothing was taken, and an old mode that shows says nothing about this one.
  const hasToBeSent = code !== null && first.record["purpose"] !== "value";
  if (!hasToBeSent && heldThroughout(register, value, readAt, second.at))
    return "although the register held the value";
  const afterMs = second.at - answer.at;
  return afterMs >= leastPauseMs - roundingMs ? null : `${afterMs} ms after the first`;
}

const isBetween = ({ seq }: Fields, first: Recorded, second: Recorded): boolean =>
  Number(seq) > Number(first.record["seq"]) && Number(seq) < Number(second.record["seq"]);

/** When the newest fresh read of an address within a stretch began; null without one. */
const newestRead = ({ requests }: History, address: string, from: number, to: number): number | null =>
  requests.findLast(
    ({ at, line }) =>
      at >= from - roundingMs &&
      at <= to + roundingMs &&
      line.includes("flush=1") &&
      line.includes(`address=${address}`),
  )?.at ?? null;

/** What a read at any instant of a stretch must have shown. */
const heldThroughout = (register: readonly Held[], value: unknown, from: number, to: number): boolean =>
  register.some(
    (one, index) => one.value === value && one.at <= from && (register[index + 1]?.at ?? Infinity) > to,
  );
