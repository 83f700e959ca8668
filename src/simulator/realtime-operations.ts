import type { Device } from "./account.js";
import { planRoles, type Role } from "./addresses.js";
import { type Call, no, type Operation } from "./call.js";
import type { SimulatedController } from "./device.js";
import { handValues } from "./events.js";
import { type FaultName, faults, type FaultSpec } from "./faults.js";
import type { Platform, PostRecord } from "./platform.js";
import { itemsIn, refusedBy, shownBy } from "./readings.js";
import {
  type Fields,
  layOut,
  registerGroup,
  registerValue,
  runningValue,
  sensorList,
  success,
} from "./shapes.js";
import { localText } from "./weather.js";

/** The single-device status; offline and unknown devices look the same. */
export const connectionStatus: Operation = ({ controller: code, platform }) => {
  const controller = platform.controller(code);
  if (controller === null || !controller.isOnline() || !hasClient(platform, controller.device))
    return success({ data: { status: 0, type: 1 } }, { code: "CLIENTID_NOT_FOUND", message: "客户端不在线" });
  const description = platform.dialect.extension === "filled" ? "三号机柜" : null;
  const latest_online_datetime = localText(
    platform.readings.has("last_seen") ? platform.now : platform.startedAt,
  );
  return success({ data: { status: 1, type: 1, version: 2, description, latest_online_datetime } });
};

function hasClient({ dialect, readings }: Platform, { isController, type }: Device): boolean {
  const { clients, everything } = dialect;
  if (readings.has("clients_are_controllers")) return isController;
  return isController || everything || (clients === "stations" && type === "W001");
}

export const sensorData: Operation = ({ controller: code, platform }) => {
  const { dialect, now, readings, timeline } = platform;
  const controller = platform.controller(code);
  const sample = controller?.sample();
  const counts = dialect.pestMonitor === "readings" || readings.has("unknown_types");
  const hasReadings = controller?.device.type !== "V003" || counts;
  const at = sample ? timeline.realAt(sample.at) : now;
  const items = itemsIn(readings, dialect, (hasReadings ? sample?.items : null) ?? []);
  return success(sensorList(dialect, items, at));
};

/** A running status with its type number (system 3), which several statuses of a device may share. */
type StatusRow = readonly [name: string, number: number, role: Role | null];

const plans = planRoles.map((role, index): StatusRow => [`灌溉方案${index + 1}`, 49, role]);

const statusRows = new Map<string, readonly StatusRow[]>([
  [
    "C001",
    [
      ...([
        ["一级风机", 16, "fan_1"],
        ["二级风机", 17, "fan_2"],
        ["三级风机", 18, "fan_3"],
      ] as const),
      ...([
        ["湿帘", 19, "wet_curtain"],
        ["室外顶喷淋", 37, null],
      ] as const),
      ...plans.slice(0, 2),
    ],
  ],
  ["C003", plans],
]);

/** What runs at a device now, by its motors rather than its registers. */
export const statusItems = (platform: Platform, { device, plant }: SimulatedController): readonly Fields[] =>
  (statusRows.get(device.type) ?? []).map(([name, deviceTypeNumber, role]) => {
    const isRunning = role !== null && plant.levels[role] > 0.05;
    return { name, deviceTypeNumber, status: runningValue(platform, isRunning) };
  });

export const runningStatuses: Operation = ({ controller: code, platform }) => {
  const controller = platform.controller(code);
  const items = controller ? statusItems(platform, controller) : [];
  return success(
    layOut(
      items.map((item) => [String(item.name), item]),
      platform.dialect.statusLayout,
    ),
  );
};

const isCutOff = ({ dialect }: Platform, controller: SimulatedController): boolean =>
  !controller.isOnline() && dialect.offlinePost === "refuse";

export const readValue: Operation = (call) => {
  const { address, platform, request } = call;
  const { unknownAddress } = platform.dialect;
  const isFresh = request.query.flush === "1";
  const controller = platform.controller(call.controller);
  const busy = platform.fault(["busy"], call);
  if (busy) return no(call, busy.code ?? 500, busy.message ?? "设备忙");
  if (controller && isFresh && isCutOff(platform, controller)) return no(call, 500, "设备离线");
  const value = controller && asShown(call, controller, address, isFresh);
  if (value !== null) return success({ data: { [address]: registerValue(platform.dialect, value) } });
  const isUnknown = (controller?.read(address) ?? null) === null;
  if (isUnknown && unknownAddress === "error") return no(call, 404, "地址不存在");
  return success({ data: unknownAddress === "null" ? { [address]: null } : {} });
};

