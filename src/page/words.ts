import { signal } from "@preact/signals";
import { type Language, wordLabel } from "../greenhouse/labels.js";
import { codes } from "./codes.js";

const kept = "greenhouse2mqtt-language";
const wanted =
  typeof localStorage === "undefined" ? "en" : (localStorage.getItem(kept) ?? navigator.language);

export const language = signal<Language>(wanted.startsWith("zh") ? "zh" : "en");

export function speak(chosen: Language): void {
  language.value = chosen;
  localStorage.setItem(kept, chosen);
}

/** Every text of the page, in English and in Chinese. */
export const words = {
  title: ["Greenhouse", "温室"],
  overview: ["Overview", "总览"],
  journal: ["Journal", "操作记录"],
  alarms: ["Alarms", "报警"],
  diagnostics: ["Diagnostics", "诊断"],
  log: ["Log", "日志"],
  skip: ["Skip to the content", "跳到内容"],
  log_in: ["Log in", "登录"],
  log_out: ["Log out", "退出登录"],
  name: ["Name", "名称"],
  password: ["Password", "密码"],
  loading: ["Waiting for the bridge …", "正在等待网桥…"],
  silent: [
    "Nothing heard from the bridge since {time}; this may be over.",
    "自 {time} 起没有网桥的消息，显示可能已过时。",
  ],
  gone: ["This is not there any more.", "已不存在。"],
  anonymous: [
    "Nobody is logged in; name an operator under http.users.",
    "没有登录；请在 http.users 中设置操作员。",
  ],
  read_only: ["The bridge is read-only: every command is refused.", "网桥为只读：所有命令都会被拒绝。"],
  dry_run: ["Dry run: commands are checked, and nothing is sent.", "试运行：只检查命令，不发送。"],
  notice_degraded: ["Platform partly reached: some values come late.", "平台部分可达：部分数值会迟到。"],
  notice_unreachable: ["Platform not reached: values are stale.", "无法连接平台：数值已过期。"],
  notice_unauthorized: ["The platform refuses the sign-in.", "平台拒绝登录。"],
  broker_away: ["No link to the MQTT broker.", "与 MQTT 服务器没有连接。"],
  search: ["Search", "搜索"],
  order: ["Order", "排序"],
  order_attention: ["What needs attention", "需要注意的在前"],
  controllers: ["{count} controllers", "{count} 个控制器"],
  none_found: ["Nothing fits.", "没有符合的内容。"],
  controller: ["Controller", "控制器"],
  quality: ["Quality", "质量"],
  oldest: ["Oldest reading", "最旧读数"],
  problem: ["Problem", "异常"],
  never: ["never", "从未"],
  nothing_known: ["Nothing is known of this controller yet.", "还没有这个控制器的任何数据。"],
  trend: ["24 hours", "24 小时"],
  trend_of: ["The last 24 hours of {name}", "{name}：最近 24 小时"],
  trend_since: ["Kept since {time}. Gaps: nothing good was known.", "自 {time} 起保存；空缺处没有可靠数值。"],
  trend_none: ["Nothing was kept yet. A point is added every minute.", "还没有数据。每分钟增加一个点。"],
  close: ["Close", "关闭窗口"],
  value: ["Value", "数值"],
  raw: ["value {value}", "原始值 {value}"],
  send: ["Send {what} to {name}", "将“{what}”发送到 {name}"],
  cancel: ["Cancel", "取消"],
  degree: ["Degree", "开度"],
  not_sent: ["No answer. Look at the state before you send it again.", "没有回应。再次发送前请先查看状态。"],
  why_silent: ["Not now: nothing is heard from the bridge.", "暂不可用：没有收到网桥的消息。"],
  why_role: ["Only an operator can send commands.", "只有操作员可以发送命令。"],
  why_actuator: ["This actuator is read-only in the configuration.", "配置中该执行器为只读。"],
  why_offline: ["The controller is offline.", "控制器离线。"],
  why_platform: ["The platform is not reached.", "无法连接平台。"],
  why_reason: ["({reason})", "（{reason}）"],
  why_rule: [
    "Kept back by “{rule}”: {input} is {value}, limit {limit}.",
    "限制“{rule}”有效：{input}为 {value}，界限 {limit}。",
  ],
  why_is: ["Kept back by “{rule}”: {input} is {value}.", "限制“{rule}”有效：{input}为“{value}”。"],
  why_blind: ["Kept back by “{rule}”: {input} is {quality}.", "限制“{rule}”有效：{input}的数值{quality}。"],
  weather_input: ["weather/{name}", "气象站{name}"],
  why_until: ["Until {time}.", "直到 {time}。"],
  allowed: ["Degrees from {min} to {max} are allowed.", "允许开度 {min} 到 {max}。"],
  rule_lock: ["Locked by {value}.", "已被 {value} 锁定。"],
  rule_hold: ["Held by a command of {value}.", "被 {value} 的命令保持。"],
  rule_rest: ["A new movement waits for a pause of {limit} s.", "新动作需等待 {limit} 秒的停歇。"],
  rule_reversal: ["The other way waits for a pause of {limit} s.", "反向动作需等待 {limit} 秒的停歇。"],
  rule_starts_per_hour: ["Its {limit} starts of this hour are used up.", "一小时内的 {limit} 次启动已用完。"],
  rule_read_only: ["The bridge is read-only.", "网桥为只读。"],
  lock: ["Lock", "锁定"],
  lock_reason: ["Why, for the others", "原因（供他人查看）"],
  lock_until: ["Ends by itself after", "多久后自动解锁"],
  unlock: ["Unlock", "解锁"],
  unlock_others: ["Unlock what {by} has locked", "解除 {by} 的锁定"],
  release: ["Release the hold", "解除保持"],
  term: ["For how long", "时长"],
  term_for: ["Ends by itself after", "多久后自动结束"],
  term_hold: ["Keeps other commands off for", "保持多久（拒绝其他命令）"],
  lease: ["Ends with “{word}” at {time}.", "{time} 以“{word}”结束。"],
  by: ["by {by}", "来自 {by}"],
  by_rule: ["guard “{name}”", "限制“{name}”"],
  by_lease: ["end of its time", "限时结束"],
  outcome: ["Outcome", "结果"],
  any: ["all", "全部"],
  when: ["When", "时间"],
  what: ["What", "内容"],
  who: ["Who", "操作者"],
  last: ["last {time}", "最近 {time}"],
  more: ["Show older ones", "显示更早的记录"],
  export: ["Export {kind}", "导出 {kind}"],
  no_records: ["No command yet.", "还没有命令。"],
  all_well: ["Nothing is wrong.", "一切正常。"],
  acknowledge: ["Acknowledge", "确认"],
  uptime: ["Running for", "已运行"],
  memory: ["Memory", "内存"],
  version: ["Version", "版本"],
  broker: ["Broker", "MQTT 服务器"],
  platform: ["Platform", "平台"],
  requests_left: ["Requests left this minute", "本分钟剩余请求"],
  calls: ["Calls an hour, of the budget", "每小时请求（预算）"],
  last_business: ["Last contact, business host", "业务服务器最近联系"],
  last_realtime: ["Last contact, real-time host", "实时服务器最近联系"],
  intervals: ["Effective intervals", "实际间隔"],
  overdue: ["Overdue", "逾期"],
  unreadable: ["Answers that could not be read", "无法读取的回答"],
  available: ["can be written", "可写入"],
  none: ["none", "无"],
  doctor: ["Doctor", "检查"],
  doctor_what: ["Tries all that the bridge needs. Nothing is commanded.", "检查网桥所需的一切，不发送命令。"],
  doctor_run: ["Run doctor", "开始检查"],
  doctor_running: ["Running …", "检查中…"],
  bundle: ["Report for help", "求助报告"],
  bundle_what: [
    "Configuration, health, journal and log, without secrets, hosts, codes and names.",
    "配置、状况、记录和日志，不含密码、地址、编号和名称。",
  ],
  download: ["Download", "下载"],
  level: ["Level", "级别"],
  level_set: ["Log from level", "日志级别"],
  filter: ["Filter", "筛选"],
  demo: ["Simulated day, {time}", "模拟的一天，{time}"],
  speed: ["Speed", "速度"],
  wrong_login: ["There is no such user, or the password is another one.", "没有此用户，或密码不正确。"],
  too_many: ["Too many wrong logins; try again later.", "错误登录太多，请稍后再试。"],
} as const satisfies Readonly<Record<string, readonly [string, string]>>;

