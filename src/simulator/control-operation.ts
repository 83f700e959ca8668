import type { Call, ControlValue } from "./call.js";
import { failure, success, type Answer } from "./envelope.js";
import { effectFaults, type EffectFault, type FaultOf } from "./faults.js";
import type { PlatformState } from "./platform-state.js";
import type { PostEffect, PostRecord } from "./post-log.js";
import { offline } from "./realtime-operations.js";
import { setAnswer } from "./register-shapes.js";

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
  if (post === null || record === null) return failure(dialect, 400, "no body", call.requestId);
  if (!post.isValid) return failure(dialect, post.status, post.why, call.requestId);
  const { control } = post;
  const lie = takeEffectFault(state, call);
  const controller = state.controller(control.code);
  if (!controller?.registers.table.has(control.address))
    return failure(dialect, 404, controller ? "地址不存在" : "设备不存在", call.requestId);
  if (lie?.fault === "offline_at_post")
    controller.disconnect(state.simulatedNow + (lie.forMs ?? minuteMs) * state.timeline.speed);
  if (!controller.isOnline() && lie?.fault !== "offline_at_post" && dialect.offlinePost === "refuse") {
    record.effect = "offline";
    return offline(state, call);
  }
  record.accepted = true;
  passOn(state, record, control, lie);
  return success(
    setAnswer(dialect, { address: control.address, deviceCode: control.code, value: control.value }),
    "操作成功",
  );
}

function takeEffectFault(state: PlatformState, call: Call): FaultOf<EffectFault> | null {
  return state.faults.take(
    effectFaults,
    { host: "realtime", operation: call.operation, controller: call.controller, address: call.address },
    state.now,
  );
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
  const settled = (effect: PostEffect) => {
    record.effect = effect;
  };
  controller.schedule({
    at: lie?.fault === "late" ? at + delayMs : at,
    address,
    value,
    by: "command",
    settled,
  });
  if (lie?.fault === "revert" && before !== null)
    controller.schedule({ at: at + delayMs, address, value: before, by: "revert", onlyIf: value });
  if (lie?.fault === "twice") controller.schedule({ at: at + delayMs, address, value, by: "command" });
}