export const readGroup: Operation = (call) => {
  const { platform, request } = call;
  const controller = platform.controller(call.controller);
  if (controller === null) return success(registerGroup(platform.dialect, []));
  const stale = platform.fault(["stale_group"], call);
  if (stale === null && isCutOff(platform, controller)) return no(call, 500, "设备离线");
  const read = [...controller.table.values()].flatMap(({ address, group, names }) => {
    if (String(group ?? "") !== request.query.deviceTypeId) return [];
    const aged = stale && agedValue(platform, stale, controller, address);
    const isSet = platform.readings.has("group_of_settings");
    const shown = isSet ? controller.register(address) : shownValue(call, controller, address, true);
    const value = otherwise(call, controller, address, stale ? aged : shown, true, isSet ? " set" : "");
    return [{ address, value, name: names.zh }];
  });
  return success(registerGroup(platform.dialect, read));
};

const asShown = (call: Call, controller: SimulatedController, address: string, isFresh: boolean) =>
  otherwise(call, controller, address, shownValue(call, controller, address, isFresh), isFresh);

/** What the platform shows of an address with its other readings. */
function otherwise(
  call: Call,
  controller: SimulatedController,
  address: string,
  value: string | null,
  isFresh: boolean,
  /** Each kind of answer remembers values of its own. */
  way = "",
): string | null {
  const row = controller.table.get(address);
  const { behaviours, now, timeline } = call.platform;
  if (row === undefined) return value;
  const heldAt = (at: number) => controller.register(address, timeline.simulatedAt(at));
  const key = `${controller.device.code} ${address}${way}`;
  const honest = way === "" ? controller.read(address) : controller.register(address);
  return shownBy(behaviours, { row, key, value, isHonest: value === honest, isFresh, now, heldAt });
}

/** What a read of a register shows, which may be a lie. */
function shownValue(call: Call, controller: SimulatedController, address: string, isFresh: boolean) {
  const lies = faults.reading.filter((fault) => fault !== "stale_read_back" || !isFresh);
  const lie = call.platform.fault(lies, { ...call, address });
  const value = controller.read(address);
  if (lie === null || value === null) return value;
  if (lie.fault === "no_value") return null;
  if (lie.fault === "stale_read_back") return agedValue(call.platform, lie, controller, address);
  if (typeof lie.value === "string") return lie.value;
  const row = controller.table.get(address);
  return (row ? handValues(row) : []).find((other) => other !== value) ?? "0";
}

const minuteMs = 60_000;

function agedValue(
  { simulatedNow, timeline }: Platform,
  { delay = minuteMs }: FaultSpec,
  controller: SimulatedController,
  address: string,
): string | null {
  return controller.register(address, simulatedNow - delay * timeline.speed);
}

/**
 * `POST /api/set-value`: accepts the value and passes it on to the device, which may ignore it. The answer is a success
 * in either case, as on the real platform.
 */
export const setValue: Operation = (call) => {
  const { address, controller: code, platform, post } = call;
  if (post === null) return no(call, 400, "no body");
  const { mistake, record } = post;
  if (mistake !== null) return no(call, mistake.status, mistake.why);
  const lie = platform.fault(faults.effect, call);
  const controller = platform.controller(code);
  if (!controller?.table.has(address)) return no(call, 404, controller ? "地址不存在" : "设备不存在");
  if (lie?.fault === "offline_at_post")
    controller.disconnect(platform.simulatedNow + (lie.for ?? minuteMs) * platform.timeline.speed);
  else if (isCutOff(platform, controller)) {
    record.effect = "offline";
    if (platform.readings.has("offline_queues")) controller.queue(address, record.value);
    return no(call, 500, "设备离线");
  }
  const busy = refusedBy(platform.behaviours, code, platform.now);
  if (busy !== null) return no(call, 500, busy);
  record.accepted = true;
  passOn(platform, controller, record, lie);
  const echo = { address, deviceCode: code, value: record.value };
  if (platform.readings.has("bare_echo")) return { status: 200, body: echo };
  return success(platform.dialect.setAnswer === "data" ? { data: echo } : echo, "操作成功");
};

/** Later than the first read-backs. */
const revertsAfterMs = 4_000;

function passOn(
  platform: Platform,
  controller: SimulatedController,
  record: PostRecord,
  lie: FaultSpec<FaultName<"effect">> | null,
): void {
  const { address, value } = record;
  const fault = lie?.fault ?? null;
  const isHeard = controller.isOnline() && fault !== "ignore";
  record.effect = isHeard ? "waiting" : controller.isOnline() ? "ignored_by_fault" : "offline";
  if (!isHeard) return;
  const at = platform.simulatedNow + platform.settings.registerLagMs;
  const usualMs = fault === "revert" ? revertsAfterMs : minuteMs;
  const later = at + (lie?.delay ?? usualMs) * platform.timeline.speed;
  const before = controller.register(address);
  const command = { address, value, by: "command" } as const;
  const onSettled = (effect: PostRecord["effect"]) => {
    record.effect = effect;
  };
  controller.schedule({ ...command, at: fault === "late" ? later : at, onSettled });
  if (fault === "revert" && before !== null)
    controller.schedule({ at: later, address, value: before, by: "revert", onlyIf: value });
  if (fault === "twice") controller.schedule({ ...command, at: later });
}
