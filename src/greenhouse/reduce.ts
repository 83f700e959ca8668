import type { BandsByKind } from "./bands.js";
import { decodeValue, type ReadTable, sameValue, stateAddresses, textOf } from "./actuator-kinds.js";
import { ownerOf } from "./command/words.js";
import { contradiction, type DeviceType, isWeatherStation, isWithoutClient } from "./device-types.js";
import type { ControllerEvent } from "./events.js";
import { hasPositioner, listingOf, sameListing } from "./group-listing.js";
import { foldPushedReadings, foldReadings } from "./fold-sensors.js";
import { foldStatuses, runningOf } from "./fold-statuses.js";
import { type FirstLayouts, layoutFor } from "./sensor-identity.js";
import { type Freshness, judge, mapChanged, withChange } from "./freshness.js";
import type {
  Actuator,
  Availability,
  ClientFacts,
  Controller,
  ControllerInfo,
  Parameter,
  RawAddress,
  Register,
} from "./model.js";
import type { ClientStatus, DeviceRecord, SensorItem } from "./ports.js";
import type { ActuatorSettings, ControllerSettings } from "./settings.js";
import { isIdlePulse } from "./readings.js";
import { renameAll } from "./rename.js";
import type { Transliterate } from "./topic-ids.js";

/** The connection of a controller, its source, and a contradicting list. */
export type Connection = Pick<Controller, "availability" | "availabilityBy" | "doubted">;

const connectionOf = (availability: Availability, by: "list" | "status"): Connection => ({
  availability,
  availabilityBy: by,
  doubted: null,
});

/**
 * Folds a list's flag. It may be minutes old, so a contradicting one only raises a doubt. The single-device status
 * settles that, or, if it cannot be read before, the next list. Only `online` that contradicts no status counts at
 * once.
 */
export function foldFlag(
  { availability, availabilityBy, doubted }: Connection,
  flag: Availability,
  type: DeviceType | null = null,
): Connection {
  // A list that repeats online does not settle what the status left open.
  const isOpen =
    flag === "online" && availability === "unknown" && availabilityBy === "status" && isWithoutClient(type);
  const isSame = flag === availability || (flag === "unknown" && availabilityBy === "status") || isOpen;
  if (isSame) return connectionOf(availability, availabilityBy);
  const isHarmless = flag === "unknown" || (flag === "online" && availabilityBy !== "status");
  if (isHarmless || doubted === flag) return connectionOf(flag, "list");
  return { availability, availabilityBy, doubted: flag };
}

/**
 * Folds the single-device status, which overrules any list. A device without an MQTT client also reads offline, so that
 * counts only for one with a flag in a list, or that was seen with a client.
 */
function foldStatus(
  shown: Connection & Pick<Controller, "absentSince" | "info">,
  state: ClientStatus["state"],
): Connection {
  const { availability, availabilityBy, doubted } = shown;
  const { record, type } = shown.info;
  const isFlagged = (record?.online ?? null) !== null;
  const isListed = record?.online === true && shown.absentSince === null;
  // A station or camera without an MQTT client also reads as not found, whatever its flag means.
  if (state === "offline" && isListed && isWithoutClient(type)) return connectionOf("unknown", "status");
  const isClient = isFlagged || availability !== "unknown";
  const tells = state === "online" || (state === "offline" && isClient);
  if (!tells || shown.absentSince !== null) return { availability, availabilityBy, doubted };
  return connectionOf(state, "status");
}

/** Whether its list gives no online flag. */
export const hasNoFlag = ({ info, absentSince }: Controller): boolean =>
  info.record?.online === null && absentSince === null;

/** Whether only the single-device status shows its connection, so that it has to be asked repeatedly. */
export const hasOwnClient = (controller: Controller): boolean =>
  hasNoFlag(controller) && controller.availability !== "unknown";

/** Whether the connection is unknown: lists show a station or camera online that has no MQTT client by its status. */
export const isDisputed = ({ info, availability, availabilityBy }: Controller): boolean =>
  isWithoutClient(info.type) &&
  info.record?.online === true &&
  availability === "unknown" &&
  availabilityBy === "status";

interface FoldContext {
  readonly now: number;
  readonly freshness: Freshness;
  readonly transliterate: Transliterate;
  readonly firstLayouts?: FirstLayouts;
  /** Configured meanings of running status values. */
  readonly statusReads?: ReadTable;
  /** Limits of readings by kind. */
  readonly bands?: BandsByKind;
}

/** A string, as states are compared and read by programs. */
const contradictionIn = (settings: ActuatorSettings, type: DeviceType | null): string | null =>
  contradiction(settings, type)?.toString() ?? null;

