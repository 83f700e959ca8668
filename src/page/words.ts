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
  settings: ["Settings", "设置"],
  skip: ["Skip to the content", "跳到内容"],
  log_in: ["Log in", "登录"],
  log_out: ["Log out", "退出登录"],
  name: ["Name", "名称"],
  user_name: ["Name", "用户名"],
  password: ["Password", "密码"],
  loading: ["Waiting for the bridge …", "正在等待网桥…"],
  silent: [
    "Nothing heard from the bridge since {time}; values may be outdated.",
    "自 {time} 起没有网桥的消息，显示可能已过时。",
  ],
  not_reached: ["The bridge is not reached.", "无法连接网桥。"],
  last_seen: ["Last seen {time}.", "最近一次连接：{time}。"],
  never_seen: ["It was never seen from here.", "这里从未连接过。"],
  not_reached_what: [
    "No values are shown, as none would be of now. This page tries again by itself.",
    "不显示数值，因为都不是现在的。页面会自动重试。",
  ],
  gone: ["This is not there any more.", "已不存在。"],
  anonymous: [
    "Nobody is logged in; name an operator under http.users.",
    "没有登录；请在 http.users 中设置操作员。",
  ],
  account: ["Account", "账号"],
  accounts: ["Accounts", "账号"],
  all_accounts: ["All accounts", "全部账号"],
  account_missing: [
    "There is no account of this name, or you may not see it.",
    "没有这个账号，或您无权查看。",
  ],
  account_away: ["This account does not run: {state}.", "该账号没有运行：{state}。"],
  account_again: ["It starts again at {time}.", "将于 {time} 再次启动。"],
  account_starting: ["it is starting", "正在启动"],
  account_waiting: ["it ended by an error", "因错误而结束"],
  account_stopping: ["it is ending", "正在结束"],
  account_standby: ["another member of the cluster may run it", "可能由集群的另一成员运行"],
  account_refused: ["its file has mistakes", "配置文件有错误"],
  account_platform: ["Platform: {state}", "平台：{state}"],
  account_broker: ["Broker: {state}", "MQTT 服务器：{state}"],
  account_read_only: ["read-only", "只读"],
  one_account: ["1 account", "1 个账号"],
  count_accounts: ["{count} accounts", "{count} 个账号"],
  count_away: ["{count} not running", "{count} 个没有运行"],
  online_of: ["{online} of {count} online", "{online}/{count} 在线"],
  setup: ["Set up the bridge", "设置网桥"],
  setup_code: ["Code", "验证码"],
  setup_platform: ["Platform", "平台"],
  setup_broker: ["Broker", "MQTT 服务器"],
  setup_user: ["Operator", "操作员"],
  setup_found: ["Greenhouses", "温室"],
  setup_done: ["Done", "完成"],
  setup_what: [
    "A few questions, each tried at once. Nothing is written before the end, and an existing file is never overwritten.",
    "几个问题，每个都会立即试一下。最后一步之前什么都不写，也不会覆盖已有的文件。",
  ],
  setup_language: ["Language", "语言"],
  setup_code_where: ["Code that init --web printed", "init --web 打印的验证码"],
  setup_begin: ["Begin", "开始"],
  setup_busy: ["One moment …", "请稍候…"],
  setup_try: ["Try and go on", "试一下，继续"],
  setup_trying: ["Trying it …", "正在尝试…"],
  setup_next: ["Go on", "继续"],
  setup_back: ["Back", "返回"],
  setup_keep: ["Keep it as it is", "保持不变，继续"],
  setup_swap: ["Exchange the two addresses", "交换两个地址"],
  setup_hosts: [
    "The platform has two hosts. Their addresses are in the papers of your account.",
    "平台有两个服务器，地址在您的账号资料中。",
  ],
  setup_business: ["Business host", "业务服务器"],
  setup_insecure: [
    "With http:// others can read the token on the way. Allow it.",
    "使用 http:// 时，令牌在途中可能被他人读取。仍然允许。",
  ],
  setup_realtime: ["Realtime host", "实时服务器"],
  setup_credential: ["How the bridge proves who it is", "网桥的凭据"],
  setup_token: ["Token", "令牌"],
  setup_sign_in: ["Account and password", "账号和密码"],
  setup_account: ["Account", "账号"],
  setup_account_own: [
    "Best is an account that nobody else uses: on some platforms each sign-in ends the others' sessions.",
    "最好用一个别人不用的账号：有些平台每次登录都会结束其他会话。",
  ],
  setup_fields: ["Names of the fields in the sign-in", "登录请求中的字段名"],
  setup_account_field: ["Field of the account", "账号字段"],
  setup_password_field: ["Field of the password", "密码字段"],
  setup_broker_what: [
    "The readings go to an MQTT broker. These were found; the embedded one serves this computer alone and keeps nothing over a restart.",
    "读数发往 MQTT 服务器。下面是找到的；内置的只供本机使用，重启后不保留内容。",
  ],
  setup_embedded: ["The embedded one", "内置的"],
  setup_other: ["Another one", "其他"],
  setup_address: ["Address", "地址"],
  setup_broker_user: ["User name at the broker, if it wants one", "MQTT 用户名（需要时）"],
  setup_user_what: [
    "Who may command on the page. Left empty, the first operator is made later.",
    "谁可以在网页上操作。留空则以后再创建。",
  ],
  setup_phones: [
    "Phones and other computers in this network too (with this login)",
    "本网络的手机和其他电脑也可以打开（用此登录）",
  ],
  setup_alarms: ["Alarms on readings", "读数报警"],
  setup_alarms_take: ["Begin with these limits; they can be changed later", "先使用这些限值，以后可以修改"],
  setup_qr: [
    "For a phone in this network: once the bridge runs, point its camera here.",
    "本网络的手机：网桥运行后，用相机对准这里。",
  ],
  setup_search: ["Look for controllers and actuators", "查找控制器和执行机构"],
  setup_searching: ["Looking; this may take some minutes …", "正在查找，可能需要几分钟…"],
  setup_search_what: [
    "Readings appear by themselves; actuators are found by reading the addresses. Nothing is sent to any of them.",
    "读数会自动出现；执行机构要靠读取地址来找。不会向它们发送任何命令。",
  ],
  setup_skip: ["Write it without actuators", "不含执行机构，直接写入"],
  setup_skip_what: [
    "`greenhouse2mqtt discover` finds them later.",
    "以后可以用 greenhouse2mqtt discover 查找。",
  ],
  setup_compare: [
    "The program knows what an address moves only from its type: compare each with the real one. Untick what is not to be used.",
    "程序只能由类型推断地址的作用：请逐个与现场核对。不用的请取消勾选。",
  ],
  setup_mirror: ["show it", "显示"],
  setup_use: ["use it", "使用"],
  setup_write: ["Write the configuration", "写入配置"],
  setup_written: ["{file} is written.", "已写入 {file}。"],
  setup_run: ["Now start the bridge in the terminal:", "现在在终端中启动网桥："],
  setup_then: [
    "Then open {url} and log in. The bridge begins read-only: press “Take commands for this run” there.",
    "然后打开 {url} 并登录。网桥开始时为只读：在那里点“本次运行接受命令”。",
  ],
  address: ["Address", "地址"],
  reads_now: ["now {value} ({word})", "现在 {value}（{word}）"],
  reads_raw: ["now {value}", "现在 {value}"],
  kind_assumed: ["kind assumed", "类型为推测"],
  first_none: ["Nobody can command here yet.", "还没有人可以在这里操作。"],
  first_make: ["Make the first operator", "创建第一个操作员"],
  first_where: [
    "The bridge printed a code when it started: on the terminal, or in the log of its service.",
    "网桥启动时显示了一个验证码：在终端中，或在服务的日志中。",
  ],
  first_code: ["Code", "验证码"],
  first_by_hand: [
    "The operator is made. For phones set http.host: 0.0.0.0 in the configuration.",
    "操作员已创建。手机访问请在配置中设置 http.host: 0.0.0.0。",
  ],
  first_qr: ["Point your phone's camera here, or open", "用手机相机对准这里，或打开"],
  first_password: ["Password (at least 12 characters)", "密码（至少 12 个字符）"],
  restarted: ["The bridge was restarted at {time}.", "网桥已于 {time} 重新启动。"],
  commands: ["Commands", "命令"],
  take_commands: ["Take commands for this run", "本次运行接受命令"],
  take_no_commands: ["Take no commands for this run", "本次运行不接受命令"],
  read_only_switch: [
    "Until the next start, or until it is switched back here. In the configuration it is commands.read_only.",
    "到下次启动或在此恢复为止。配置中对应 commands.read_only。",
  ],
  read_only: ["The bridge is read-only: every command is refused.", "网桥为只读：所有命令都会被拒绝。"],
  no_upgrade: [
    "The line for live values does not come about. A proxy before the bridge has to pass on the headers Upgrade and Connection, see docs/page.md.",
    "实时连接没有建立。网桥前面的代理必须传递 Upgrade 和 Connection 头，见 docs/zh/page.md。",
  ],
  dry_run: ["Dry run: commands are checked, and nothing is sent.", "试运行：只检查命令，不发送。"],
  notice_degraded: ["Platform partly reached: some values come late.", "平台部分可达：部分数值会迟到。"],
  notice_unreachable: ["Platform not reached: values are stale.", "无法连接平台：数值已过期。"],
  notice_unauthorized: ["The platform refuses the sign-in.", "平台拒绝登录。"],
  broker_away: ["No link to the MQTT broker.", "与 MQTT 服务器没有连接。"],
  search: ["Search", "搜索"],
  order: ["Sort by", "排序"],
  order_platform: ["as on the platform", "与平台相同"],
  station: ["Station", "站点"],
  group_by: ["Group by", "分组"],
  group_by_nothing: ["nothing", "不分组"],
  last_online: ["last online", "最近在线"],
  video: ["Video", "视频"],
  order_attention: ["What needs attention", "需要注意的在前"],
  greenhouses: ["Greenhouses", "温室"],
  devices: ["Other devices", "其他设备"],
  silents: ["Devices without readings ({count})", "没有读数的设备（{count}）"],
  no_station: ["Without a station", "未分站点"],
  attention: ["Needs attention", "需要注意"],
  wall: ["All at once", "总屏"],
  from_to: ["{least} to {most}", "{least} 至 {most}"],
  weather: ["Weather", "天气"],
  was_online: ["was online", "曾在线"],
  count_were_online: ["{count} were online", "{count} 个曾在线"],
  count_online: ["{count} online", "{count} 个在线"],
  count_offline: ["{count} offline", "{count} 个离线"],
  count_old: ["{count} with outdated values", "{count} 个数值过期"],
  beyond_low: ["low", "偏低"],
  beyond_low_low: ["far too low", "过低"],
  beyond_high: ["high", "偏高"],
  beyond_high_high: ["far too high", "过高"],
  lock_house: ["Lock this house", "锁定这个温室"],
  lock_all: ["Lock all {count}", "锁定全部 {count} 个"],
  unlock_mine: ["Unlock all of mine", "解除我的全部锁定"],
  minutes: ["Minutes", "分钟"],
  send_for: ["Send {what} to {name} for {time}", "发送“{what}”到 {name}，持续 {time}"],
  send_endless: ["{what} without end", "“{what}”不限时"],
  run_today: ["on today: {time}, {count} starts", "今天运行 {time}，启动 {count} 次"],
  not_run_today: ["not on today", "今天没有运行"],
  count_alarms: ["{count} alarms", "{count} 条报警"],
  one_alarm: ["1 alarm", "1 条报警"],
  count_guards: ["{count} limits on", "{count} 个限制有效"],
  one_guard: ["1 limit on", "1 个限制有效"],
  count_locks: ["{count} locked", "{count} 个已锁定"],
  one_lock: ["1 locked", "1 个已锁定"],
  guard_holds: ["{name} limits{times}", "{name}限制{times}"],
  locked_by: ["locked by {by}{times}", "{by} 已锁定{times}"],
  held_by: ["held by {by}{times}", "{by} 保持{times}"],
  until: ["until {time}", "至 {time}"],
  count_of: ["{count} {what}", "{count} 个{what}"],
  at_degree: ["at {degree} %", "开度 {degree} %"],
  not_known: ["not known", "不明"],
  comma: [", ", "，"],
  groups_and_scenes: ["Groups and scenes", "分组和场景"],
  scene: ["scene", "场景"],
  send_all: ["Send {what} to all {count}", "将“{what}”发送到全部 {count} 个"],
  send_scene: ["Start {name} ({count} commands)", "执行{name}（{count} 个命令）"],
  ended_of: ["{ended} of {count} ended", "{ended}/{count} 已结束"],
  all_already: ["All {count} were already so.", "全部 {count} 个原已如此。"],
  outside: ["Outside", "室外温度"],
  take_commands_always: ["Take commands from now on", "以后都接受命令"],
  done_of: ["{done} of {count} did it.", "{done}/{count} 已完成。"],
  none_found: ["Nothing fits.", "没有符合的内容。"],
  controller: ["Controller", "控制器"],
  quality: ["Quality", "质量"],
  oldest: ["Oldest reading", "最旧读数"],
  problem: ["Problem", "异常"],
  limited: ["limited", "受限制"],
  never: ["never", "从未"],
  just_now: ["now", "刚刚"],
  nothing_known: ["Nothing is known of this controller yet.", "还没有这个控制器的任何数据。"],
  trend_of: ["{name}", "{name}"],
  trend_none: ["Nothing is known of this time yet.", "还没有这段时间的数据。"],
  trend_legend: [
    "Dark bands: nights. Dots on top: what was done, what a guard did and what was wrong; point at one to read it.",
    "深色：夜间。上方的点：操作、限制和报警；指向某点可查看内容。",
  ],
  trend_legend_demo: [
    "Times are those of the simulated day. Dark bands: nights. Dots on top: what was done and what happened.",
    "时间为模拟时间。深色：夜间。上方的点：操作和事件。",
  ],
  range: ["Time", "时间范围"],
  second_sensor: ["Compare with", "对比"],
  time: ["Time", "时间"],
  close: ["Close", "关闭窗口"],
  value: ["Value", "数值"],
  raw: ["value {value}", "原始值 {value}"],
  send: ["Send {what} to {name}", "将“{what}”发送到 {name}"],
  cancel: ["Cancel", "取消"],
  degree: ["Opening", "开度"],
  not_sent: ["No answer. Look at the state before you send it again.", "没有回应。再次发送前请先查看状态。"],
  why_silent: ["Not now: nothing is heard from the bridge.", "暂不可用：没有收到网桥的消息。"],
  why_role: ["Only an operator can send commands.", "只有操作员可以发送命令。"],
  why_actuator: ["This actuator is read-only in the configuration.", "配置中该执行机构为只读。"],
  why_offline: ["The controller is offline.", "控制器离线。"],
  why_platform: ["The platform is not reached.", "无法连接平台。"],
  why_reason: ["({reason})", "（{reason}）"],
  guard_number: ["{input} is {value}, and the limit is {limit}.", "{input}为 {value}，限值 {limit}。"],
  guard_above: ["{input} is {value}, above the limit of {limit}.", "{input}为 {value}，高于限值 {limit}。"],
  guard_below: ["{input} is {value}, below the limit of {limit}.", "{input}为 {value}，低于限值 {limit}。"],
  guard_until_low: [
    "{input} is {value}; waiting until it is down to {clear}.",
    "{input}为 {value}，等待降到 {clear}。",
  ],
  guard_until_high: [
    "{input} is {value}; waiting until it is up to {clear}.",
    "{input}为 {value}，等待升到 {clear}。",
  ],
  guard_waits_low: [
    "{input} is {value} again; waiting {time} at {clear} or less, until {until}.",
    "{input}已回到 {value}；需保持不高于 {clear} 满 {time}，到 {until}。",
  ],
  guard_waits_high: [
    "{input} is {value} again; waiting {time} at {clear} or more, until {until}.",
    "{input}已回到 {value}；需保持不低于 {clear} 满 {time}，到 {until}。",
  ],
  guard_is: ["{input} is “{value}”.", "{input}为“{value}”。"],
  guard_waits: [
    "{input} is “{value}” again; waiting {time}, until {until}.",
    "{input}已变为“{value}”；等待 {time}，到 {until}。",
  ],
  guard_rains: ["It is raining.", "正在下雨。"],
  guard_rained: [
    "It rained; waiting {time} without rain, until {until}.",
    "刚下过雨；等待 {time} 无雨，到 {until}。",
  ],
  raining: ["raining", "有雨"],
  dry: ["dry", "无雨"],
  guard_moves: ["{input} is moving.", "{input}正在动作。"],
  guard_moved: [
    "{input} has moved; waiting {time}, until {until}.",
    "{input}刚动作过；等待 {time}，到 {until}。",
  ],
  guard_blind: [
    "{input}: no value to rely on ({quality}), so this stays limited.",
    "{input}没有可靠数值（{quality}），限制一直有效。",
  ],
  why_until: ["Until {time}.", "到 {time} 为止。"],
  allowed: ["Allowed now: {what}.", "目前允许：{what}。"],
  allowed_none: ["Nothing can be sent now.", "目前不能发送任何命令。"],
  degrees_from_to: ["{min} to {max} %", "{min} 到 {max} %"],
  rule_lock: ["Locked by {value}.", "已被 {value} 锁定。"],
  rule_hold: ["Held by a command of {value}.", "被 {value} 的命令保持。"],
  rule_rest: ["A new movement waits for a pause of {limit} s.", "新动作需等待 {limit} 秒的停歇。"],
  rule_reversal: ["The other way waits for a pause of {limit} s.", "反向动作需等待 {limit} 秒的停歇。"],
  rule_starts_per_hour: ["Its {limit} starts of this hour are used up.", "一小时内的 {limit} 次启动已用完。"],
  rule_read_only: ["The bridge is read-only.", "网桥为只读。"],
  back: ["All greenhouses", "全部温室"],
  jump: ["Sections", "跳转到"],
  opening: ["Opening in %", "开度（%）"],
  status_on: ["Running status ({count} on)", "运行状态（{count} 个开启）"],
  lock: ["Lock", "锁定"],
  lock_reason: ["Reason (others see it)", "原因（他人可见）"],
  lock_until: ["Ends by itself after", "多久后自动解锁"],
  unlock: ["Unlock", "解锁"],
  unlock_others: ["Unlock what {by} has locked", "解除 {by} 的锁定"],
  release: ["Release the hold", "解除保持"],
  term: ["For how long", "时长"],
  term_for: ["Ends by itself after", "多久后自动结束"],
  term_hold: ["Keeps other commands off for", "保持多久（拒绝其他命令）"],
  lease: ["Ends with “{word}” at {time}.", "{time} 以“{word}”结束。"],
  by: ["by {by}", "操作人：{by}"],
  by_rule: ["guard “{name}”", "限制“{name}”"],
  by_lease: ["end of its time", "限时结束"],
  happened_locked: ["locked {until}", "锁定 {until}"],
  happened_unlocked: ["unlocked", "解锁"],
  happened_held: ["hold {until}", "保持 {until}"],
  happened_hold_ended: ["hold ended", "保持结束"],
  happened_lease_begun: ["{what} {until}", "{what} {until}"],
  happened_lease_ended: ["time of “{what}” ended", "“{what}”限时结束"],
  happened_guard_holds: ["limit “{what}” on", "限制“{what}”开始有效"],
  happened_guard_clears: ["limit “{what}” lifted", "限制“{what}”解除"],
  happened_alarm_raised: ["{alarm}", "{alarm}"],
  happened_alarm_acknowledged: ["{alarm}: acknowledged", "{alarm}：已确认"],
  happened_alarm_cleared: ["{alarm}: cleared", "{alarm}：已解除"],
  happened_acknowledged: ["problem acknowledged", "异常已确认"],
  happened_login_failed: ["wrong login", "登录失败"],
  happened_logged_in: ["logged in", "登录"],
  happened_changed_elsewhere: ["changed elsewhere: {from} → {to}", "在别处改动：{from} → {to}"],
  happened_late_execution: ["carried out late: {from} → {to}", "延迟执行：{from} → {to}"],
  happened_ended_by_itself: ["ended by itself: {from} → {to}", "自行结束：{from} → {to}"],
  happened_refusals_counted: ["{count} more refusals", "另有 {count} 次拒绝"],
  happened_confirmed_late: ["{value} confirmed late", "{value} 迟到的确认"],
  happened_reverted: ["was set back to {value}", "被改回 {value}"],
  happened_start: ["bridge started", "网桥启动"],
  happened_stop: ["bridge stopped", "网桥停止"],
  happened_configuration_changed: ["configuration changed: {changes}", "配置已更改：{changes}"],
  happened_clock_jump: ["clock was set", "时钟被调整"],
  happened_journal_damaged: ["journal was damaged", "记录文件损坏"],
  happened_journal_resumed: ["journal can be written again", "记录恢复写入"],
  and_more: ["{name} and {count} more", "{name}，另 {count} 个"],
  kind: ["Kind", "类别"],
  outcome: ["Outcome", "结果"],
  any: ["all", "全部"],
  when: ["When", "时间"],
  what: ["What", "内容"],
  who: ["Who", "操作者"],
  any_but_logins: ["all but log-ins", "除登录外全部"],
  when_chosen: ["from … to …", "从…到…"],
  from: ["From", "从"],
  to: ["To", "到"],
  history: ["History", "历史"],
  history_all: ["All of it in the journal", "在操作记录中查看全部"],
  last: ["last {time}", "最近 {time}"],
  more: ["Show older ones", "显示更早的记录"],
  export: ["Export {kind}", "导出 {kind}"],
  no_records: ["Nothing has happened yet.", "还没有记录。"],
  all_well: ["Nothing is wrong.", "一切正常。"],
  acknowledge: ["Acknowledge", "确认"],
  acknowledged_by: ["acknowledged by {by}", "{by} 已确认"],
  no_limit: ["no limit", "不限"],
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
  seen: ["Addresses seen, of nothing in the configuration", "看到的地址（配置中没有）"],
  seen_what: [
    "The platform pushed them while something was moved. Try each before you use it: what it looks like is a guess.",
    "有人操作设备时平台推送的地址。类型只是推测，使用前请逐个核对。",
  ],
  seen_copy: ["Copy as YAML", "复制为 YAML"],
  seen_copied: ["Copied", "已复制"],
  looks_like: ["looks like {kind}", "看起来像 {kind}"],
  available: ["can be written", "可写入"],
  none: ["none", "无"],
  doctor: ["Doctor", "检查"],
  doctor_what: ["Tries all that the bridge needs. Nothing is commanded.", "检查网桥所需的一切，不发送命令。"],
  doctor_run: ["Run doctor", "开始检查"],
  doctor_running: ["Running …", "检查中…"],
  discover: ["What is not in the configuration yet", "配置中还没有的内容"],
  discover_what: [
    "Reads the addresses of the account for controllers and actuators, and writes lines to paste. Nothing is commanded, and no file is changed. It may take some minutes.",
    "读取账号的地址，查找控制器和执行机构，并给出可粘贴的配置。不发送命令，也不修改文件。可能需要几分钟。",
  ],
  discover_at: ["{done} of {total} read …", "已读取 {done} / {total}…"],
  bundle: ["Report for help", "求助报告"],
  bundle_what: [
    "Configuration, health, journal and log, without secrets, hosts, codes and names.",
    "配置、状况、记录和日志，不含密码、地址、编号和名称。",
  ],
  download: ["Download", "下载"],
  notify: ["Messages about alarms", "报警通知"],
  notify_what: [
    "One message through each way that the configuration has under notify.",
    "通过配置中 notify 的每种方式各发送一条消息。",
  ],
  notify_test: ["Send a test message", "发送测试消息"],
  notify_testing: ["Sending …", "发送中…"],
  notify_sent: ["sent", "已发送"],
  level: ["Level", "级别"],
  level_set: ["Log from level", "日志级别"],
  filter: ["Filter", "筛选"],
  demo: ["Simulated day, {time}", "模拟的一天，{time}"],
  speed: ["Speed", "速度"],
  wrong_login: ["Wrong name or password.", "用户名或密码不正确。"],
  too_many: ["Too many wrong logins; try again later.", "错误登录太多，请稍后再试。"],
} as const satisfies Readonly<Record<string, readonly [string, string]>>;

