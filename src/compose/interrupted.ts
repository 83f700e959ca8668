import type { Command } from "../commands/command.js";
import { recordedKey } from "../commands/payload-key.js";
import type { Interrupted } from "../commands/book.js";
import { type Abandoned, type Ending, refused } from "../commands/report.js";
import type { GreenhouseStore } from "../bridge/store.js";
import { controllerTopicId } from "../config/controller-topic-id.js";
import { targetOf } from "../greenhouse/command/targets.js";
import type { StepReport } from "../greenhouse/command/outcomes.js";
import { readWanted } from "../greenhouse/command/words.js";
import type { OpenCommand } from "../journal/history-parts.js";
import type { Clock } from "../runtime/clock.js";

// What was sent stays sent, whatever the configuration allows by now.
const readBackRules = { rawAddresses: true, minIntervalMs: 0 };

/**
 * An open command of the journal as the commander can take it up; null when there is nothing to read back: the
 * configuration no longer knows its target, or nothing of it was sent.
 */
export function interruptedFrom(open: OpenCommand, store: GreenhouseStore, clock: Clock): Interrupted | null {
  const { taken, steps } = open;
  const controller = store.get(taken.controller);
  const target = taken.target ?? "actuator";
  const planned = taken.steps.at(-1);
  if (!controller || !planned || !maySend(open)) return null;
  const addressee = { controllerId: controller.info.id, target, targetId: taken.actuator };
  const settings = targetOf(controller, addressee, readBackRules);
  if ("reason" in settings) return null;
  const wanted = readWanted(taken.command, settings);
  if ("reason" in wanted) return null;
  const command: Command = {
    id: taken.id,
    ownId: taken.own_id === true,
    code: taken.controller,
    controllerId: controller.info.id,
    target,
    targetId: taken.actuator,
    settings,
    wanted,
    payloadKey: recordedKey(taken.payload_hash),
    by: taken.by,
    via: taken.via,
    response: null,
    force: taken.force === true,
    dryRun: false,
    receivedAt: Date.parse(taken.received_at),
    receivedMono: clock.monotonic(),
    deadlineMono: clock.monotonic(),
  };
  const step = { ...planned, confirmWithinMs: settings.confirmWithinMs };
  return { command, step, ...sentSoFar(steps, planned) };
}

/** Whether anything of it may have been sent: `sending` is on disk before the first POST. */
const maySend = ({ taken, phase, steps }: OpenCommand): boolean =>
  taken.dry_run !== true && (phase === "sending" || steps.length > 0);

function sentSoFar(
  steps: OpenCommand["steps"],
  planned: OpenCommand["taken"]["steps"][number],
): Omit<Interrupted, "command" | "step"> {
  const sent = steps.findLast(({ address, value }) => address === planned.address && value === planned.value);
  const first = steps[0];
  const earlier = steps.findLast(({ purpose }) => purpose !== planned.purpose);
  return {
    earlier: earlier ? [reported(earlier)] : [],
    attempts: sent?.attempt ?? 0,
    code: sent?.answered?.code ?? null,
    requestId: sent?.answered?.request_id ?? null,
    sentAt: first ? Date.parse(first.sent_at) : null,
  };
}

const reported = ({
  purpose,
  address,
  value,
  attempt,
  answered,
}: OpenCommand["steps"][number]): StepReport => ({
  ...{ purpose, address, value, attempts: attempt },
  ...{ code: answered?.code ?? null, read_back: null },
});

/** The end of an open command that is not read back: nobody can any more, or nothing was to be sent. */
export function abandonedFrom(open: OpenCommand, store: GreenhouseStore, clock: Clock): Abandoned {
  const { taken, steps } = open;
  const controllerId = store.get(taken.controller)?.info.id ?? controllerTopicId(taken.controller);
  const last = steps.at(-1);
  const first = steps[0];
  return {
    about: { code: taken.controller, target: taken.target ?? "actuator", targetId: taken.actuator },
    ownId: taken.own_id === true,
    asked: {
      id: taken.id,
      controllerId,
      targetId: taken.actuator,
      command: taken.command,
      value: taken.value,
      by: taken.by,
      via: taken.via,
      receivedAt: Date.parse(taken.received_at),
      receivedMono: clock.monotonic(),
      settings: null,
    },
    ending: {
      ...endingOf(open),
      requestId: last?.answered?.request_id ?? null,
      sentAt: first ? Date.parse(first.sent_at) : null,
      steps: steps.map(reported),
    },
  };
}

function endingOf(open: OpenCommand): Ending {
  if (open.taken.dry_run === true) return dryRunStopped;
  if (maySend(open)) return targetGone;
  // A stop is also sent when the journal cannot be written, so that nothing there proves that it was not.
  return open.taken.steps.at(-1)?.purpose === "stop" ? stopUnrecorded : neverSent;
}

const neverSent = refused(
  "shutting_down",
  "The bridge was stopped before it sent anything of this command. Send it again if it is still wanted.",
);

const stopUnrecorded: Ending = {
  outcome: "unknown",
  reason: null,
  message:
    "The bridge was stopped before its journal could tell whether this stop was sent. Check the actuator.",
};

const targetGone: Ending = {
  outcome: "unknown",
  reason: null,
  message:
    "The bridge was stopped during the command, and the configuration no longer has what it was for, so it cannot be read back. Check the actuator.",
};

const dryRunStopped = refused(
  "shutting_down",
  "The bridge was stopped while it checked this dry run. Nothing was sent; send it again if the answer is still wanted.",
);
