import type { RefusalReason } from "./command/outcomes.js";
import type { AlarmType } from "./limits.js";

export type Language = "en" | "zh";

/*
 * What people read for the words of topics, in Home Assistant and on the page; topic words never change.
 */

/** English where a word alone says too little; any other word is shown with a capital and spaces. */
const englishWords: ReadonlyMap<string, string> = new Map(
  Object.entries({
    auto: "Automatic",
    fans_1_2_3: "Fans 1, 2 and 3",
    fans_1_2: "Fans 1 and 2",
    fan_1: "Fan 1",
  }),
);

const readable = (word: string): string => {
  const text = word.replace(/_+/g, " ").trim() || word;
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/** Chinese for the words of the actuator kinds, of the platform's state and of a positioner at a degree. */
const chineseWords: ReadonlyMap<string, string> = new Map(
  Object.entries({
    open: "打开",
    close: "关闭",
    closed: "关闭",
    auto: "自动",
    position: "指定开度",
    on: "开启",
    off: "关闭",
    stop: "停止",
    all_on: "全部开启",
    fans_1_2_3: "一二三级风机",
    fans_1_2: "一二级风机",
    fan_1: "一级风机",
    rotation: "轮灌",
    online: "正常",
    degraded: "受限",
    unauthorized: "未授权",
    unreachable: "无法连接",
  }),
);

/** The label of one word; words of one actuator may share it. */
export const wordLabel = (language: Language, word: string): string =>
  language === "zh" ? (chineseWords.get(word) ?? word) : (englishWords.get(word) ?? readable(word));

type Reason =
  | RefusalReason
  | "before_sending"
  | "after_sending"
  | "unauthorized"
  | "mode_not_confirmed"
  | "lead_in_not_confirmed"
  | "not_sent"
  | "expired_midway";

/** Why a command ended as it did; in English the result itself says it. */
const reasons: Readonly<Record<Exclude<Reason, "interlock">, string>> = {
  retained: "保留消息不作为命令执行。请发送不带保留标志的消息。",
  expired: "命令已过期。仍需要时请重新发送。",
  no_age: "命令没有时间信息，而配置要求必须有。",
  no_sender: "命令没有说明发送者，而配置要求必须有。",
  clock: "本机时钟与平台不一致，无法判断命令的时间。请校准时钟。",
  duplicate: "与刚才的命令相同，没有重复执行。",
  bad_payload: "命令内容无法读取。",
  unknown_actuator: "没有这个执行器，或其类型与配置不符。",
  unknown_command: "该执行器不接受这个命令。",
  out_of_range: "数值或时间超出允许范围。",
  read_only: "网桥或该执行器为只读。",
  controller_offline: "控制器离线。请检查电源和网络。",
  platform_unavailable: "平台没有回应，没有发送。稍后再试。",
  no_read_back: "平台没有给出该地址的数值。请检查地址。",
  journal_unavailable: "操作记录无法写入，除停止外不接受命令。请检查磁盘。",
  overloaded: "命令太多，请稍后再试。",
  other_bridge: "另一个网桥正在使用同一账户。请先停止其中一个。",
  shutting_down: "网桥正在停止，没有执行。",
  before_sending: "发送之前被更新的命令取代。",
  after_sending: "发送之后被更新的命令取代。",
  unauthorized: "平台不接受登录凭据。请检查配置。",
  mode_not_confirmed: "平台没有显示已进入指定开度模式，开度没有发送。请查看设备。",
  lead_in_not_confirmed: "平台没有显示已开启，后面的值没有发送。请查看设备。",
  not_sent: "无法连接平台，没有发送。请重新发送。",
  expired_midway: "执行到一半时已过期。请查看设备后再次发送。",
};

const reasonTexts: ReadonlyMap<string | null, string> = new Map(Object.entries(reasons));

export const chineseReason = (reason: string | null): string | undefined => reasonTexts.get(reason);

/** What an alarm is, and what to do; in English it says that itself. */
export const chineseAlarms: Readonly<Record<AlarmType, readonly [title: string, remedy: string]>> = {
  guard_blind: ["限制条件失去数值", "请检查传感器、线路以及数值是否到达；在此之前限制一直有效。"],
  guard_unmet: ["限制动作未完成", "请到现场查看：限制要求的动作没有得到确认，必要时手动操作。"],
  lease_overrun: ["超时未结束", "请到现场查看：执行器早应停止，必要时手动关闭。"],
  command_problem: ["命令异常", "请查看最近一条命令的结果以及执行器。"],
  readings_overdue: ["读数迟到", "请检查控制器的网络，以及平台上是否有它的读数。"],
  controller_offline: ["控制器离线", "请检查控制器的电源和网络。"],
  platform_unreachable: ["无法连接平台", "请检查互联网连接和平台；恢复之前不能发送命令。"],
  unauthorized: ["平台拒绝登录", "请检查配置中的平台凭据。"],
  journal_unavailable: ["操作记录无法写入", "请检查磁盘；恢复之前除停止外不接受命令。"],
  other_bridge: ["另一个网桥", "请停止其中一个网桥；在此之前除停止外不发送任何命令。"],
  state_lost: ["状态丢失", "限制从“有效”开始。请检查锁定、保持和限时运行，并重新设置。"],
  flood: ["报警过多", "大量报警往往出于同一原因：请先检查电源、网络和平台。"],
};
