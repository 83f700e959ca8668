import { type Device, typeNames } from "./account.js";
import { type Answer, type Call, failure, parseJson, success } from "./call.js";
import type { PlatformState } from "./platform-state.js";
import { type Fields, layOut, signInAnswer } from "./register-shapes.js";
import { writeTime } from "./weather.js";

export function signIn(state: PlatformState, call: Call): Answer {
  const issued = state.tokens.signIn(parseJson(call.request.body ?? ""), state.now);
  if (!issued) return failure(state, call, 401, "账号或密码错误");
  return success(signInAnswer(state.settings.dialect, issued, state.now));
}

export function stations(state: PlatformState): Answer {
  const { layout } = state.settings.dialect.lists;
  const items = state.account.stations.map(({ id, name }) => ({
    id,
    name,
    address: "山东省",
    longitude: 118.7,
    latitude: 36.9,
  }));
  return success(layOut(items, layout, (item) => item.name));
}

const textTypes = new Set(["C001", "C003", "W001", "V003", "V009"]);
const streamTypes = new Set(["V003", "V008", "V009"]);

export function deviceList(state: PlatformState, call: Call): Answer {
  const { dataType } = call.request.query;
  const shown = (type: string) =>
    dataType === undefined || (dataType === "STREAM" ? streamTypes.has(type) : textTypes.has(type));
  const devices = listed(state, (device) => shown(device.type));
  const { layout } = state.settings.dialect.lists;
  const items = devices.map((device, index) => deviceFields(state, device, index));
  const { shown: page, count } = pageOf(state, call, items);
  return { ...success({ ...layOut(page, layout, (item) => String(item.code)), ...count }), hasLongs: true };
}

/** Shown in the documented envelope by every dialect. */
export function allControllers(state: PlatformState, call: Call): Answer {
  const { everything } = state.settings.dialect.lists;
  const items = listed(state, (device) => everything || device.isController).map((device, index) => ({
    ...deviceFields(state, device, index),
    online:
      isOnline(state, device) &&
      state.fault(["listed_offline"], { ...call, controller: device.code }) === null,
  }));
  const { shown, count } = pageOf(state, call, items);
  const data = state.listing === "null" ? null : shown;
  const body = {
    requestId: call.requestId,
    code: 200,
    data,
    ...count,
    timestamp: Math.floor(state.now),
    success: true,
  };
  return { status: 200, body, hasLongs: true };
}

/** All of it; with the fault `paged` no more than a page, whose size may be asked for, beside the count of all. */
function pageOf<Item>(
  state: PlatformState,
  call: Call,
  items: readonly Item[],
): { readonly shown: readonly Item[]; readonly count: Fields } {
  const fault = state.fault(["paged"], call);
  if (fault === null) return { shown: items, count: {} };
  const size = Number(call.request.query.pageSize ?? fault.value ?? usualPage);
  return { shown: items.slice(0, size), count: { total: items.length } };
}

const usualPage = 5;

export function videos(state: PlatformState): Answer {
  const items = listed(state, (device) => streamTypes.has(device.type)).map((device) => ({
    code: device.code,
    name: device.name,
    deviceTypeId: device.type,
    hlsUrl: streamOf(state, device),
  }));
  return success(layOut(items, state.settings.dialect.lists.layout, (item) => item.code));
}

function listed(state: PlatformState, isShown: (device: Device) => boolean): readonly Device[] {
  return state.listing === "full" ? [...state.devices.values()].filter(isShown) : [];
}

/** Without creating a greenhouse for a device that was never looked at: such a device never went offline. */
function isOnline(state: PlatformState, device: Device): boolean {
  return state.known(device.code)?.isOnline() ?? true;
}

const isFilled = (state: PlatformState): boolean => state.settings.dialect.lists.extension === "filled";

const streamOf = (state: PlatformState, device: Device): string => {
  if (!streamTypes.has(device.type)) return "";
  const login = isFilled(state) ? "viewer:camera-password@" : "";
  return `https://${login}video.example.com/live/${device.code}.flv`;
};

/** The fields of the interface's device item; the customer id is a Long beyond 2^53. */
function deviceFields(state: PlatformState, device: Device, index: number): Fields {
  // Extension fields that could be taken for the device's own where a program mixes them up.
  const extension = isFilled(state)
    ? { tag: "east", prefix: "SD", type: "EXT-7" }
    : { tag: "", prefix: "", type: "" };
  return {
    id: device.id,
    code: device.code,
    name: device.name,
    deviceTypeId: device.type,
    deviceTypeName: typeNames.get(device.type) ?? "",
    stationId: device.station.id,
    stationName: device.station.name,
    customerId: "1680236549218304003",
    sortOrder: index + 1,
    deviceBrand: "",
    hls: streamOf(state, device),
    channel: 1,
    number: index + 1,
    version: device.isController ? 3 : 1,
    ...extension,
  };
}

const hourMs = 3_600_000;
const hoursShown = 24;

/** The weather of the last day, hour by hour, oldest first. */
export function weatherList(state: PlatformState, call: Call): Answer {
  const { dialect } = state.settings;
  const items = lastHours(state).map(({ at, weather }) => ({
    deviceCode: call.request.query.deviceCode ?? null,
    dateTime: writeTime(state.timeline.realAt(at), dialect.sensors.time),
    ...weather,
  }));
  return success(layOut(items, dialect.lists.layout, (item) => String(item.dateTime)));
}

/** Averages over the last day. */
export function weatherAverage(state: PlatformState): Answer {
  const hours = lastHours(state).map(({ weather }) => weather);
  const average = (quantity: keyof (typeof hours)[number]) =>
    rounded(hours.reduce((sum, hour) => sum + hour[quantity], 0) / hours.length);
  const quantities = ["temperature", "humidity", "windSpeed", "irradiance"] as const;
  return success({ data: Object.fromEntries(quantities.map((quantity) => [quantity, average(quantity)])) });
}

function lastHours(state: PlatformState) {
  const newest = Math.floor(state.simulatedNow / hourMs) * hourMs;
  return Array.from({ length: hoursShown }, (_, index) => {
    const at = newest - (hoursShown - 1 - index) * hourMs;
    const { temperatureC, humidityPct, windMs, rainMmH, irradianceWm2 } = state.sky.at(at);
    const weather = {
      temperature: rounded(temperatureC),
      humidity: rounded(humidityPct),
      windSpeed: rounded(windMs),
      rain: rounded(rainMmH),
      irradiance: Math.round(irradianceWm2),
    };
    return { at, weather };
  });
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
