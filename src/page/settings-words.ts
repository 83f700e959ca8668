import { language } from "./words.js";
import type { Pattern } from "./settings-parts.js";

/* The texts of the settings alone, which are loaded when they are opened. */

export const settingsWords = {
  settings: ["Settings", "设置"],
  greenhouses: ["Greenhouses", "温室"],
  groups: ["Groups and scenes", "分组和场景"],
  limits: ["Limits", "限制"],
  messages: ["Alarms and messages", "报警和通知"],
  people: ["People", "人员"],
  connections: ["Connections", "连接"],
  computer: ["This computer", "本机"],
  file: ["File", "文件"],
  what_greenhouses: [
    "What is called how, and what can be moved or read there.",
    "各温室的名称，以及其中可以操作和读取的内容。",
  ],
  what_groups: [
    "Actuators that take one command together, and commands that are sent together.",
    "一起接受一条命令的执行机构，以及一起发送的命令。",
  ],
  what_limits: [
    "What narrows commands. Guards, pauses and leases of one actuator are with it, under Greenhouses. They are no safety layer: they need this computer, the internet and the platform.",
    "限制命令的内容。单个执行机构的条件限制、间隔和限时在“温室”中该执行机构处。它们不是安全装置：需要本机、互联网和平台。",
  ],
  what_messages: [
    "From when a reading is too low or too high, and who is told.",
    "读数多少算过低或过高，以及通知谁。",
  ],
  what_people: [
    "Who may log in: a viewer looks, an operator commands, an admin also changes settings. A new password ends the logins by the old one.",
    "谁可以登录：观察者只能看，操作员可以操作，管理员还可以更改设置。更改密码会结束旧密码的登录。",
  ],
  what_connections: [
    "The platform, the MQTT broker, Home Assistant, and how often is read.",
    "平台、MQTT 服务器、Home Assistant，以及读取间隔。",
  ],
  what_computer: [
    "Where the page is, what is logged, where data are kept.",
    "网页地址、日志以及数据保存位置。",
  ],
  what_file: ["The configuration as it stands, for everything else.", "配置文件原文，用于其他一切。"],
  add: ["Add", "添加"],
  id: ["Id (a-z, 0-9, _)", "标识（a-z、0-9、_）"],
  code: ["Device code", "设备代码"],
  new_name: ["New name", "新名称"],
  remove: ["Remove", "删除"],
  more: ["More", "更多"],
  usual: ["default: {value}", "默认：{value}"],
  such_as: ["such as {value}", "例如 {value}"],
  of_actuators: ["Of each actuator", "各执行机构"],
  limited: ["limited", "有限制"],
  yes: ["yes", "是"],
  no: ["no", "否"],
  line: ["line {line}", "第 {line} 行"],
  environment: ["environment variable {name}", "环境变量 {name}"],
  secret: ["secrets.yaml: {name}", "机密文件：{name}"],
  secret_here: ["stands in the file itself", "写在文件中"],
  secret_kept: ["kept, not shown", "已保存，不显示"],
  now: ["at once", "立即生效"],
  run: ["new run of the bridge, 1 or 2 s", "网桥重新运行，1–2 秒"],
  one_change: ["1 change", "1 处更改"],
  changes: ["{count} changes", "{count} 处更改"],
  save: ["Save", "保存"],
  saving: ["Saving …", "正在保存…"],
  discard: ["Discard", "放弃"],
  differs: ["What changes in the file", "文件中的变化"],
  means: ["What it means", "含义"],
  secrets_too: ["In secrets.yaml: {names}", "在 secrets.yaml 中：{names}"],
  has_errors: ["Not yet: {count} to correct.", "还不能保存：有 {count} 处需要更正。"],
  saved_now: ["Saved, and in force.", "已保存并生效。"],
  saved_run: [
    "Saved. The bridge runs anew with it; that takes a second or two.",
    "已保存。网桥正在按新配置重新运行，需要一两秒。",
  ],
  changed_meanwhile: [
    "Somebody else changed the file meanwhile. Your changes are kept here: look at the difference, and save again.",
    "文件同时被别人修改了。您的更改仍在这里：请查看变化，然后再次保存。",
  ],
  not_writable: [
    "Nothing can be saved from here. What you change is shown as YAML to copy.",
    "这里无法保存。您的更改会显示为 YAML，可以复制。",
  ],
  not_here: [
    "There are no settings here: the demo has none, and http.settings: false takes them away.",
    "这里没有设置：演示没有设置，http.settings: false 也会去掉设置。",
  ],
  returned: [
    "Settings that were saved at {at} were taken back, as the bridge did not come up by them: {reason}.",
    "{at} 保存的设置已撤回，因为网桥没有按它运行起来：{reason}。",
  ],
  test: ["Send a test message through each way", "用每种方式发送一条测试消息"],
  tested: ["Sent. Look whether it has come.", "已发送，请查看是否收到。"],
  user: ["Name", "用户名"],
  role: ["May", "权限"],
  password: ["New password (at least 12 characters)", "新密码（至少 12 个字符）"],
  viewer: ["look", "查看"],
  operator: ["look and command", "查看和操作"],
  admin: ["everything, settings too", "全部，包括设置"],
  add_user: ["Add somebody", "添加人员"],
  nobody: [
    "The configuration names nobody yet. Whoever was made by the code stays and is put into it with the first one that you add.",
    "配置中还没有人员。用验证码创建的人会保留，并在您添加第一个人时写入配置。",
  ],
  whole_text: ["The file", "文件内容"],
  holds_secrets: [
    "Secrets stand in this file itself, so it is not shown here. Give each of them anew above, and it goes to secrets.yaml; then the file can be shown.",
    "这个文件中直接写着机密，因此不在这里显示。请在上面重新填写它们，它们会存入 secrets.yaml；之后就能显示文件。",
  ],
  several: ["several, with commas between", "多个，用逗号分隔"],
} as const satisfies Readonly<Record<string, readonly [english: string, chinese: string]>>;

