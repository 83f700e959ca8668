import type { Outcome, RefusalReason } from "../greenhouse/command/outcomes.js";
import { alarmTitles, chineseAlarms } from "../greenhouse/alarms.js";
import type { AlarmType } from "../greenhouse/limits.js";
import type { Availability, PlatformState, Quality } from "../greenhouse/model.js";
import type { CommandDocument } from "./protocol.js";

/* What the bridge says in codes, in English and Chinese. What it says in sentences is English. */

type Text = readonly [english: string, chinese: string];
type Of<Code extends string, What> = Readonly<Record<Code, What> & Record<string, What>>;
type Shown = Outcome | CommandDocument["phase"] | PlatformState | Availability | Quality | AlarmType;

/** One word for each code; the title of an alarm. */
export const codes: Of<Shown, Text> = {
  // How a command ended, and where it stands.
  confirmed: ["confirmed", "已确认"],
  already: ["already so", "已是如此"],
  dry_run: ["dry run", "试运行"],
  refused: ["refused", "已拒绝"],
  superseded: ["overtaken", "已被取代"],
  rejected: ["rejected", "平台拒绝"],
  unconfirmed: ["not confirmed", "未确认"],
  failed: ["failed", "失败"],
  unknown: ["unknown", "未知"],
  waiting: ["waits for its turn", "等待中"],
  checking: ["is being checked", "检查中"],
  sending: ["is being sent", "发送中"],
  confirming: ["is being confirmed", "确认中"],
  done: ["ended", "已结束"],
  // How platform, broker, controllers, readings and checks are.
  online: ["online", "在线"],
  offline: ["offline", "离线"],
  degraded: ["partly reached", "部分可达"],
  unreachable: ["not reached", "无法连接"],
  connecting: ["connecting", "正在连接"],
  unacknowledging: ["acknowledges nothing", "没有应答"],
  deaf: ["hands out nothing", "不转发消息"],
  good: ["good", "良好"],
  uncertain: ["uncertain", "不确定"],
  stale: ["stale", "过期"],
  bad: ["bad", "异常值"],
  ok: ["ok", "正常"],
  warning: ["warning", "警告"],
  skipped: ["not tried", "未检查"],
  // What a part of a controller, a record, a poll or a weather topic is about.
  controllers: ["Controllers", "控制器"],
  sensors: ["Readings", "读数"],
  sensor: ["Reading", "读数"],
  running_status: ["Running status", "运行状态"],
  actuators: ["Actuators", "执行机构"],
  actuator: ["Actuator", "执行机构"],
  parameters: ["Parameters", "参数"],
  parameter: ["Parameter", "参数"],
  // What an address looks like that nobody has configured.
  positioner: ["kind: positioner", "kind: positioner（天窗、卷帘等）"],
  machine: ["kind: machine", "kind: machine（开、关、自动）"],
  fan_wet_curtain: ["kind: fan_wet_curtain", "kind: fan_wet_curtain（风机湿帘）"],
  irrigation: ["kind: irrigation", "kind: irrigation（灌溉）"],
  motor: ["kind: motor", "kind: motor（电机）"],
  // Kinds of what happened.
  command: ["Commands", "命令"],
  rule: ["Sent by guards and leases", "限制和限时发送"],
  guard: ["Guards", "限制"],
  lock: ["Locks", "锁定"],
  hold: ["Holds", "保持"],
  lease: ["Limited times", "限时"],
  alarm: ["Alarms", "报警"],
  login: ["Log-ins", "登录"],
  change: ["Changes elsewhere", "别处的改动"],
  system: ["Bridge", "网桥"],
  refusals_counted: ["more refusals, counted", "其余拒绝（合计）"],
  confirmed_late: ["confirmed late", "迟到的确认"],
  reverted: ["was set back", "被改回"],
  wind: ["Wind", "风速"],
  // What sensors measure.
  temperature: ["Temperature", "温度"],
  humidity: ["Humidity", "湿度"],
  co2: ["CO₂", "CO₂浓度"],
  illuminance: ["Light", "光照"],
  par: ["PAR", "光合有效辐射"],
  irradiance: ["Irradiance", "辐照度"],
  soil_temperature: ["Soil temperature", "土壤温度"],
  soil_moisture: ["Soil moisture", "土壤湿度"],
  ec: ["EC", "电导率"],
  ph: ["pH", "酸碱度"],
  pressure: ["Pressure", "压力"],
  wind_speed: ["Wind", "风速"],
  wind_direction: ["Wind direction", "风向"],
  rain: ["Rain", "降雨"],
  rain_rate: ["Rain", "雨量"],
  flow: ["Flow", "流量"],
  dew_point: ["Dew point", "露点"],
  vpd: ["VPD", "饱和水汽压差"],
  battery: ["Battery", "电池"],
  voltage: ["Voltage", "电压"],
  other: ["Other", "其他"],
  // What actuators are for.
  vents: ["Windows", "窗户"],
  curtains: ["Curtains", "幕帘"],
  fans: ["Fans", "风机"],
  climate: ["Heating and air", "加热与空气"],
  water: ["Water", "灌溉"],
  light: ["Lights", "补光"],
  others: ["More", "其他"],
  ...alarmTitles,
  acknowledged: ["acknowledged", "已确认"],
  cleared: ["cleared", "已解除"],
};

