import { handValues } from "./events.js";
import type { Call } from "./call.js";
import { failure, success, type Answer } from "./envelope.js";
import type { FaultTarget } from "./fault-book.js";
import { readFaults, type FaultSpec } from "./faults.js";
import { layOut, type Fields } from "./layout.js";
import { localText } from "./local-time.js";
import type { PlatformState } from "./platform-state.js";
import { flushAnswer, readAnswer, statusValue } from "./register-shapes.js";
import { runningStatuses } from "./running-statuses.js";
import { sensorAnswer } from "./sensor-shapes.js";
import type { SimulatedController } from "./simulated-controller.js";

const missing = (state: PlatformState, call: Call, parameter: string): Answer =>
  failure(state.settings.dialect, 400, `缺少参数: ${parameter}`, call.requestId);

/** The single-device status; offline and unknown devices look the same. */
export function connectionStatus(state: PlatformState, call: Call): Answer {
  if (call.controller === null) return missing(state, call, "deviceCode");
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
  if (call.controller === null) return missing(state, call, dialect.sensorQuery);
  const controller = state.controller(call.controller);
  const sample = controller?.sample();
  const hasReadings = controller?.device.type !== "V003" || dialect.pestMonitor === "readings";
  const at = sample ? state.timeline.realAt(sample.at) : state.now;
  return success(sensorAnswer(dialect, (hasReadings ? sample?.items : null) ?? [], at));
}

export function runningStatusList(state: PlatformState, call: Call): Answer {
  if (call.controller === null) return missing(state, call, "deviceCode");
  const { dialect } = state.settings;
  const controller = state.controller(call.controller);
  const items = controller ? statusItems(state, controller) : [];
  return success(layOut(items, dialect.statuses.layout, (item) => String(item.name)));
}

export function statusItems(state: PlatformState, controller: SimulatedController): readonly Fields[] {
  return runningStatuses(controller).map((row) => ({
    name: row.name,
    deviceTypeNumber: row.number,
    status: statusValue(state.settings.dialect, row.isRunning),
  }));
}

export function readValue(state: PlatformState, call: Call): Answer {
  const { dialect } = state.settings;
  if (call.controller === null) return missing(state, call, "deviceCode");
  if (call.address === null) return missing(state, call, "address");
  const isFresh = call.request.query.flush === "1";
  const controller = state.controller(call.controller);
  const busy = state.faults.take(["busy"], targetOf(call, call.address), state.now);
  if (busy) return failure(dialect, busy.code ?? 500, busy.message ?? "设备忙", call.requestId);
  if (controller && isFresh && isCutOff(state, controller)) return offline(state, call);
  const value = controller ? shownValue(state, call, controller, call.address, isFresh) : null;
  const isUnknown = value === null && (controller?.read(call.address) ?? null) === null;
  if (isUnknown && dialect.registers.unknown === "error")
    return failure(dialect, 404, "地址不存在", call.requestId);
  return success(readAnswer(dialect, call.address, value));
}

export function readGroup(state: PlatformState, call: Call): Answer {
  if (call.controller === null) return missing(state, call, "deviceCode");
  const group = call.request.query.deviceTypeId;
  if (group === undefined) return missing(state, call, "deviceTypeId");
  const controller = state.controller(call.controller);
  const stale = state.faults.take(["stale_group"], targetOf(call, null), state.now);
  if (controller && stale === null && isCutOff(state, controller)) return offline(state, call);
  const rows = [...(controller?.registers.table.values() ?? [])];
  const read = rows
    .filter((row) => row.group !== null && String(row.group) === group)
    .flatMap(({ address }) => {
      const value =
        controller === null
          ? null
          : stale === null
            ? shownValue(state, call, controller, address, true)
            : agedValue(state, stale, controller, address);
      return value === null ? [] : [{ address, value }];
    });
  return success(flushAnswer(state.settings.dialect, read));
}

const targetOf = (call: Call, address: string | null): FaultTarget => ({
  host: call.request.host,
  operation: call.operation,
  controller: call.controller,
  address,
});

const isCutOff = (state: PlatformState, controller: SimulatedController): boolean =>
  !controller.isOnline() && state.settings.dialect.offlinePost === "refuse";

export const offline = (state: PlatformState, call: Call): Answer =>
  failure(state.settings.dialect, 500, "设备离线", call.requestId);

function shownValue(
  state: PlatformState,
  call: Call,
  controller: SimulatedController,
  address: string,
  isFresh: boolean,
): string | null {
  const lies = readFaults.filter((fault) => fault !== "stale_read_back" || !isFresh);
  const lie = state.faults.take(lies, targetOf(call, address), state.now);
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
