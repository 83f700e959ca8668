import { type Device, deviceTypes } from "./account.js";
import { type Call, no, type Operation, parseJson } from "./call.js";
import type { Platform } from "./platform.js";
import { otherTypes } from "./readings.js";
import { type Fields, layOut, type Named, signInFields, success, writeTime } from "./shapes.js";
import { byKey } from "../runtime/objects.js";

export const signIn: Operation = (call) => {
  const { dialect, now, tokens } = call.platform;
  const issued = tokens.signIn(parseJson(call.request.body ?? ""), now);
  return issued ? success(signInFields(dialect, issued, now)) : no(call, 401, "账号或密码错误");
};

export const stations: Operation = ({ platform: { account, dialect, readings, devices } }) => {
  const about = { address: "山东省", longitude: 118.7, latitude: 36.9 };
  const items = account.stations.map(({ id, name }): Named => [name, { id, name, ...about }]);
  const apart = readings.has("stations_apart") ? [...devices.values()].filter(isWeatherStation) : [];
  const weather = apart.map(({ id, name, code }): Named => [name, { id, name, deviceCode: code, ...about }]);
  return success(layOut([...items, ...weather], dialect.listLayout));
};

const isWeatherStation = ({ type }: Device): boolean => type === "W001";

const listsOf = (device: Device): readonly string[] => deviceTypes.get(device.type)?.lists ?? [];

function listDevices(
  { devices, listing, readings }: Platform,
  isShown: (device: Device) => boolean,
): readonly Device[] {
  const isApart = (device: Device) => readings.has("stations_apart") && isWeatherStation(device);
  return listing === "full" ? [...devices.values()].filter((one) => isShown(one) && !isApart(one)) : [];
}

export const deviceList: Operation = (call) => {
  const { platform, request } = call;
  const { dataType } = request.query;
  const kind = dataType === undefined || dataType === "STREAM" ? dataType : "TEXT";
  const devices = listDevices(platform, (device) => kind === undefined || listsOf(device).includes(kind));
  const items = devices.map((device, index): Named => [device.code, deviceFields(platform, device, index)]);
  const { shown, count } = pageOf(call, items);
  return success({ ...layOut(shown, platform.dialect.listLayout), ...count });
};

/** Every dialect uses the documented envelope here. */
export const allControllers: Operation = (call) => {
  const { platform, requestId } = call;
  const isAll = platform.dialect.everything || platform.readings.has("clients_are_controllers");
  const isShown = (device: Device) => isAll || device.isController;
  const items = listDevices(platform, isShown).map((device, index) => ({
    ...deviceFields(platform, device, index),
    online:
      platform.isOnline(device.code) &&
      platform.fault(["listed_offline"], { ...call, controller: device.code }) === null,
  }));
  const { shown, count } = pageOf(call, items);
  const data = platform.listing === "null" ? null : shown;
  const timestamp = Math.floor(platform.now);
  return { status: 200, body: { requestId, code: 200, data, ...count, timestamp, success: true } };
};

const usualPage = 5;

/** All items; with the fault `paged` one page, whose size the query may give, beside the count of all. */
function pageOf<Item>(call: Call, items: readonly Item[]): { shown: readonly Item[]; count: Fields } {
  const fault = call.platform.fault(["paged"], call);
  if (fault === null) return { shown: items, count: {} };
  const size = Number(call.request.query.pageSize ?? fault.value ?? usualPage);
  return { shown: items.slice(0, size), count: { total: items.length } };
}

const typeShown = ({ readings }: Platform, type: string): string =>
  (readings.has("unknown_types") ? otherTypes[type] : undefined) ?? type;

const streamOf = (platform: Platform, device: Device): string => {
  if (!listsOf(device).includes("STREAM")) return "";
  const login = platform.dialect.extension === "filled" ? "viewer:camera-password@" : "";
  return `https://${login}video.example.com/live/${device.code}.flv`;
};

/** The fields of the interface's device item; the customer id is a Long above 2^53. */
function deviceFields(platform: Platform, device: Device, index: number): Fields {
  const { code, id, isController, name, station, type } = device;
  return {
    id,
    code,
    name,
    deviceTypeId: typeShown(platform, type),
    deviceTypeName: deviceTypes.get(type)?.title ?? "",
    stationId: station.id,
    stationName: station.name,
    customerId: "1680236549218304003",
    sortOrder: index + 1,
    deviceBrand: "",
    hls: platform.dialect.streams === "lists" ? streamOf(platform, device) : "",
    channel: 1,
    number: index + 1,
    version: isController ? 3 : 1,
    // Extension fields that a careless program could take for the device's own.
    ...(platform.dialect.extension === "filled"
      ? { tag: "east", prefix: "SD", type: "EXT-7" }
      : { tag: "", prefix: "", type: "" }),
  };
}

export const videos: Operation = ({ platform }) => {
  const devices = listDevices(platform, (device) => listsOf(device).includes("STREAM"));
  const items = devices.map((device): Named => {
    const { code, name, type } = device;
    return [
      code,
      { code, name, deviceTypeId: typeShown(platform, type), hlsUrl: streamOf(platform, device) },
    ];
  });
  return success(layOut(items, platform.dialect.listLayout));
};

const hourMs = 3_600_000;
const hoursShown = 24;
const round = (value: number): number => Math.round(value * 10) / 10;

/** The weather of the last day by hour, oldest first. */
function lastHours({ simulatedNow, sky }: Platform) {
  const newest = Math.floor(simulatedNow / hourMs) * hourMs;
  return Array.from({ length: hoursShown }, (_, index) => {
    const at = newest - (hoursShown - 1 - index) * hourMs;
    const { temperatureC, humidityPct, windMs, rainMmH, irradianceWm2 } = sky.at(at);
    const weather = {
      airTemperature: round(temperatureC),
      airHumidity: round(humidityPct),
      windSpeed: round(windMs),
      rainRate: round(rainMmH),
      irradiance: Math.round(irradianceWm2),
    };
    return { at, weather };
  });
}

/** An hour of every day for which the station has no data. */
const silentHour = 5;

/** Dates are in real time, even before the simulation began; an hour is missing, and a page is a page. */
export const weatherList: Operation = (call) => {
  const { now, simulatedNow, timeline, dialect } = call.platform;
  const asked = call.platform.devices.get(call.request.query.deviceCode ?? "");
  // The platform keeps no climate of greenhouses; without a device it gives the weather of the account.
  const isKept = asked === undefined || asked.type === "W001";
  const heard = isKept ? lastHours(call.platform).filter((_, index) => index !== silentHour) : [];
  const items = heard.map(({ at, weather }): Named => {
    const dateTime = writeTime(now - (simulatedNow - at) / timeline.speed, dialect.times);
    return [String(dateTime), { deviceCode: call.request.query.deviceCode ?? null, dateTime, ...weather }];
  });
  const { shown, count } = pageOf(call, items);
  return success({ ...layOut(shown, dialect.listLayout), ...count });
};

/** Averages over the last day. */
export const weatherAverage: Operation = ({ platform }) => {
  const hours = lastHours(platform);
  const quantities = ["airTemperature", "airHumidity", "windSpeed", "irradiance"] as const;
  const averages = byKey(quantities, (quantity) =>
    round(hours.reduce((total, { weather }) => total + weather[quantity], 0) / hours.length),
  );
  return success({ data: averages });
};
