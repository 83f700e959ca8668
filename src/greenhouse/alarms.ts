import type { Language } from "./labels.js";
import type { AlarmType, ReadingFact } from "./limits.js";

/* What alarms are called, on the page and in messages, and in Chinese what they mean and what to do; English says the alarm itself. */

export const alarmTitles: Readonly<Record<AlarmType, readonly [english: string, chinese: string]>> = {
  reading_low: ["Too low", "过低"],
  reading_high: ["Too high", "过高"],
  guard_blind: ["A guard has no value", "限制条件失去数值"],
  guard_unmet: ["A guard was not obeyed", "限制动作未完成"],
  lease_overrun: ["Runs for too long", "超时未结束"],
  command_problem: ["A command went wrong", "命令异常"],
  not_running: ["Commanded on, and does not run", "已开启但没有运行"],
  readings_overdue: ["Readings are late", "读数迟到"],
  controller_offline: ["Controller offline", "控制器离线"],
  platform_unreachable: ["Platform not reached", "无法连接平台"],
  unauthorized: ["Sign-in refused", "平台拒绝登录"],
  journal_unavailable: ["The journal cannot be written", "操作记录无法写入"],
  cluster: ["The cluster does not answer", "集群没有应答"],
  other_bridge: ["Another bridge", "另一个网桥"],
  state_lost: ["Kept state is lost", "状态丢失"],
  crash_loop: ["The bridge ended again and again", "网桥反复异常退出"],
  notify_failed: ["Messages do not get out", "通知发不出去"],
  settings_returned: ["Settings were taken back", "设置已撤回"],
  birth_too_large: ["Too large for Sparkplug", "Sparkplug 消息过大"],
  duplicate_node: ["Another Sparkplug node of this name", "Sparkplug 节点重名"],
  flood: ["Very many alarms", "报警过多"],
};

export const chineseAlarms: Readonly<Record<AlarmType, string>> = {
  reading_low: "请查看现场：加热、灌溉等是否正常，什么开着，以及传感器是否准确。",
  reading_high: "请查看现场：天窗、遮阳、风机是否正常，以及传感器是否准确。",
  guard_blind: "数值恢复之前，只接受该限制允许的操作。请检查传感器、线路以及数值是否到达。",
  guard_unmet: "限制要求的动作没有得到确认，或暂时不能发送。请到现场查看，必要时手动操作。",
  lease_overrun: "限时运行早应结束，但没有得到确认。请到现场查看，必要时手动关闭。",
  command_problem: "最近一条命令没有按要求结束。请查看它的结果以及执行机构。",
  not_running: "寄存器显示开启，运行状态却显示没有运行。请到现场检查断路器、接触器和就地开关。",
  readings_overdue: "应到的读数没有到达。请检查控制器的网络，以及平台上是否有它的读数。",
  controller_offline: "平台显示该控制器离线。请检查控制器的电源和网络。",
  platform_unreachable: "平台没有回应；恢复之前不能发送命令。请检查互联网连接和平台。",
  unauthorized: "平台不接受网桥的登录凭据。请检查配置中的平台凭据。",
  journal_unavailable: "操作记录无法写入，恢复之前除停止外不接受命令。请检查磁盘。",
  cluster:
    "NATS 服务器没有确认由本机运行该账户，恢复之前不接受命令；停止命令只在确认仍有效的几秒内可以发送。请检查 NATS 服务器和网络。",
  other_bridge: "同一账户有两个网桥，此时除停止外不发送任何命令。请停止其中一个网桥。",
  state_lost: "保存的锁定、保持和限时运行已丢失，限制从“有效”开始。请检查并重新设置。",
  crash_loop:
    "网桥多次异常退出，运行满 15 分钟或正常停止一次之前不接受命令；限制的动作和限时运行的结束照常发送。请把错误和日志报告给开发者。",
  notify_failed: "报警通知没有发出，将继续重试。请检查网络和 notify 配置；此期间请查看网页。",
  settings_returned:
    "网桥没有按保存的设置运行起来，已恢复以前的配置。“设置”页显示撤回的内容；请修改后再保存。",
  birth_too_large:
    "Sparkplug 的出生消息超过 MQTT 服务器的大小限制，上位机看不到它。请调高服务器的限制，或减少该控制器的内容。",
  duplicate_node: "同一组里有两个同名的 Sparkplug 节点。请为每个网桥设置自己的 sparkplug.node。",
  flood: "10 分钟内报警过多，不再逐条通知。大量报警往往出于同一原因：请先检查电源、网络和平台。",
};

const readingTexts = {
  reading_low: ["{name} is {value}, below {limit}.", "{name} {value}，低于 {limit}。"],
  reading_high: ["{name} is {value}, above {limit}.", "{name} {value}，高于 {limit}。"],
  unsure: [
    " Its newest reading is {quality}, so it is not known whether this is so still.",
    "最新读数{quality}，目前是否仍然如此无法判断。",
  ],
} as const;

const qualityWords = {
  uncertain: ["uncertain", "不确定"],
  stale: ["stale", "已过期"],
  bad: ["bad", "异常"],
} as const;

/** What is wrong with a reading, the same on the topic, the page and in messages. */
export function readingSentence(
  type: "reading_low" | "reading_high",
  { name, value, limit, unit, quality }: ReadingFact,
  language: Language,
): string {
  const at = language === "zh" ? 1 : 0;
  const amount = (number: number) => `${number}${unit === null ? "" : unit === "%" ? "%" : ` ${unit}`}`;
  const said = readingTexts[type][at]
    .replace("{name}", () => name[language])
    .replace("{value}", () => amount(value))
    .replace("{limit}", () => amount(limit));
  if (quality === "good") return said;
  return said + readingTexts.unsure[at].replace("{quality}", qualityWords[quality][at]);
}