/** What an alarm's facts tell. */
type Fact = "guard_sends" | "lease_ends" | "command_ended" | "late" | "carried";

/**
 * What an outcome, its reason, an alarm or an error of the API means, what to do, and what an alarm's facts are, in Chinese; in
 * English the bridge itself says it. What is the same as reason and as alarm is one sentence.
 */
export const chinese: Of<Outcome | Exclude<RefusalReason, "interlock"> | AlarmType | Fact, string> = {
  confirmed: "平台已显示该值。",
  already: "平台原本就显示该值，没有发送。",
  dry_run: "已全部检查，没有发送。",
  superseded: "被更新的命令取代。",
  refused: "未被接受，没有发送。",
  rejected: "平台拒绝了命令（代码 {code}）。",
  unconfirmed: "平台已接受“{command}”，但显示为“{read_back}”。不会重发，请查看设备、就地开关和地址。",
  failed: "没有执行，平台显示为“{read_back}”。仍需要时请重新发送。",
  unknown: "已发送“{command}”，但之后读不到数值，无法判断是否执行。再次发送前请查看设备。",
  retained: "保留消息不作为命令执行。请发送不带保留标志的消息。",
  expired: "命令已过期。仍需要时请重新发送。",
  no_age: "命令没有时间信息，而配置要求必须有。",
  no_sender: "命令没有说明发送者，而配置要求必须有。",
  clock: "本机时钟与平台不一致，无法判断命令的时间。请校准时钟。",
  duplicate: "与刚才的命令相同，没有重复执行。",
  bad_payload: "命令内容无法读取。",
  unknown_actuator: "没有这个执行机构，或其类型与配置不符。",
  unknown_command: "该执行机构不接受这个命令。",
  out_of_range: "数值或时间超出允许范围。",
  read_only: "网桥或该执行机构为只读。",
  platform_unavailable: "平台没有回应，没有发送。稍后再试。",
  no_read_back: "平台没有给出该地址的数值。请检查地址。",
  overloaded: "命令太多，请稍后再试。",
  shutting_down: "网桥正在停止，没有执行。",
  before_sending: "发送之前被更新的命令取代。",
  after_sending: "发送之后被更新的命令取代。",
  mode_not_confirmed: "平台没有显示已进入指定开度模式，开度没有发送。请查看设备。",
  lead_in_not_confirmed: "平台没有显示已开启，后面的值没有发送。请查看设备。",
  not_sent: "无法连接平台，没有发送。请重新发送。",
  expired_midway: "执行到一半时已过期。请查看设备后再次发送。",
  ...chineseAlarms,
  guard_sends: "限制“{rule}”要发送“{command}”。",
  lease_ends: "“{command}”应以“{end}”结束。",
  command_ended: "“{command}”：{outcome}。",
  late: "迟到：{late}。",
  carried: "这是重启之前的报警，网桥尚未重新判断，请几分钟后再看。",
  bad_request: "请求内容有误。",
  login_required: "请先登录。",
  role: "只有操作员可以执行。",
  foreign_origin:
    "请求来自其他地址的页面。网桥前面的代理必须原样传递 Host 头（nginx：proxy_set_header Host $http_host），见 docs/zh/page.md。",
  not_found: "不存在。",
  wrong_code: "验证码不对：请用网桥启动时显示的验证码。",
  code_spent: "错误的验证码太多。请重新启动网桥，它会显示新的验证码。",
  weak_password: "密码太弱：至少 12 个字符，其中至少 5 个不同，不要用常见的密码。",
  not_here: "第一个操作员只能在网桥所在的电脑上创建，并且只在还没有用户时。",
  busy: "请求太多，请稍后再试。",
  too_many_requests: "请求太快，请稍后再试。",
  doctor_runs: "检查正在进行，请等它结束后再试。",
  too_large: "请求太大。",
};