export const unreadActuator = (settings: ActuatorSettings): Actuator => ({
  settings,
  contradiction: contradictionIn(settings, null),
  registers: {},
  postedAt: null,
  between: null,
  state: null,
  position: null,
  value: null,
  readAt: null,
  source: null,
  quality: "stale",
});

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
    platformAnswers: platformReachable,
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
    problems: [],
    nextJudgementAt: null,
    absentSince: null,
  };
}

/** The controller after an event; the same reference where nothing is new. */
export function reduce(controller: Controller, event: ControllerEvent, context: FoldContext): Controller {
  const folded =
    event.type === "renamed"
      ? renameAll(controller, event.settings, context.bands)
      : fold(controller, event, context);
  const isJudged = event.type !== "time_passed" && folded === controller;
  // A degree that cannot be read makes the quality uncertain, so it is judged.
  const isAgeless =
    ageless.has(event.type) &&
    !(event.type === "steps_ended" && (event.degree ?? event.word ?? null) !== null);
  const judged = isJudged || isAgeless ? folded : judge(folded, context.now, context.freshness);
  return judged.statuses === controller.statuses ? judged : withRuns(judged);
}

/** Sets what the running statuses say about their actuators. */
const withRuns = (controller: Controller): Controller =>
  withChange(controller, {
    actuators: mapChanged(controller.actuators, (actuator): Actuator => {
      const { running } = actuator.settings;
      const runs = running && runningOf(running, controller.statuses.values());
      return runs === actuator.runs || runs === undefined ? actuator : { ...actuator, runs };
    }),
  });

/** Events that change no age; only the passing of time makes values stale. */
const ageless: ReadonlySet<ControllerEvent["type"]> = new Set([
  "posted",
  "steps_ended",
  "problem",
  "register_pushed",
  "readings_judged",
  "renamed",
  "run_time",
]);

type Folded = Exclude<ControllerEvent, { readonly type: "renamed" }>;

function fold(controller: Controller, event: Folded, context: FoldContext): Controller {
  switch (event.type) {
    case "listed":
      return foldRecord(controller, event.record, event.availability);
    case "video":
      return foldVideo(controller, event.hls);
    case "absent":
      return foldAbsence(controller, context.now - event.forMs);
    case "unflagged":
      return withChange(controller, { ...connectionOf("unknown", "list"), absentSince: null });
    case "connection":
      return foldConnection(controller, event.status);
    case "platform":
      return withChange(controller, reachOf(event));
    case "sensors_read":
      return foldSensors(controller, event, context);
    case "statuses_read":
      return withChange(controller, { statuses: statusesAfter(controller, event, context) });
    case "registers_read":
      return foldRegisters(controller, event);
    case "doubted":
      return foldDoubt(controller, event.what);
    case "posted":
      return foldPost(controller, event);
    case "steps_ended":
      return foldStepsEnded(controller, event);
    case "register_pushed":
      return foldPush(controller, event);
    case "problem":
      return foldProblems(controller, event.open);
    case "readings_judged":
      return { ...controller, readingAlarms: event.open };
    case "run_time":
      return withActuator(controller, event.id, { runTime: event.runTime });
    case "restricted":
      return withActuator(controller, event.id, { restrictions: event.restrictions });
    case "time_passed":
      return controller;
  }
}

const reachOf = ({
  reachable,
  answers = reachable,
}: Extract<ControllerEvent, { readonly type: "platform" }>) => ({
  platformReachable: reachable,
  platformAnswers: answers,
});

const statusesAfter = (
  { statuses }: Controller,
  event: Extract<ControllerEvent, { readonly type: "statuses_read" }>,
  { transliterate, statusReads }: FoldContext,
): Controller["statuses"] => foldStatuses(statuses, event, transliterate, statusReads);

const foldProblems = (controller: Controller, open: Controller["problems"]): Controller =>
  open.length === 0 && !controller.problem
    ? controller
    : withChange(controller, { problem: open.length > 0, problems: open });

/** Marks polled values as doubted until they are read again. Command reads used a connection of their own and stay. */
function foldDoubt(
  controller: Controller,
  what: Extract<ControllerEvent, { type: "doubted" }>["what"],
): Controller {
  const { sensors, statuses, actuators, parameters } = controller;
  if (what === "sensors")
    return withChange(controller, { sensors: mapChanged(sensors, (one) => ({ ...one, isDoubted: true })) });
  if (what === "statuses")
    return withChange(controller, { statuses: mapChanged(statuses, (one) => ({ ...one, isDoubted: true })) });
  return withChange(controller, {
    actuators: mapChanged(actuators, (one): Actuator => {
      const registers = Object.entries(one.registers).map(([address, held]) => [address, doubted(held)]);
      return { ...one, registers: Object.fromEntries(registers) as Actuator["registers"] };
    }),
    parameters: mapChanged(parameters, (one): Parameter => ({
      ...one,
      register: one.register && doubted(one.register),
    })),
  });
}

