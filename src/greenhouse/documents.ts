import type {
  Actuator,
  ControllerInfo,
  Parameter,
  RunningStatus,
  Sensor,
  SensorDefinition,
  Controller,
} from "./model.js";
import { row, type Text } from "../language/text.js";
import type { Language } from "./labels.js";
import { nameById } from "./names-by-id.js";
import { translatedSensorName } from "./sensor-names.js";

/*
 * The JSON documents of a controller and its parts, equal on the `.../json` topics and in the API. Times are ISO texts.
 */

/** Remembers the last two texts, as all items of an answer share their times of measuring and receipt. */
export const isoOrNull = isoRememberingTwo();

function isoRememberingTwo(): (at: number | null) => string | null {
  let newest = { at: NaN, text: "" };
  let older = newest;
  return (at) => {
    if (at === null) return null;
    if (at === newest.at) return newest.text;
    if (at === older.at) return older.text;
    older = newest;
    newest = { at, text: new Date(at).toISOString() };
    return newest.text;
  };
}

/** An item of `bridge/controllers`. */
export const controllerItem = ({ code, id, name, type, record }: ControllerInfo) => ({
  code,
  id,
  name,
  type,
  type_name: record?.typeName ?? null,
  station: record?.stationName ?? null,
  station_id: record?.stationId ?? null,
});

/** The platform's `id` and extension `type` get other names here, so that no field hides another. */
export function infoDocument(info: ControllerInfo) {
  const { record, client, stream } = info;
  const { id: platformId, type: extensionType, ...extra } = record?.extra ?? {};
  return {
    ...extra,
    ...controllerItem(info),
    area: info.area,
    brand: record?.brand ?? null,
    platform_id: platformId ?? null,
    extension_type: extensionType ?? null,
    version: record?.version ?? null,
    interface_version: client?.version ?? null,
    status_type: client?.marker ?? null,
    description: client?.description ?? null,
    last_online_at: isoOrNull(client?.lastOnlineAt ?? null),
    ...(stream === null ? {} : { stream }),
  };
}

export function sensorDocument(sensor: Sensor) {
  const { definition } = sensor;
  return {
    value: sensor.value,
    raw: sensor.raw,
    unit: definition.unit,
    kind: definition.kind,
    measured_at: isoOrNull(sensor.measuredAt),
    received_at: isoOrNull(sensor.receivedAt),
    quality: sensor.quality,
    source: sensor.source,
    name: definition.platformName,
    factor: definition.factor,
    channel: definition.channel,
  };
}

export const actuatorDocument = (actuator: Actuator) => ({
  state: actuator.state,
  position: actuator.position,
  value: actuator.value,
  read_at: isoOrNull(actuator.readAt),
  source: actuator.source,
  quality: actuator.quality,
  ...(actuator.runs === undefined ? {} : { running: actuator.runs }),
});

export const parameterDocument = ({ value, register, settings, quality }: Parameter) => ({
  value,
  raw: register?.raw ?? null,
  unit: settings.unit ?? null,
  read_at: isoOrNull(register?.readAt ?? null),
  source: register?.source ?? null,
  quality,
});

export const statusDocument = ({
  name,
  number,
  value,
  state,
  readAt,
  changedAt,
  quality,
}: RunningStatus) => ({
  name,
  number,
  value,
  state,
  read_at: isoOrNull(readAt),
  changed_at: isoOrNull(changedAt),
  quality,
});

/** A sensor's configured name; else the platform's name, translated by the catalogue. */
export const sensorName = ({ name, platformName }: SensorDefinition, language: Language): string =>
  (name === platformName ? translatedSensorName(platformName, language) : null) ?? name;

/** The name of an actuator or parameter. */
export const ownNameOf = ({ id, name }: Readonly<{ id: string; name?: string | undefined }>): Text =>
  name ?? nameById(id);

/** The name of a controller, of its actuator or parameter (an address names itself), or of a sensor. */
export function nameOf(
  { info, actuators, parameters, sensors }: Controller,
  commanded: string | null,
  sensor?: { readonly id: string | undefined; readonly language: Language },
): Text {
  const definition = sensors.get(sensor?.id ?? "")?.definition;
  const ofSensor = definition && sensor ? sensorName(definition, sensor.language) : sensor?.id;
  const settings = (actuators.get(commanded ?? "") ?? parameters.get(commanded ?? ""))?.settings;
  const name = ofSensor ?? (settings ? ownNameOf(settings) : commanded);
  if (!name) return info.name;
  return typeof name === "string" ? `${info.name} / ${name}` : row`${info.name} / ${name}`;
}
