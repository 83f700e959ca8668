import type { Via } from "../greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Controller } from "../greenhouse/model.js";
import type { LimitDesk } from "../limits/limits.js";
import { type BridgeRequestBody, optionalTextField, RequestError, textField } from "../mqtt/requests.js";
import type { Clock } from "../runtime/clock.js";
import { parseUntil } from "../runtime/duration.js";

type Fields = BridgeRequestBody["fields"];

export interface LimitRequestPorts {
  readonly limits: LimitDesk;
  readonly clock: Clock;
  readonly onEvent: (event: BridgeEvent) => void;
}

const mostText = 200;
/** A longer one would be cut in the journal, and nobody could unlock by that name. */
const mostName = 64;

function nameField(fields: Fields): string {
  const text = textField(fields, "by").trim();
  if (text !== "" && text.length <= mostName) return text;
  throw new RequestError(`"by" must be a text of 1 to ${mostName} characters.`);
}

/** The actuators that a request is about: the one that it names, or all of the controller. */
function actuatorsOf({ actuators, info }: Controller, fields: Fields): readonly string[] {
  const actuator = optionalTextField(fields, "actuator");
  if (actuator === null) return [...actuators.keys()];
  if (actuators.has(actuator)) return [actuator];
  throw new RequestError(`There is no actuator "${actuator}" at controller "${info.id}".`);
}

/** What comes later no ISO time of four digits says. */
const latestMs = Date.parse("9999-12-31T23:59:59.999Z");

/** Epoch ms of the end; null for none. */
function untilOf(fields: Fields, now: number): number | null {
  const text = optionalTextField(fields, "until");
  if (text === null) return null;
  const until = parseUntil(text, now);
  if (until === null)
    throw new RequestError('"until" must be an ISO time with its zone, or a duration such as "2h".');
  if (until > latestMs)
    throw new RequestError('"until" lies beyond the year 9999; leave it out for a lock without an end.');
  if (until <= now) throw new RequestError('"until" lies in the past; give a time that is still to come.');
  return until;
}

/** Whoever has one topic for both, such as a lock of Home Assistant, unlocks with `"locked": false`. */
export function isLocking({ locked = true }: Fields): boolean {
  if (typeof locked !== "boolean") throw new RequestError('"locked" must be true or false.');
  return locked;
}

/** Everything but stop is refused until it is unlocked. */
export async function lock(
  { limits, clock, onEvent }: LimitRequestPorts,
  controller: Controller,
  fields: Fields,
  via: Via,
): Promise<unknown> {
  const { id, code } = controller.info;
  const actuators = actuatorsOf(controller, fields);
  const by = nameField(fields);
  const reason = optionalTextField(fields, "reason")?.slice(0, mostText) ?? null;
  const now = clock.now();
  const until = untilOf(fields, now);
  notOfOthers(limits, controller, actuators, by);
  const endsAt = until === null ? Infinity : clock.monotonic() + (until - now);
  await limits.keeper.change(code, actuators, {
    lock: { by, via, reason, since: now, until, endsAt },
  });
  const end = until === null ? null : new Date(until).toISOString();
  for (const actuator of actuators)
    onEvent({
      ...{ type: "locked", severity: "info", at: now },
      message: `${by} has locked ${id}/${actuator}${reason === null ? "" : `: ${reason}`}.`,
      facts: { controller: id, actuator, by, reason, until: end },
    });
  return { controller: id, actuators, by, until: end };
}

function notOfOthers(
  { keeper }: LimitDesk,
  { info }: Controller,
  actuators: readonly string[],
  by: string,
): void {
  for (const actuator of actuators) {
    const held = keeper.held(info.code, actuator)?.lock;
    if (held && held.by !== by)
      throw new RequestError(
        `${info.id}/${actuator} is locked by ${held.by}; ask there, or unlock with "force": true.`,
      );
  }
}

export async function unlock(
  { limits, clock, onEvent }: LimitRequestPorts,
  controller: Controller,
  fields: Fields,
): Promise<unknown> {
  const { id, code } = controller.info;
  const asked = actuatorsOf(controller, fields);
  const by = nameField(fields);
  const force = fields["force"] ?? false;
  if (typeof force !== "boolean") throw new RequestError('"force" must be true or false.');
  const actuators = asked.filter((actuator) => limits.keeper.held(code, actuator)?.lock);
  if (actuators.length === 0) throw new RequestError(`Nothing is locked there at controller "${id}".`);
  if (!force) notOfOthers(limits, controller, actuators, by);
  await limits.keeper.change(code, actuators, { lock: null });
  for (const actuator of actuators) {
    const message = `${by} has unlocked ${id}/${actuator}.`;
    const facts = { controller: id, actuator, by };
    onEvent({ type: "unlocked", severity: "info", message, at: clock.now(), facts });
  }
  return { controller: id, actuators, by };
}

/** Ends what a command with `hold` keeps. */
export async function release(
  { limits }: LimitRequestPorts,
  controller: Controller,
  fields: Fields,
): Promise<unknown> {
  const { id, code } = controller.info;
  const by = nameField(fields);
  const actuators = actuatorsOf(controller, fields).filter((one) => limits.keeper.held(code, one)?.hold);
  if (actuators.length === 0) throw new RequestError(`Nothing is held there at controller "${id}".`);
  await limits.keeper.change(code, actuators, { hold: null });
  return { controller: id, actuators, by };
}

/** A person has seen an alarm, or with `all` every one that is on, which clears nothing. */
export function acknowledgeAlarm({ limits }: LimitRequestPorts, fields: Fields): Promise<unknown> {
  const id = textField(fields, "alarm");
  const by = optionalTextField(fields, "by")?.slice(0, mostText) ?? null;
  const acknowledged = limits.alarms.acknowledge(id, by);
  if (acknowledged.length === 0 && id !== "all")
    throw new RequestError(
      `There is no alarm "${id.slice(0, 80)}" that is on; the topics below alarm/ show them.`,
    );
  return Promise.resolve({ alarm: id, by, acknowledged });
}
