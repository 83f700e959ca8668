import { fields } from "../../end-to-end/support/watch.js";
import { type Breach, type Fields, type History, type Sent, textOf } from "../history.js";

/** What became of every command that was sent. */
export interface CommandVerdict {
  readonly breaches: readonly Breach[];
  readonly outcomes: Readonly<Record<string, number>>;
  readonly sent: number;
  /** Never reached the bridge, or went with it before they were journaled. Nothing came of them. */
  readonly undelivered: number;
}

/** A command is journaled when it comes; one that was sent just before may have gone with the process that took it. */
const openMs = 5_000;
const told = /^greenhouse\/gh-0001\/(result|actuator\/[^/]+\/result)$/;

/** Exactly one outcome for every command taken, and one for each that must have arrived. */
export function judgeCommands(history: History): CommandVerdict {
  const published = resultsById(
    history.messages
      .filter(({ topic }) => told.test(topic))
      .map(({ at, payload }) => ({ at, result: fields(payload) })),
  );
  const taken = new Map<string, Fields>();
  for (const { record } of history.journal)
    if (record["type"] === "command_taken") taken.set(textOf(record["id"]), record);
  const journaled = resultsById(
    history.journal
      .filter(({ record }) => record["type"] === "result")
      .map(({ at, record }) => ({ at, result: record["result"] as Fields })),
  );
  const breaches: Breach[] = [];
  const outcomes: Record<string, number> = {};
  let undelivered = 0;
  for (const sent of history.sent) {
    const results = published.get(sent.id) ?? [];
    const add = (text: string) =>
      breaches.push({ at: sent.at, invariant: "lost command", text: `${sent.id}: ${text}` });
    const first = results[0]?.result;
    if (first === undefined) {
      const onDisk = journaled.get(sent.id)?.[0];
      if (onDisk !== undefined && unheard(history, onDisk.at)) undelivered += 1;
      else if (onDisk !== undefined)
        add(`its result was journaled at ${timeOf(onDisk.at)} and never published`);
      else if (taken.has(sent.id)) add("it was taken and never ended");
      else if (mayBeGone(history, sent)) undelivered += 1;
      else add("the broker took it and nothing ever came of it");
      continue;
    }
    const outcome = [first["outcome"], first["reason"]].filter(Boolean).join("/");
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    const different = new Set(
      results.map(
        ({ result }) =>
          `${textOf(result["outcome"])} ${textOf(result["reason"])} ${textOf(result["finished_at"])}`,
      ),
    );
    if (different.size > 1) add(`it has ${different.size} outcomes: ${[...different].join("; ")}`);
    if ((journaled.get(sent.id)?.length ?? 0) > 1) add("the journal holds two outcomes");
    breaches.push(...untrue(history, sent, results[0]?.at ?? 0, first));
  }
  return { breaches, outcomes, sent: history.sent.length, undelivered };
}

interface Told {
  readonly at: number;
  readonly result: Fields;
}

/** Answers to a second delivery of the same message carry the first result; they are no outcome of their own. */
function resultsById(results: readonly Told[]): ReadonlyMap<string, readonly Told[]> {
  const byId = new Map<string, Told[]>();
  for (const one of results) {
    if (one.result["reason"] === "duplicate") continue;
    const id = textOf(one.result["id"]);
    const list = byId.get(id) ?? [];
    list.push(one);
    byId.set(id, list);
  }
  return byId;
}

/** It was told while the watch was away, or the broker died before handing it on. */
const unheard = ({ absences }: History, at: number): boolean =>
  absences.some(({ from, to }) => at >= from - 1_000 && at <= to);

/** It may not have arrived, or was waiting in a process that died. */
function mayBeGone({ gaps }: History, { at, acknowledged }: Sent): boolean {
  if (!acknowledged) return true;
  return gaps.some(({ from, to, died }) => at >= from - (died ? openMs : 1_000) && at <= to);
}

/** `confirmed` and `already` must have been true of the register at some instant between command and result. */
function untrue({ held }: History, sent: Sent, toldAt: number, { outcome }: Fields): readonly Breach[] {
  if (outcome !== "confirmed" && outcome !== "already") return [];
  const register = held.get(`GH-0001/${sent.address}`) ?? [];
  const wasSo = register.some(({ at, value }, index) => {
    const until = register[index + 1]?.at ?? Infinity;
    return value === sent.value && at <= toldAt + 50 && until >= sent.at;
  });
  if (wasSo) return [];
  const text = `${sent.id} ended ${outcome}, but ${sent.address} did not hold ${sent.value} meanwhile`;
  return [{ at: sent.at, invariant: "wrong state", text }];
}

const timeOf = (at: number): string => new Date(at).toISOString();
