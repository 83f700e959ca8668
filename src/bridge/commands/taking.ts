import { type CommandPayload, claimedId } from "../../greenhouse/command/payload.js";
import type { ActuatorSettings } from "../../greenhouse/settings.js";
import type { Command, CommandRequest } from "./command.js";
import type { Understood } from "./intake.js";
import type { Asked } from "./report.js";

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
  { payload, wanted, allowedMs }: Understood,
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
    receivedAt,
    receivedMono,
    deadlineMono: receivedMono + allowedMs,
  };
}

/** What a result says of a request that was refused, as far as it could be read. */
export function askedFrom(
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
