import { stepsOf } from "../greenhouse/command/plan.js";
import { canonical } from "../greenhouse/command/words.js";
import type { CommandTaken } from "../journal/records.js";
import type { Command } from "./command.js";
import type { CommandPorts } from "./command-ports.js";
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

/**
 * Journals a command that takes over the read-backs of an equal one, before that one's result closes its record: what
 * was sent for one was sent for both.
 */
export function noteTakeover(command: Command, before: Command, { journal, log }: CommandPorts): void {
  void journal
    .append(takenRecord(command, { took_over: before.id }), { durable: true })
    .catch((error: unknown) => {
      log.error({ reason: String(error) }, "the journal could not take a command that sends nothing itself");
    });
}
