import type { OpenCommand, Problem, SentStep, UnreadPost } from "./history-parts.js";
import type { CommandTaken, ResultRecord, Stamp, StepAnswered, StepSent } from "./records.js";

/** Sets and keeps the newest `most` entries, so that no history grows without end. */
export function setBounded<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

/** `before`: the equal command whose POSTs it waits for. Without the stamp: it is written again inside another record and must not look like the start of a line. */
export function opened(record: Stamp & CommandTaken, before: OpenCommand | undefined): OpenCommand {
  const { at, boot } = record;
  const { controller, actuator, target, id, command, value } = record;
  const { by, via, payload_hash, received_at, max_age_ms, force, own_id, dry_run } = record;
  const asked = { by, via, payload_hash, received_at, max_age_ms, force, own_id, dry_run };
  const taken: CommandTaken = {
    type: "command_taken",
    controller,
    actuator,
    target,
    id,
    command,
    value,
    steps: record.steps,
    ...asked,
  };
  return { taken, taken_at: at, boot, phase: before?.phase ?? null, steps: before?.steps ?? [] };
}

export function withSent(steps: readonly SentStep[], record: Stamp & StepSent): readonly SentStep[] {
  const { purpose, address, value, attempt, at } = record;
  return [...steps, { purpose, address, value, attempt, sent_at: at, answered: null }];
}

export function withAnswer(steps: readonly SentStep[], record: StepAnswered): readonly SentStep[] {
  const { code, request_id, error, sent } = record;
  const index = steps.findLastIndex(
    (step) => step.address === record.address && step.attempt === record.attempt && step.answered === null,
  );
  return steps.map((step, at) =>
    at === index ? { ...step, answered: { code, request_id, error, sent } } : step,
  );
}

export function unreadPost(record: Stamp & StepSent, before: UnreadPost | undefined): UnreadPost {
  const { controller, actuator, target = "actuator", id, address, value, at } = record;
  return { controller, actuator, target, id, address, value, sent_at: at, earlier: before !== undefined };
}

export function problemOf(record: ResultRecord): Problem {
  const { controller, actuator, target = "actuator", result } = record;
  const { id, outcome, reason, finished_at } = result;
  return { controller, actuator, target, id, outcome, reason, finished_at };
}