export type Word = keyof typeof words;

export const isWord = (text: string): text is Word => Object.hasOwn(words, text);

type Value = string | number | boolean | null | undefined;
type Values = Readonly<Record<string, Value | readonly Value[]>>;

/** A dash stands for what is not known. */
export const filled = (text: string, values: Values): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? "–"));

const column = () => (language.value === "zh" ? 1 : 0);

/** A text in the language that is chosen. */
export const t = (word: Word, values: Values = {}): string => filled(words[word][column()], values);

/** A code of the bridge as a word; as it stands where there is no text for it. */
export const told = (code: string): string => codes[code]?.[column()] ?? code.replaceAll("_", " ");

/** A command word, a degree, or whatever else was sent. */
export const commandText = (command: string | number | null): string =>
  /^\d+$/.test(String(command)) ? `${command} %` : wordLabel(language.value, String(command ?? "–"));

const locale = () => (language.value === "zh" ? "zh-CN" : "en-GB");

/** As people count: 2 before 10. */
export const collator = new Intl.Collator(undefined, { numeric: true });

export const numberText = (value: number | string): string =>
  typeof value === "number"
    ? new Intl.NumberFormat(locale(), { maximumFractionDigits: 3 }).format(value)
    : value;

/** A moment: the time alone where it is of today. */
export function timeText(at: string | number, now: number): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date(now).toDateString();
  const day = isToday ? {} : ({ day: "numeric", month: "short" } as const);
  const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const;
  return new Intl.DateTimeFormat(locale(), { ...day, ...clock }).format(date);
}

/** By name with their seconds, and after how many of these they begin anew. */
const units = [
  ["day", 86_400, Infinity],
  ["hour", 3_600, 86_400],
  ["minute", 60, 3_600],
  ["second", 1, 60],
] as const;

/** Days, hours and minutes; seconds below a minute. */
export const lengthText = (seconds: number): string =>
  units
    .map(([unit, size, most]) => [Math.floor((Math.round(seconds) % most) / size), unit] as const)
    .filter(([count, unit]) => count > 0 && (unit !== "second" || seconds < 60))
    .map(([count, unit]) =>
      Intl.NumberFormat(locale(), { style: "unit", unit, unitDisplay: "short" }).format(count),
    )
    .join(" ");

/** A duration such as `15m`, in words. */
export const durationText = (duration: string): string =>
  lengthText(parseInt(duration, 10) * (units.find(([unit]) => duration.endsWith(unit.charAt(0)))?.[1] ?? 1));

/** How long ago, in the largest unit that is over. */
export function ageText(at: string | null, now: number): string {
  if (at === null) return t("never");
  const seconds = Math.max(0, Math.round((now - Date.parse(at)) / 1000));
  const [unit, size] = units.find(([, of]) => seconds >= of) ?? units[3];
  const format = new Intl.RelativeTimeFormat(locale(), { style: "narrow", numeric: "always" });
  return format.format(-Math.floor(seconds / size), unit);
}
