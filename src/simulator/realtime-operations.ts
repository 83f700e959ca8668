import { planRoles, type Role } from "./address-table.js";
import {
  type Answer,
  type Call,
  type ControlValue,
  failure,
  type PostEffect,
  type PostRecord,
  success,
} from "./call.js";
import type { SimulatedController } from "./device.js";
import { type EffectFault, effectFaults, type FaultOf, type FaultSpec, readFaults } from "./faults.js";
import { handValues } from "./happenings.js";
import type { PlatformState } from "./platform-state.js";
import { type Fields, flushAnswer, layOut, registerValue } from "./register-shapes.js";
import { sensorAnswer } from "./sensors.js";
import { localText } from "./weather.js";

/** A running status with its type number (system 3), which several of one device may share. */
type StatusRow = readonly [name: string, number: number, role: Role | null];

const plans = planRoles.map((role, index): StatusRow => [`灌溉方案${index + 1}`, 49, role]);

const statusRows = new Map<string, readonly StatusRow[]>([
  [
    "C001",
    [
      ["一级风机", 16, "fan_1"],
      ["二级风机", 17, "fan_2"],
      ["三级风机", 18, "fan_3"],
      ["湿帘", 19, "wet_curtain"],
      ["室外顶喷淋", 37, null],
      ...plans.slice(0, 2),
    ],
  ],
  ["C003", plans],
]);

/** The single-device status; offline and unknown devices look the same. */
export function connectionStatus(state: PlatformState, call: Call): Answer {
  const controller = state.controller(call.controller);
  const isConnected = controller !== null && controller.isOnline() && hasClient(state, controller);
  if (!isConnected)
    return success({ data: { status: 0, type: 1 } }, { code: "CLIENTID_NOT_FOUND", message: "客户端不在线" });
  return success({
    data: {
      status: 1,
      type: 1,
      version: 2,
      description: state.settings.dialect.lists.extension === "filled" ? "三号机柜" : null,
      latest_online_datetime: localText(state.startedAt),
    },
  });
}

function hasClient({ settings }: PlatformState, { device }: SimulatedController): boolean {
  const { lists, clients } = settings.dialect;
  return device.isController || lists.everything || (clients === "stations" && device.type === "W001");
}

export function sensorData(state: PlatformState, call: Call): Answer {
  const { dialect } = state.settings;
  const controller = state.controller(call.controller);
  const sample = controller?.sample();
  const hasReadings = controller?.device.type !== "V003" || dialect.pestMonitor === "readings";
  const at = sample ? state.timeline.realAt(sample.at) : state.now;
  return success(sensorAnswer(dialect, (hasReadings ? sample?.items : null) ?? [], at));
}

export function runningStatusList(state: PlatformState, call: Call): Answer {
  const { dialect } = state.settings;
  const controller = state.controller(call.controller);
  const items = controller ? statusItems(state, controller) : [];
  return success(layOut(items, dialect.statuses.layout, (item) => String(item.name)));
}

const statusForms = {
  boolean: (isRunning: boolean) => isRunning,
  number: Number,
  text: (isRunning: boolean) => String(Number(isRunning)),
} as const;

/** What runs at a device now, as the motors show it rather than the registers. */
export function statusItems(state: PlatformState, controller: SimulatedController): readonly Fields[] {
  const written = statusForms[state.settings.dialect.statuses.value];
  return (statusRows.get(controller.device.type) ?? []).map(([name, deviceTypeNumber, role]) => {
    const isRunning = role !== null && controller.plant.level(role) > 0.05;
    return { name, deviceTypeNumber, status: written(isRunning) };
  });
}

export function readValue(state: PlatformState, call: Call): Answer {
  const { dialect } = state.settings;
  const isFresh = call.request.query.flush === "1";
  const controller = state.controller(call.controller);
  const busy = state.fault(["busy"], call);
  if (busy) return failure(state, call, busy.code ?? 500, busy.message ?? "设备忙");
  if (controller && isFresh && isCutOff(state, controller)) return offline(state, call);
  const value = controller ? shownValue(state, call, controller, call.address, isFresh) : null;
  const isUnknown = value === null && (controller?.read(call.address) ?? null) === null;
  if (isUnknown && dialect.registers.unknown === "error") return failure(state, call, 404, "地址不存在");
  if (value !== null) return success({ data: { [call.address]: registerValue(dialect, value) } });
  return success({ data: dialect.registers.unknown === "null" ? { [call.address]: null } : {} });
}

