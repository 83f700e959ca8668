import type { Command } from "../bridge/commands/command.js";
import type { Interrupted } from "../bridge/commands/recovery.js";
import type { GreenhouseStore } from "../bridge/store.js";
import { readWanted } from "../greenhouse/command/words.js";
import type { OpenCommand } from "../journal/history-parts.js";
import type { Clock } from "../runtime/clock.js";

/** An open command of the journal as the commander can take it up; null when the configuration no longer knows its actuator. */
export function interruptedFrom(open: OpenCommand, store: GreenhouseStore, clock: Clock): Interrupted | null {
  const { taken, steps } = open;
  const controller = store.get(taken.controller);
  const settings = controller?.actuators.get(taken.actuator)?.settings;
  const planned = taken.steps.at(-1);
  if (!controller || !settings || !planned) return null;
  const wanted = readWanted(taken.command, settings);
  if ("reason" in wanted) return null;
  const command: Command = {
    id: taken.id,
    ownId: taken.own_id === true,
    code: taken.controller,
    controllerId: controller.info.id,
    target: taken.target ?? "actuator",
    targetId: taken.actuator,
    settings,
    wanted,
    payloadKey: taken.payload_hash,
    by: taken.by,
    via: taken.via,
    response: null,
    force: taken.force === true,
    dryRun: false,
    receivedAt: Date.parse(taken.received_at),
    receivedMono: clock.monotonic(),
    deadlineMono: clock.monotonic(),
  };
  const sent = steps.findLast(({ address, value }) => address === planned.address && value === planned.value);
  const first = steps[0];
  return {
    command,
    step: { ...planned, confirmWithinMs: settings.confirmWithinMs },
    attempts: sent?.attempt ?? 0,
    code: sent?.answered?.code ?? null,
    requestId: sent?.answered?.request_id ?? null,
    sentAt: first ? Date.parse(first.sent_at) : null,
  };
}