export type Word = keyof typeof words;

export const isWord = (text: string): text is Word => Object.hasOwn(words, text);

type Value = string | number | boolean | null | undefined;
type Values = Readonly<Record<string, Value | readonly Value[]>>;

/** A dash stands for what is not known. */
export const fill = (text: string, values: Values): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? "–"));

const column = () => (language.value === "zh" ? 1 : 0);

/** A text in the language that is chosen. */
export const t = (word: Word, values: Values = {}): string => fill(words[word][column()], values);

/** A code of the bridge as a word; as it stands where there is no text for it. */
export const codeText = (code: string): string => codes[code]?.[column()] ?? code.replaceAll("_", " ");

/** A command word, a degree, or whatever else was sent. */
export const commandText = (command: string | number | null): string =>
  /^\d+$/.test(String(command)) ? `${command} %` : wordLabel(language.value, String(command ?? "–"));

/** What a weather topic brought that is no number. */
export function weatherText(name: string, value: string): string {
  if (!name.endsWith("rain")) return commandText(value);
  return value === "on" ? t("raining") : value === "off" ? t("dry") : commandText(value);
}

/** A state within a sentence: a word, or a degree. */
export function stateWordText(state: string): string {
  if (/^\d+$/.test(state)) return t("at_degree", { degree: state });
  const word = wordLabel(language.value, state);
  return language.value === "en" ? word.toLowerCase() : word;
}