export function readGroup(state: PlatformState, call: Call): Answer {
  const { deviceTypeId } = call.request.query;
  const controller = state.controller(call.controller);
  if (controller === null) return success(flushAnswer(state.settings.dialect, []));
  const stale = state.fault(["stale_group"], call);
  if (stale === null && isCutOff(state, controller)) return offline(state, call);
  const rows = [...controller.registers.table.values()].filter(
    ({ group }) => String(group ?? "") === deviceTypeId,
  );
  const read = rows.flatMap(({ address }) => {
    const value = stale
      ? agedValue(state, stale, controller, address)
      : shownValue(state, call, controller, address, true);
    return value === null ? [] : [[address, value] as const];
  });
  return success(flushAnswer(state.settings.dialect, read));
}

const isCutOff = (state: PlatformState, controller: SimulatedController): boolean =>
  !controller.isOnline() && state.settings.dialect.offlinePost === "refuse";

const offline = (state: PlatformState, call: Call): Answer => failure(state, call, 500, "设备离线");

function shownValue(
  state: PlatformState,
  call: Call,
  controller: SimulatedController,
  address: string,
  isFresh: boolean,
): string | null {
  const lies = readFaults.filter((fault) => fault !== "stale_read_back" || !isFresh);
  const lie = state.fault(lies, { ...call, address });
  const value = controller.read(address);
  if (lie === null || value === null) return value;
  if (lie.fault === "no_value") return null;
  if (lie.fault === "wrong_read_back") return wrongValue(lie, controller, address, value);
  return agedValue(state, lie, controller, address);
}

function agedValue(
  state: PlatformState,
  { delayMs = 60_000 }: FaultSpec,
  controller: SimulatedController,
  address: string,
): string | null {
  return controller.registers.readAsOf(address, state.simulatedNow - delayMs * state.timeline.speed);
}

function wrongValue(lie: FaultSpec, controller: SimulatedController, address: string, value: string): string {
  if (typeof lie.value === "string") return lie.value;
  const row = controller.registers.table.get(address);
  return (row ? handValues(row) : []).find((other) => other !== value) ?? "0";
}

const minuteMs = 60_000;
/** Later than the first read-backs. */
const revertsAfterMs = 4_000;

/**
 * `POST /api/set-value`: takes the value and passes it on to the device, which may still do nothing with it. The answer
 * is a success either way, as on the real platform.
 */
export function setValue(state: PlatformState, call: Call): Answer {
  const { dialect } = state.settings;
  const { post, record } = call;
  if (post === null || record === null) return failure(state, call, 400, "no body");
  if (!post.isValid) return failure(state, call, post.status, post.why);
  const { control } = post;
  const lie = state.fault(effectFaults, call);
  const controller = state.controller(control.code);
  if (!controller?.registers.table.has(control.address))
    return failure(state, call, 404, controller ? "地址不存在" : "设备不存在");
  if (lie?.fault === "offline_at_post")
    controller.disconnect(state.simulatedNow + (lie.forMs ?? minuteMs) * state.timeline.speed);
  if (!controller.isOnline() && lie?.fault !== "offline_at_post" && dialect.offlinePost === "refuse") {
    record.effect = "offline";
    return offline(state, call);
  }
  record.accepted = true;
  passOn(state, record, control, lie);
  const echo = { address: control.address, deviceCode: control.code, value: control.value };
  return success(dialect.setAnswer === "data" ? { data: echo } : echo, "操作成功");
}

function passOn(
  state: PlatformState,
  record: PostRecord,
  control: ControlValue,
  lie: FaultOf<EffectFault> | null,
): void {
  const controller = state.controller(control.code);
  if (!controller?.isOnline()) {
    record.effect = "offline";
    return;
  }
  if (lie?.fault === "ignore") {
    record.effect = "ignored_by_fault";
    return;
  }
  record.effect = "waiting";
  const at = state.simulatedNow + state.settings.registerLagMs;
  const usualMs = lie?.fault === "revert" ? revertsAfterMs : minuteMs;
  const delayMs = (lie?.delayMs ?? usualMs) * state.timeline.speed;
  const { address, value } = control;
  const before = controller.registers.read(address);
  const command = { address, value, by: "command" } as const;
  const later = at + delayMs;
  const settled = (effect: PostEffect) => {
    record.effect = effect;
  };
  controller.schedule({ ...command, at: lie?.fault === "late" ? later : at, settled });
  if (lie?.fault === "revert" && before !== null)
    controller.schedule({ at: later, address, value: before, by: "revert", onlyIf: value });
  if (lie?.fault === "twice") controller.schedule({ ...command, at: later });
}
