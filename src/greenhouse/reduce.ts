import { foldRegister, foldStepsEnded, unreadActuator } from "./actuator-fold.js";
import type { ControllerEvent } from "./events.js";
import { type Freshness, judge, mapChanged } from "./freshness.js";
import { foldAbsence, foldFacts, foldFlag, foldStatus, foldUnflagged } from "./connection-fold.js";
import type {
  Actuator,
  Availability,
  ClientFacts,
  Controller,
  ControllerInfo,
  Parameter,
  Sensor,
} from "./model.js";
import { foldParameter } from "./parameter-fold.js";
import { foldRawAddress, postedRawAddress } from "./raw-address-fold.js";
import type { ClientStatus, DeviceRecord } from "./ports.js";
import { foldPushedReadings } from "./push-fold.js";
import { foldReading } from "./sensor-fold.js";
import { layoutFor } from "./sensor-layout.js";
import type { Transliterate } from "./topic-ids.js";
import type { ControllerSettings } from "./settings.js";
import { foldStatuses } from "./status-fold.js";

export interface FoldContext {
  readonly now: number;
  readonly limits: Freshness;
  readonly transliterate: Transliterate;
}

export function newController(
  code: string,
  id: string,
  settings: ControllerSettings | null,
  platformReachable: boolean,
): Controller {
  return {
    info: infoOf(code, id, settings, null, null),
    settings,
    availability: "unknown",
    availabilityBy: "list",
    doubted: null,
    platformReachable,
    layout: [],
    sensors: new Map(),
    statuses: new Map(),
    actuators: new Map(settings?.actuators.map((actuator) => [actuator.id, unreadActuator(actuator)])),
    parameters: new Map(
      settings?.parameters.map((parameter) => [
        parameter.id,
        { settings: parameter, register: null, value: null, quality: "stale" },
      ]),
    ),
    addresses: new Map(),
    problem: false,
    nextJudgementAt: null,
    absentSince: null,
  };
}

/** One controller after one event; the same reference when the event brought no news. */
export function reduce(controller: Controller, event: ControllerEvent, context: FoldContext): Controller {
  return judge(fold(controller, event, context), context.now, context.limits);
}

function fold(controller: Controller, event: ControllerEvent, context: FoldContext): Controller {
  switch (event.type) {
    case "listed":
      return foldRecord(controller, event.record, event.availability);
    case "absent":
      if (controller.absentSince !== null) return controller;
      return { ...controller, ...foldAbsence(), absentSince: event.since };
    case "unflagged":
      return withChange(controller, foldUnflagged());
    case "connection":
      return foldConnection(controller, event.status);
    case "platform":
      return withChange(controller, { platformReachable: event.reachable });
    case "sensors_read":
      return foldSensors(controller, event, context);
    case "statuses_read":
      return withChange(controller, {
        statuses: foldStatuses(controller.statuses, event, context.transliterate),
      });
    case "registers_read":
      return foldRegisters(controller, event);
    case "posted":
      return foldPost(controller, event);
    case "steps_ended":
      return event.target === "actuator" ? withActuator(controller, event.id, foldStepsEnded) : controller;
    case "problem":
      return withChange(controller, { problem: event.on });
    case "time_passed":
      return controller;
  }
}

function foldPost(
  controller: Controller,
  { target, id, at, between = null }: Extract<ControllerEvent, { type: "posted" }>,
): Controller {
  switch (target) {
    case "actuator":
      return withActuator(controller, id, (actuator) => ({ ...actuator, postedAt: at, between }));
    case "parameter":
      return withChange(controller, {
        parameters: mapChanged(controller.parameters, (parameter): Parameter =>
          parameter.settings.id === id ? { ...parameter, postedAt: at } : parameter,
        ),
      });
    case "address":
      return { ...controller, addresses: postedRawAddress(controller.addresses, id, at) };
  }
}

const withActuator = (
  controller: Controller,
  id: string,
  change: (actuator: Actuator) => Actuator,
): Controller =>
  withChange(controller, {
    actuators: mapChanged(controller.actuators, (actuator) =>
      actuator.settings.id === id ? change(actuator) : actuator,
    ),
  });

/** The controller with some parts replaced; the same reference when each of them is what it was. */
function withChange(controller: Controller, change: Partial<Controller>): Controller {
  const keys = Object.keys(change) as (keyof Controller)[];
  return keys.every((key) => controller[key] === change[key]) ? controller : { ...controller, ...change };
}

function infoOf(
  code: string,
  id: string,
  settings: ControllerSettings | null,
  record: DeviceRecord | null,
  client: ClientFacts | null,
): ControllerInfo {
  const name = settings?.name ?? (record?.name || code);
  const stream = settings?.stream === true ? (record?.hls ?? null) : null;
  return { code, id, name, area: settings?.area ?? null, type: record?.type ?? null, record, client, stream };
}

function foldConnection(controller: Controller, status: ClientStatus): Controller {
  const client = foldFacts(controller.info.client, status);
  const info = client === controller.info.client ? controller.info : { ...controller.info, client };
  return withChange(controller, { ...foldStatus(controller, status.state), info });
}

function foldRecord(controller: Controller, record: DeviceRecord, flag: Availability): Controller {
  const sameRecord =
    controller.info.record !== null && JSON.stringify(controller.info.record) === JSON.stringify(record);
  const { code, id, client } = controller.info;
  const info = sameRecord ? controller.info : infoOf(code, id, controller.settings, record, client);
  return withChange(controller, { info, ...foldFlag(controller, flag), absentSince: null });
}

type SensorsRead = Extract<ControllerEvent, { type: "sensors_read" }>;

function foldSensors(controller: Controller, event: SensorsRead, context: FoldContext): Controller {
  const reading = { receivedAt: event.receivedAt, now: context.now, source: event.source };
  if (event.source === "push")
    return withChange(controller, { sensors: foldPushedReadings(controller, event.items, reading) });
  const layout = layoutFor(event.items, controller, context.transliterate);
  let changed: Map<string, Sensor> | null = null;
  for (const [place, item] of event.items.entries()) {
    const definition = layout[place]?.definition;
    if (!definition) continue;
    const held = (changed ?? controller.sensors).get(definition.id);
    const next = foldReading(held, definition, item, reading);
    if (next === held) continue;
    changed ??= new Map(controller.sensors);
    changed.set(definition.id, next);
  }
  return withChange(controller, { layout, sensors: changed ?? controller.sensors });
}

type RegistersRead = Extract<ControllerEvent, { type: "registers_read" }>;

function foldRegisters(controller: Controller, event: RegistersRead): Controller {
  let { actuators, parameters, addresses } = controller;
  for (const [address, raw] of event.values) {
    const { startedAt, readAt, fresh, source } = event;
    const register = { raw, startedAt, readAt, fresh, source };
    actuators = mapChanged(actuators, (actuator): Actuator => foldRegister(actuator, address, register));
    parameters = mapChanged(parameters, (parameter): Parameter =>
      foldParameter(parameter, address, register),
    );
    addresses = foldRawAddress(addresses, controller, address, register);
  }
  return withChange(controller, { actuators, parameters, addresses });
}
