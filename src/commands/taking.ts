import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { type CommandPayload, claimedId } from "../greenhouse/command/payload.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { Command, CommandRequest } from "./command.js";
import type { CommanderPorts } from "./command-ports.js";
import type { NotTaken, Understood } from "./intake.js";
import { type Asked, refused, resultOf } from "./report.js";

/** A request with what is known of it at its arrival. */
export interface Arrived {
  readonly request: CommandRequest;
  readonly receivedAt: number;
  readonly receivedMono: number;
  readonly settings: ActuatorSettings | null;
  readonly code: string;
}

/** The command a request became once nothing refused it. */
export function commandFrom(
  { request, code, receivedAt, receivedMono }: Arrived,
  { payload, wanted, allowedMs, isOfFlood }: Understood,
  settings: ActuatorSettings,
  payloadKey: string,
  newId: () => string,
): Command {
  return {
    id: payload.id ?? newId(),
    ownId: payload.id !== null,
    code,
    controllerId: request.controllerId,
    target: request.target,
    targetId: request.targetId,
    settings,
    wanted,
    payloadKey,
    by: payload.by ?? request.by,
    via: request.via,
    response: request.response,
    force: payload.force,
    dryRun: payload.dryRun,
    ...(isOfFlood && { isOfFlood }),
    receivedAt,
    receivedMono,
    deadlineMono: receivedMono + allowedMs,
  };
}

/** The result of a request that was refused; of a duplicate with that of the first under `original`. */
export function refusalResult(
  arrived: Arrived,
  { refusal, payload, canonical }: NotTaken,
  original: CommandResult | null | undefined,
  { clock, newId }: Pick<CommanderPorts, "clock" | "newId">,
): CommandResult {
  const asked = askedFrom(arrived, payload, canonical, newId);
  const ending = refused(refusal.reason, refusal.message);
  const result = resultOf(asked, ending, clock.now(), clock.monotonic());
  return original === undefined ? result : { ...result, original };
}

/** What a result says of a request that was refused, as far as it could be read. */
function askedFrom(
  { request, receivedAt, receivedMono, settings }: Arrived,
  payload: CommandPayload | null,
  canonical: string | null,
  newId: () => string,
): Asked {
  return {
    id: payload?.id ?? claimedId(request.payload) ?? newId(),
    controllerId: request.controllerId,
    targetId: request.targetId,
    command: canonical,
    value: null,
    by: payload?.by ?? request.by,
    via: request.via,
    receivedAt,
    receivedMono,
    settings,
  };
}