export type SettingsWord = keyof typeof settingsWords;

const at = () => (language.value === "zh" ? 1 : 0);

export function s(word: SettingsWord, values: Readonly<Record<string, string | number>> = {}): string {
  const text: string = settingsWords[word][at()];
  return text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}

type Label = readonly [english: string, chinese: string, sentence?: string];

/** What keys are called, and in Chinese what they say; English has the sentence of the reference. */
export const labels: Readonly<Record<Pattern, Label>> = {
  controllers: ["Greenhouses", "温室", "已知的控制器，按设备代码。"],
  mirror: ["What is mirrored", "镜像范围", "all：账号的所有控制器；listed：只有下面列出的。"],
  kinds: ["By kind of actuator", "按执行机构类型", "对某一类型的所有执行机构都有效的设置。"],
  running_status: ["Running status", "运行状态", "运行状态的值的含义。"],
  "controllers.*.name": ["Name", "名称", "显示的名称；默认用平台的名称。"],
  "controllers.*.area": ["Area", "区域", "向 Home Assistant 建议的区域。"],
  "controllers.*.id": ["Topic id", "主题标识", "MQTT 主题中的标识；更改后主题随之改变。"],
  "controllers.*.ignore": ["Hide it", "隐藏", "不镜像这个控制器。"],
  "controllers.*.averages": ["Averages", "平均值", "把平台的平均值也作为传感器镜像。"],
  "controllers.*.stream": ["Video address", "视频地址", "发布视频流地址，其中可能有密码。"],
  "controllers.*.actuators": ["Actuators", "执行机构", "可以操作的设备。"],
  "controllers.*.sensors": ["Sensors", "传感器", "对单个传感器的设置；其余照原样镜像。"],
  "controllers.*.parameters": ["Parameters", "参数", "另外镜像的地址。"],
  "controllers.*.actuators.*.name": ["Name", "名称", "显示的名称；默认用标识。"],
  "controllers.*.actuators.*.kind": ["Kind", "类型", "决定命令、命令值和状态。"],
  "controllers.*.actuators.*.address": ["Address", "地址", "平台上的地址，照原样填写。"],
  "controllers.*.actuators.*.travel_time": ["Travel time", "全程时间", "从一端到另一端的时间，例如 90s。"],
  "controllers.*.actuators.*.read_only": ["Takes no commands", "不接受命令", "拒绝它的所有命令。"],
  "controllers.*.actuators.*.limits": ["Limits", "限制", "限制它的命令。不是安全装置。"],
  "controllers.*.actuators.*.limits.guards": ["Guards", "条件限制", "在某个条件下只允许哪些操作。"],
  "controllers.*.actuators.*.limits.rest": ["Rest", "间歇", "一次动作结束到下一次之间的时间。"],
  "controllers.*.actuators.*.limits.reversal": ["Reversal", "换向间隔", "反方向动作之前的时间。"],
  "controllers.*.actuators.*.limits.for": ["On for", "运行时长", "每次开启运行多久。"],
  "controllers.*.actuators.*.limits.at_most": ["At most", "最长", "每次开启最长运行多久。"],
  "controllers.*.actuators.*.limits.starts_per_hour": [
    "Starts an hour",
    "每小时启动次数",
    "一小时内最多启动几次。",
  ],
  "controllers.*.actuators.*.homeassistant": [
    "In Home Assistant",
    "Home Assistant 中",
    "在 Home Assistant 中如何显示。",
  ],
  "controllers.*.actuators.*.homeassistant.icon": ["Icon", "图标", "例如 mdi:fan。"],
  "controllers.*.sensors.*.name": ["Name", "名称", "显示的名称；默认用平台的名称。"],
  "controllers.*.sensors.*.from": ["On the platform", "平台上的名称", "平台上的准确名称或因子代码。"],
  "controllers.*.sensors.*.unit": ["Unit", "单位", "数值的单位。"],
  "controllers.*.sensors.*.offset": ["Correction", "修正", "加到数值上。"],
  "controllers.*.sensors.*.ignore": ["Hide it", "隐藏", "不镜像这个传感器。"],
  "controllers.*.sensors.*.kind": ["Quantity", "测量量", "测量的是什么；一般由名称识别。"],
  "controllers.*.sensors.*.alarm": ["Alarm limits", "报警限值", "逐项优先于该类型的报警设置。"],
  groups: ["Groups", "分组", "一起接受一条命令的执行机构。"],
  "groups.*.name": ["Name", "名称", "显示的名称；默认用标识。"],
  "groups.*.members": ["Members", "成员", "写作 控制器/执行机构，例如 GH-0001/left_skylight。"],
  scenes: ["Scenes", "场景", "一起发送的多条命令。"],
  "scenes.*.name": ["Name", "名称", "显示的名称；默认用标识。"],
  "scenes.*.commands": ["Commands", "命令", "对每个执行机构或分组发送什么。"],
  commands: ["Commands", "命令", "什么时候可以操作什么。"],
  "commands.read_only": ["Read-only", "只读", "拒绝所有命令。"],
  "commands.dry_run": ["Dry run", "试运行", "只检查，不发送。"],
  "commands.max_age": ["Oldest command", "命令最长有效期", "从收到命令到第一次发送的时间。"],
  "commands.require_age": ["Require a time", "必须带时间", "拒绝没有时间的命令。"],
  "commands.require_by": ["Require a sender", "必须注明操作人", "拒绝没有说明操作人的命令；停止不受限。"],
  "commands.min_interval": ["Least interval", "最短间隔", "同一执行机构两条命令之间的最短时间。"],
  weather: ["Weather from MQTT", "MQTT 天气数据", "用于条件限制的测量值。"],
  alarms: ["Alarms by quantity", "按测量量报警", "对所有控制器的读数报警，单位与读数相同。"],
  "alarms.*": ["Limits", "限值", "这一测量量的报警限值。"],
  "alarms.*.low_low": ["Far too low", "过低限值", "低于它为严重报警。"],
  "alarms.*.low": ["Too low", "偏低限值", "低于它报警。"],
  "alarms.*.high": ["Too high", "偏高限值", "高于它报警。"],
  "alarms.*.high_high": ["Far too high", "过高限值", "高于它为严重报警。"],
  "alarms.*.deadband": ["Back by", "回差", "回到限值以内多少才算解除。"],
  "alarms.*.delay": ["For at least", "持续时间", "持续多久才报警，例如 10m。"],
  notify: ["Messages", "通知", "报警发给谁。"],
  "notify.ways": ["Ways", "通知方式", "手机、聊天和邮件。"],
  "notify.daily": ["Daily message", "每日消息", "每天一次的消息。"],
  "notify.daily.at": ["At", "时间", "例如 07:00。"],
  "notify.language": ["Language", "语言", "消息的语言。"],
  platform: ["Platform", "平台", "厂商的服务。"],
  "platform.business_url": ["Business host", "业务服务器", "业务服务器的地址。"],
  "platform.realtime_url": ["Realtime host", "实时服务器", "实时服务器的地址。"],
  "platform.token": ["Token", "令牌", "平台的令牌。"],
  "platform.time_zone": ["Time zone", "时区", "平台时间的时区。"],
  mqtt: ["MQTT broker", "MQTT 服务器", "使用的 MQTT 服务器。"],
  "mqtt.url": ["Address", "地址", "mqtt、mqtts、ws 或 wss；不填则使用内置的服务器。"],
  "mqtt.username": ["User name", "用户名", "MQTT 服务器的用户名。"],
  "mqtt.password": ["Password", "密码", "它的密码。"],
  "mqtt.base_topic": ["First level of topics", "主题前缀", "网桥所有主题的第一级。"],
  broker: ["Embedded broker", "内置 MQTT 服务器", "没有 mqtt.url 时使用；重启后不保留内容。"],
  homeassistant: ["Home Assistant", "Home Assistant", "向 Home Assistant 的通告。"],
  sparkplug: ["Sparkplug B", "Sparkplug B", "用于上位机的 Sparkplug 连接。"],
  polling: ["How often is read", "读取间隔", "多久读取一次平台。"],
  "polling.controllers": ["Controllers", "控制器", "控制器列表。"],
  "polling.sensors": ["Readings", "读数", "传感器读数。"],
  "polling.running_status": ["Running statuses", "运行状态", "运行状态。"],
  "polling.actuators": ["Actuators", "执行机构", "执行机构的寄存器。"],
  "polling.stale_after": ["Outdated after", "过期时间", "多久没有新值算过期。"],
  language: ["Language", "语言", "命令行、Home Assistant 中的名称和通知的语言。"],
  http: ["The page", "网页", "健康检查、指标和网页。"],
  "http.host": ["Listens at", "监听地址", "127.0.0.1 只供本机；0.0.0.0 供整个网络。"],
  "http.port": ["Port", "端口", "网页的端口。"],
  "http.token": ["Token for programs", "程序令牌", "让程序读取数据。"],
  "http.settings": ["Settings on the page", "网页上的设置", "允许管理员在网页上更改配置。"],
  "http.ingress": ["Home Assistant's ingress", "Home Assistant 入口", "通过 Home Assistant 打开网页。"],
  "http.ingress.role": ["May", "权限", "从那里来的人的权限。"],
  data_dir: ["Data folder", "数据文件夹", "操作记录、令牌和缓存的位置。"],
  log: ["Log", "日志", "标准错误输出上的日志。"],
  "log.level": ["Level", "级别", "记录的最低级别。"],
  cluster: ["Cluster", "集群", "多台机器运行同一配置。"],
};

/** `travel_time` as words. */
const readable = (name: string): string => {
  const text = name.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
};

export const labelOf = (pattern: Pattern, name: string): string => labels[pattern]?.[at()] ?? readable(name);

/** In the language of the page, where it has one; the English of the reference says so of itself. */
export function sentenceOf(
  pattern: Pattern,
  english = "",
): { readonly text: string; readonly isForeign: boolean } {
  const chinese = labels[pattern]?.[2];
  return language.value === "zh"
    ? { text: chinese ?? english, isForeign: chinese === undefined }
    : { text: english, isForeign: false };
}
