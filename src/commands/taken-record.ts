import { stepsOf } from "../greenhouse/command/plan.js";
import { canonical } from "../greenhouse/command/words.js";
import type { About, CommandTaken, PhaseEntered } from "../journal/records.js";
import type { Command } from "./command.js";
import { wantedValue } from "./report.js";

/** What the journal has to know of a command, so that the next start can find out what became of it. */
export function takenRecord(
  command: Command,
  more: Pick<CommandTaken, "dry_run" | "took_over"> = {},
): CommandTaken {
  const { settings, wanted } = command;
  return {
    type: "command_taken",
    controller: command.code,
    actuator: command.targetId,
    target: command.target,
    id: command.id,
    command: canonical(wanted),
    value: wantedValue(wanted),
    steps: stepsOf(settings, wanted, null).map(({ purpose, address, value }) => ({
      purpose,
      address,
      value,
    })),
    by: command.by,
    via: command.via,
    payload_hash: command.payloadKey,
    received_at: new Date(command.receivedAt).toISOString(),
    max_age_ms: Math.round(command.deadlineMono - command.receivedMono),
    force: command.force,
    own_id: command.ownId,
    ...more,
  };
}

/** What journal and commander call a command's target. */
export const aboutOf = ({
  code,
  targetId,
  target,
}: Pick<Command, "code" | "targetId" | "target">): About => ({
  controller: code,
  actuator: targetId,
  target,
});

/** On disk before the first byte of the first POST: without it nothing was sent. */
export const sendingRecord = (command: Command): PhaseEntered => ({
  type: "phase",
  ...aboutOf(command),
  id: command.id,
  phase: "sending",
});
