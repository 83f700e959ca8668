import type { Device } from "./account.js";
import { typeNames } from "./account.js";
import { parseJson, type Call } from "./call.js";
import { failure, success, type Answer } from "./envelope.js";
import { layOut, type Fields } from "./layout.js";
import type { PlatformState } from "./platform-state.js";
import { signInAnswer } from "./register-shapes.js";

export function signIn(state: PlatformState, call: Call): Answer {
  const { dialect } = state.settings;
  const issued = state.tokens.signIn(parseJson(call.request.body ?? ""), state.now);
  if (!issued) return failure(dialect, 401, "账号或密码错误", call.requestId);
  return success(signInAnswer(dialect, issued, state.now));
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
  const items = devices.map((device, index) => deviceFields(device, index));
  return { ...success(layOut(items, layout, (item) => String(item.code))), hasLongs: true };
}

/** Shown in the documented envelope by every dialect. */
export function allControllers(state: PlatformState, call: Call): Answer {
  const { everything } = state.settings.dialect.lists;
  const data =
    state.listing === "null"
      ? null
      : listed(state, (device) => everything || device.isController).map((device, index) => ({
          ...deviceFields(device, index),
          online: isOnline(state, device),
        }));
  const body = {
    requestId: call.requestId,
    code: 200,
    data,
    timestamp: Math.floor(state.now),
    success: true,
  };
  return { status: 200, body, hasLongs: true };
}

export function videos(state: PlatformState): Answer {
  const items = listed(state, (device) => streamTypes.has(device.type)).map((device) => ({
    code: device.code,
    name: device.name,
    deviceTypeId: device.type,
    hlsUrl: streamOf(device),
  }));
  return success(layOut(items, state.settings.dialect.lists.layout, (item) => item.code));
}

function listed(state: PlatformState, isShown: (device: Device) => boolean): readonly Device[] {
  return state.listing === "full" ? [...state.devices.values()].filter(isShown) : [];
}

/** Without creating a greenhouse for a device nobody has looked at: such a device never went offline. */
function isOnline(state: PlatformState, device: Device): boolean {
  return state.known(device.code)?.isOnline() ?? true;
}

const streamOf = (device: Device): string =>
  streamTypes.has(device.type) ? `https://video.example.com/live/${device.code}.flv` : "";

/** The fields of the interface's device item; the customer id is a Long beyond 2^53. */
function deviceFields(device: Device, index: number): Fields {
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
    hls: streamOf(device),
    channel: 1,
    number: index + 1,
    version: device.isController ? 3 : 1,
    tag: "",
    prefix: "",
    type: "",
  };
}