/** Of these the bridge's sentence names what the code does not: the platform's own words, a key, a limit, what keeps a rule back. */
export const isDetailed: ReadonlySet<string> = new Set([
  ...["rejected", "bad_payload", "unknown_actuator", "unknown_command", "out_of_range"],
  ...["journal_unavailable", "guard_unmet", "lease_overrun", "state_lost", "crash_loop", "notify_failed"],
  "settings_returned",
  ...["birth_too_large", "duplicate_node", "cluster"],
]);

/** Alarms of which the type says all. */
export const isWhole: ReadonlySet<AlarmType> = new Set<AlarmType>([
  ...(["controller_offline", "platform_unreachable", "unauthorized", "other_bridge", "flood"] as const),
]);

/** What each check of `doctor` tries. */
export const checkTexts: Readonly<Record<string, Text>> = {
  names: ["Names of other hosts", "其他主机的域名"],
  "business.dns": ["Name of the business host", "业务服务器的域名"],
  "business.tls": ["Line to the business host", "与业务服务器的连接"],
  "realtime.dns": ["Name of the real-time host", "实时服务器的域名"],
  "realtime.tls": ["Line to the real-time host", "与实时服务器的连接"],
  token: ["Sign-in at the platform", "平台登录"],
  realtime: ["Real-time host answers", "实时服务器的回应"],
  requests: ["Requests an hour", "每小时请求数"],
  clock: ["Clock of this computer", "本机时钟"],
  time_zone: ["Time zone of the platform", "平台时区"],
  shapes: ["Answers can be read", "平台数据格式"],
  interface: ["Version of the interface", "接口版本"],
  addresses: ["Addresses below their type_id", "地址与 type_id"],
  twins: ["Sensors are told apart", "传感器可以区分"],
  fresh_reads: ["Fresh reads are fresh", "实时读取是最新的"],
  both_reads: ["Group read and single read", "两种读取方式一致"],
  values: ["Actuator states", "执行机构的读数含义"],
  statuses: ["Running statuses are on or off", "运行状态的含义"],
  types: ["Types of devices", "设备类型"],
  push: ["Push channel", "推送通道"],
  broker: ["MQTT broker", "MQTT 服务器"],
  "broker.version": ["MQTT version", "MQTT 版本"],
  "broker.publish": ["Right to publish", "发布权限"],
  "broker.subscribe": ["Right to subscribe", "订阅权限"],
  "broker.retained": ["Retained messages", "保留消息"],
  "broker.packet_size": ["Size of messages", "消息大小"],
  "broker.anonymous": ["Clients without a password", "匿名访问"],
  "broker.announce": ["Announcing to Home Assistant", "向 Home Assistant 发布设备"],
  "cluster.nats": ["NATS servers", "NATS 服务器"],
  "cluster.journal": ["Journal of the cluster", "集群的操作记录"],
  "cluster.owner": ["Who runs the account", "由哪个成员运行"],
  sparkplug: ["Sparkplug B", "Sparkplug B"],
  home_assistant: ["Home Assistant listens", "Home Assistant 在线"],
  page: ["Page, and who may command", "网页及操作权限"],
  data_dir: ["Data directory", "数据目录"],
  lock: ["Only one bridge", "只有一个网桥"],
  last_run: ["The last run", "上次运行"],
};