/** As exact as one glance needs it. */
export function roundedText(value: number | string | null): number | string | null {
  if (typeof value !== "number") return value;
  const size = Math.abs(value);
  const factor = size >= 100 ? 1 : size >= 1 ? 10 : 100;
  return Math.round(value * factor) / factor;
}

const locale = () => (language.value === "zh" ? "zh-CN" : "en-GB");

/** As people count: 2 before 10. */
export const collator = new Intl.Collator(undefined, { numeric: true });

export const numberText = (value: number | string): string =>
  typeof value === "number"
    ? new Intl.NumberFormat(locale(), { maximumFractionDigits: 3 }).format(value)
    : value;

function momentText(at: string | number, now: number, clock: Intl.DateTimeFormatOptions): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date(now).toDateString();
  const day = isToday ? {} : ({ day: "numeric", month: "short" } as const);
  return new Intl.DateTimeFormat(locale(), { ...day, ...clock }).format(date);
}

const minutes = { hour: "2-digit", minute: "2-digit" } as const;

/** A moment: the time alone where it is of today. */
export const timeText = (at: string | number, now: number): string =>
  momentText(at, now, { ...minutes, second: "2-digit" });

/** A moment without its seconds. */
export const clockText = (at: string | number, now: number): string => momentText(at, now, minutes);

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

/** How long ago, in the largest unit that is over. `isOver`: it is not known to be so any more, and "now" would say so. */
export function ageText(at: string | null, now: number, isOver = false): string {
  if (at === null) return t("never");
  const seconds = Math.max(Number(isOver), Math.round((now - Date.parse(at)) / 1000));
  if (seconds < 10 && !isOver) return t("just_now");
  const [unit, size] = units.find(([, of]) => seconds >= of) ?? units[3];
  const format = new Intl.RelativeTimeFormat(locale(), { style: "narrow", numeric: "always" });
  return format.format(-Math.floor(seconds / size), unit);
}