const doubted = (register: Register): Register =>
  register.source === "read_back" ? register : { ...register, isDoubted: true };

const foldAbsence = (controller: Controller, since: number): Controller =>
  controller.absentSince === null
    ? { ...controller, ...connectionOf("offline", "list"), absentSince: since }
    : controller;

function foldPost(
  controller: Controller,
  { target, id, at, between = null }: Extract<ControllerEvent, { type: "posted" }>,
): Controller {
  switch (target) {
    case "actuator":
      return withActuator(controller, id, { postedAt: at, between });
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

function withActuator(controller: Controller, id: string, facts: Partial<Actuator>): Controller {
  const held = controller.actuators.get(id);
  if (held === undefined) return controller;
  return { ...controller, actuators: new Map(controller.actuators).set(id, { ...held, ...facts }) };
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

/** Shows a video address only if the configuration asks for it. */
function foldVideo(controller: Controller, hls: string): Controller {
  const { info, settings } = controller;
  if (settings?.stream !== true || info.stream === hls) return controller;
  return { ...controller, info: { ...info, stream: hls } };
}

/** Folds the single-device status, with its facts about an online device. */
function foldConnection(controller: Controller, status: ClientStatus): Controller {
  const known = controller.info.client;
  const { state, version, description, lastOnlineAt, marker } = status;
  const isSame =
    known?.version === version &&
    known.description === description &&
    known.lastOnlineAt === lastOnlineAt &&
    known.marker === marker;
  const facts = { version, description, lastOnlineAt, ...(marker !== undefined && { marker }) };
  const info = state !== "online" || isSame ? controller.info : { ...controller.info, client: facts };
  return withChange(controller, { ...foldStatus(controller, state), info });
}

const noLayout: Controller["layout"] = [];

function foldRecord(controller: Controller, record: DeviceRecord, flag: Availability): Controller {
  const sameRecord =
    controller.info.record !== null && JSON.stringify(controller.info.record) === JSON.stringify(record);
  const { code, id, client } = controller.info;
  const info = sameRecord ? controller.info : infoOf(code, id, controller.settings, record, client);
  const actuators =
    info.type === controller.info.type
      ? controller.actuators
      : mapChanged(controller.actuators, judgedByType, info.type);
  const flagged = foldFlag(controller, flag, info.type);
  // Moved indoors or outdoors, its sensors are defined again by the next answer, as other limits apply.
  const isMoved = isWeatherStation(info.type) !== isWeatherStation(controller.info.type);
  const layout = isMoved ? noLayout : controller.layout;
  return withChange(controller, { info, actuators, layout, ...flagged, absentSince: null });
}

/** Judges again whether an actuator fits the type that a list gives. */
function judgedByType(actuator: Actuator, type: DeviceType | null): Actuator {
  const why = contradictionIn(actuator.settings, type);
  return why === actuator.contradiction ? actuator : { ...actuator, contradiction: why };
}

type SensorsRead = Extract<ControllerEvent, { type: "sensors_read" }>;

function foldSensors(controller: Controller, event: SensorsRead, context: FoldContext): Controller {
  const reading = { receivedAt: event.receivedAt, now: context.now, source: event.source };
  if (event.source === "push")
    return withChange(controller, { sensors: foldPushedReadings(controller, event.items, reading) });
  if (event.part === "averages") {
    const known = { ...controller, layout: controller.averages ?? [] };
    const averages = layoutFor(event.items, known, { ...context, firstLayouts: new Map() });
    const definitionOf = (_item: SensorItem, place: number) => averages[place]?.definition ?? null;
    const sensors = foldReadings(controller.sensors, event.items, definitionOf, reading);
    return withChange(controller, { averages, sensors });
  }
  const layout = layoutFor(event.items, controller, context);
  const definitionOf = (_item: SensorItem, place: number) => layout[place]?.definition ?? null;
  const sensors = foldReadings(controller.sensors, event.items, definitionOf, reading);
  return withChange(controller, { layout, sensors });
}

type RegistersRead = Extract<ControllerEvent, { type: "registers_read" }>;

function foldRegisters(controller: Controller, event: RegistersRead): Controller {
  let { actuators, parameters, addresses } = controller;
  const { startedAt, readAt, fresh, source } = event;
  for (const [address, raw] of event.values) {
    const register = { raw, startedAt, readAt, fresh, source };
    const before = { actuators, parameters };
    actuators = mapChanged(actuators, foldRegister, address, register);
    parameters = mapChanged(parameters, foldParameter, address, register);
    // An address that an actuator or parameter has used is no raw address.
    if (actuators === before.actuators && parameters === before.parameters)
      addresses = foldRawAddress(addresses, controller, address, register);
  }
  const groups = foldListing(controller, event);
  return withChange(controller, { actuators, parameters, addresses, ...(groups && { groups }) });
}

/** The listings after a read; undefined while no type with a positioner was listed. */
function foldListing(controller: Controller, { listed }: RegistersRead): Controller["groups"] {
  if (listed === undefined || !hasPositioner(controller.actuators.values(), listed.group))
    return controller.groups;
  const listing = listingOf(listed.values, (address) => ownerOf(controller, address) !== null);
  const held = controller.groups?.get(listed.group);
  return sameListing(held, listing)
    ? controller.groups
    : new Map([...(controller.groups ?? []), [listed.group, listing]]);
}

/**
 * A read from the platform's memory that equals the device's own answer keeps counting as the device's: a later,
 * different one may still be older and has to be checked with the device.
 */
const uphold = (held: Register | null | undefined, register: Register): Register =>
  held?.fresh === true && !register.fresh && sameValue(textOf(held.raw), textOf(register.raw))
    ? { ...register, fresh: true }
    : register;

/**
 * A read that began before the held one does not change what is shown. But if it came from the device and the held one
 * from the platform's memory, equal values make the held one the device's, and different ones make it doubtful.
 */
function besideEarlier(held: Register, earlier: Register): Register {
  if (held.fresh || !earlier.fresh) return held;
  return sameValue(textOf(held.raw), textOf(earlier.raw))
    ? { ...held, fresh: true }
    : { ...held, isDoubtful: true };
}

/** Folds one read register. A read that began before our last POST changes nothing. */
export function foldRegister(actuator: Actuator, address: string, register: Register): Actuator {
  const { settings, postedAt } = actuator;
  if (!stateAddresses(settings).includes(address)) return actuator;
  if (register.startedAt < (postedAt ?? -Infinity)) return actuator;
  const held = actuator.registers[address];
  if (held !== undefined && register.startedAt < held.startedAt) {
    const kept = besideEarlier(held, register);
    return kept === held ? actuator : { ...actuator, registers: { ...actuator.registers, [address]: kept } };
  }
  const registers = { ...actuator.registers, [address]: uphold(held, register) };
  const read = whatIsShown(actuator, registers);
  const isMode = isModeAlone(read);
  // At an address without degrees the last confirmed degree stands.
  const lastDegree = isMode ? actuator.lastDegree : null;
  const now = { state: read.state, position: read.position ?? lastDegree ?? null, between: null };
  // The last step's address may still show the mode for a moment, which says nothing about the target.
  const { lastWord } = read;
  const isBetween = actuator.between !== null && (actuator.between.until !== address || isMode);
  const { state, position, between } = isBetween ? actuator : now;
  const { readAt, source } = register;
  const pushed = withoutPushed(actuator.pushed, address, register);
  return {
    ...{ ...actuator, lastDegree, registers, state, position, between, value: read.value, readAt, source },
    ...(lastWord !== undefined && { lastWord }),
    ...(pushed !== actuator.pushed && { pushed }),
  };
}

/** For an idle pulse register the word last seen or confirmed is the state. */
function whatIsShown(
  { settings, lastWord = null }: Actuator,
  registers: Actuator["registers"],
): Shown & Pick<Actuator, "lastWord"> {
  const read = whatShows(settings, registers);
  if (settings.pulse !== true) return read;
  const register = registers[settings.address];
  if (register === undefined || !isIdlePulse(settings, register.raw))
    return { ...read, lastWord: read.state };
  return { ...read, state: lastWord ?? "unknown", lastWord };
}

/**
 * A fresh read may still return the previous value, so a pushed value counts until a read shows the same or comes this
 * much later.
 */
const pushedCountsMs = 60_000;

function withoutPushed(
  pushed: Actuator["pushed"],
  address: string,
  { raw, startedAt }: Register,
): Actuator["pushed"] {
  const news = pushed?.[address];
  if (pushed === undefined || news === undefined) return pushed;
  if (startedAt - news.at < pushedCountsMs && !sameValue(textOf(news.raw), textOf(raw))) return pushed;
  return Object.fromEntries(Object.entries(pushed).filter(([one]) => one !== address));
}

/** Keeps a pushed value beside the shown one. */
function foldPush(
  controller: Controller,
  { address, raw, at }: Extract<ControllerEvent, { type: "register_pushed" }>,
): Controller {
  return withChange(controller, {
    actuators: mapChanged(controller.actuators, (one): Actuator =>
      stateAddresses(one.settings).includes(address)
        ? { ...one, pushed: { ...one.pushed, [address]: { raw, at } } }
        : one,
    ),
  });
}

const isModeAlone = ({ state, position }: Pick<Shown, "state" | "position">): boolean =>
  state === "position" && position === null;

/** No further step follows, so the registers show the state again. */
function foldStepsEnded(
  controller: Controller,
  { target, id, degree = null, word = null }: Extract<ControllerEvent, { type: "steps_ended" }>,
): Controller {
  const actuator = target === "actuator" ? controller.actuators.get(id) : undefined;
  if (actuator === undefined) return controller;
  const { settings, registers, between } = actuator;
  const isHeld = degree !== null && settings.positionReads === "mode";
  const isPulse = word !== null && settings.pulse === true;
  if (between === null && !isHeld && !isPulse) return controller;
  const lastWord = isPulse ? word : actuator.lastWord;
  const now = whatIsShown({ ...actuator, ...(lastWord !== undefined && { lastWord }) }, registers);
  const isMode = isModeAlone(now);
  const lastDegree = isHeld && isMode ? degree : actuator.lastDegree;
  const position = isMode ? (lastDegree ?? null) : now.position;
  return withActuator(controller, id, { between: null, lastDegree, ...now, position });
}

type Shown = Pick<Actuator, "state" | "position" | "value">;

function whatShows(settings: ActuatorSettings, registers: Readonly<Record<string, Register>>): Shown {
  const [modeAddress, positionAddress] = stateAddresses(settings);
  const mode = registers[modeAddress];
  const degree = positionAddress === undefined ? mode : registers[positionAddress];
  if (mode === undefined)
    return { state: null, position: null, value: degree === undefined ? null : textOf(degree.raw) };
  const decoded = decodeValue(settings, mode.raw);
  if (positionAddress === undefined) return decoded;
  if (decoded.state === "position" && decoded.position !== null)
    return { state: "unknown", position: null, value: decoded.value };
  if (decoded.state !== "position" || degree === undefined) return { ...decoded, position: null };
  const position = decodeValue(settings, degree.raw);
  return position.position === null ? decoded : position;
}

/** Folds one read address into a parameter; numbers are scaled, anything else is shown as it is. */
export function foldParameter(parameter: Parameter, address: string, register: Register): Parameter {
  const { settings, register: held } = parameter;
  if (settings.address !== address || register.startedAt < (parameter.postedAt ?? -Infinity))
    return parameter;
  if (held !== null && register.startedAt < held.startedAt) {
    const kept = besideEarlier(held, register);
    return kept === held ? parameter : { ...parameter, register: kept };
  }
  const text = textOf(register.raw);
  const number = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : null;
  const value = number === null ? text : scaledParameter(number, settings.scale, settings.decimals);
  return { ...parameter, register: uphold(held, register), value };
}

function scaledParameter(number: number, scale: number, decimals: number | undefined): number {
  const exact = scale === 1 ? number : Number((number * scale).toPrecision(12));
  return decimals === undefined ? exact : Number(exact.toFixed(decimals));
}

type Addresses = Controller["addresses"];

/**
 * Folds a read address that no actuator or parameter owns. Only addresses that a command has read back are kept and
 * followed.
 */
function foldRawAddress(
  addresses: Addresses,
  controller: Controller,
  address: string,
  register: Register,
): Addresses {
  const held = addresses.get(address);
  if (held === undefined) {
    if (register.source !== "read_back" || ownerOf(controller, address) !== null) return addresses;
    return withAddress(addresses, address, { register, postedAt: null });
  }
  if (register.startedAt < (held.postedAt ?? -Infinity)) return addresses;
  if (held.register !== null && register.startedAt < held.register.startedAt) {
    const kept = besideEarlier(held.register, register);
    return kept === held.register ? addresses : withAddress(addresses, address, { ...held, register: kept });
  }
  return withAddress(addresses, address, { ...held, register: uphold(held.register, register) });
}

const postedRawAddress = (addresses: Addresses, address: string, at: number): Addresses =>
  withAddress(addresses, address, { register: addresses.get(address)?.register ?? null, postedAt: at });

const withAddress = (addresses: Addresses, address: string, raw: RawAddress): Addresses =>
  new Map([...addresses, [address, raw]]);
