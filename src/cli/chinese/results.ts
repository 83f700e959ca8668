import type { Pair } from "./pair.js";

/** What a result, an alarm or the journal says of a command. */
export const resultPairs: readonly Pair[] = [
  // Why a command was not taken.
  [
    "More than 60 commands a minute come for this target; slow the sender down. A stop is always taken.",
    "这个目标每分钟收到超过 60 条命令；请让发送者慢一些。停止命令总是接受。",
  ],
  [
    'This bridge takes only commands that say who asks: send "by" in JSON, or as an MQTT 5 user property.',
    "这个网桥只接受说明操作者的命令：请在 JSON 中写 by，或作为 MQTT 5 用户属性。",
  ],
  [
    "The command was retained by the broker, so nobody knows how old it is. Send commands without the retain flag, and clear the topic with an empty retained message.",
    "这是 MQTT 服务器保留的命令，不知道有多旧。请发送不带保留标志的命令，并用空的保留消息清除该主题。",
  ],
  ["This actuator is read-only in the configuration.", "配置中这个执行机构为只读。"],
  [
    "Another bridge is connected for the same account, so nothing but a stop is sent; stop one of the two.",
    "同一账号有另一个网桥连接，所以只发送停止命令；请停掉其中一个。",
  ],
  ["No command is taken: {}", "不接受命令：{1}"],
  ["The journal cannot be written, so no command is taken: {}", "操作记录无法写入，所以不接受命令：{1}"],
  [
    'The id "{}" was used for another command; give each command an id of its own.',
    "id “{1}”已用于另一条命令；请给每条命令自己的 id。",
  ],
  [
    'The same command was taken before under the id "{}", which {}. This one does nothing.',
    "同样的命令之前已接受，id 为“{1}”，{2}。这一条不起作用。",
  ],
  ["is still open", "它还没有结束"],
  ["has ended; its result is under original", "它已结束，结果在 original 中"],
  ["The payload has {} bytes; a command has at most {}.", "消息有 {1} 字节；命令最多 {2} 字节。"],
  ["The payload is not valid UTF-8.", "消息不是有效的 UTF-8。"],
  [
    "The payload is empty; send a command word, a degree, or a JSON object.",
    "消息为空；请发送命令词、开度或 JSON 对象。",
  ],
  ["The payload is broken JSON; check quotes, commas and brackets.", "JSON 有误；请检查引号、逗号和括号。"],
  [
    'A JSON payload must be an object such as {"command": "open"}.',
    'JSON 应为对象，例如 {"command": "open"}。',
  ],
  ['The key "{}" stands there twice; nobody can tell which one counts.', "键“{1}”写了两次，不知道哪个算数。"],
  ['Unknown key "{}"{}', "没有键“{1}”{2}"],
  ['The key "command" is missing.', "缺少键 command。"],
  ['"{}" has more digits than a number keeps; write it in quotes.', "“{1}”的数字位数太多；请写在引号里。"],
  ['"{}" must be a text.', "“{1}”应为文字。"],
  ['"{}" is longer than {} characters.', "“{1}”超过 {2} 个字符。"],
  ['"{}" must be true or false.', "“{1}”应为 true 或 false。"],
  ['"command" is empty.', "command 为空。"],
  ['"command" must be a word or a number.', "command 应为词或数字。"],
  [
    'The number in "command" is larger than any setting takes; a raw value of so many digits goes in quotes.',
    "command 中的数字太大；这么多位的原始值请写在引号里。",
  ],
  ['"{}" has control characters, or half of a character, in it.', "“{1}”含有控制字符或不完整的字符。"],
  ['"id" is empty; leave it out or give it a value.', "id 为空；请去掉或给出值。"],
  [
    '"at" must be an ISO time with its zone, such as 2026-03-01T06:30:00Z.',
    "at 应为带时区的 ISO 时间，例如 2026-03-01T06:30:00Z。",
  ],
  ['"at" is {}, a time that does not exist.', "at 为 {1}，这个时间不存在。"],
  ['"max_age" must be a duration such as "30s".', "max_age 应为时长，例如 30s。"],
  ['"{}" must be a duration from 1s to 24h, such as "20m".', "“{1}”应为 1s 到 24h 的时长，例如 20m。"],
  [
    'This bridge takes only commands that carry "at" or an MQTT 5 message expiry.',
    "这个网桥只接受带 at 或 MQTT 5 有效期的命令。",
  ],
  [
    'The bridge\'s clock is not known to be right, so "at" cannot be judged; check the time service, or send without "at".',
    "不能确定网桥的时钟正确，所以无法判断 at；请检查校时，或不带 at 发送。",
  ],
  ['"at" lies in the future; check the clock of the sender.', "at 在将来；请检查发送者的时钟。"],
  [
    "The command was older than its max_age, or than the time it was to last, before it could be sent; send it again if it is still wanted.",
    "命令在发送之前已超过 max_age 或它的时长；仍需要时请重新发送。",
  ],
  [
    "The command was read late, as the bridge stood still or none was connected: it may have been sent {} s earlier, which is older than its max_age; send it again if it is still wanted.",
    "这条命令读得晚了（网桥停顿过，或当时没有网桥连接）：它可能在 {1} 秒之前发出，已超过 max_age；仍需要时请重新发送。",
  ],
  [
    "The member of the cluster that took the command was gone before the journal could tell whether it was sent. Check the actuator.",
    "接受这条命令的集群成员在日志记下是否发送之前就不在了。请查看执行器。",
  ],
  [
    "The member of the cluster that took the command was gone before the journal had it. Nothing was sent; send it again if it is still wanted.",
    "接受这条命令的集群成员在日志记下它之前就不在了。什么都没有发送；仍需要时请重新发送。",
  ],
  [
    '"{}" is not a plain number; send {} to {} such as {}, without leading zeros, exponent or unit.',
    "“{1}”不是普通数字；请发送 {2} 到 {3}，例如 {4}，不带前导零、指数或单位。",
  ],
  ["{} is outside {} to {}.", "{1} 超出 {2} 到 {3}。"],
  [
    "{} lies between two steps; values go from {} to {} in steps of {}.",
    "{1} 不在步进上；可取 {2} 到 {3}，步进 {4}。",
  ],
  [
    "{} would be sent as a negative value, which the platform has no digits for; check min and scale.",
    "{1} 会成为负值，平台无法表示；请检查 min 和 scale。",
  ],
  [
    "{} would be sent with more digits than can be exact; check max and scale.",
    "{1} 的位数太多，无法准确表示；请检查 max 和 scale。",
  ],
  [
    'A raw address knows no words such as "{}": send the control value in digits, or configure an actuator with values.',
    "原始地址不认识“{1}”这样的词：请发送数字控制值，或配置带 values 的执行机构。",
  ],
  [
    "A raw address takes one control value of at most 64 digits, such as 00000100.",
    "原始地址接受一个最多 64 位数字的控制值，例如 00000100。",
  ],
  [
    '"{}" is not a plain whole number; send 0 to 100 without leading zeros, sign or fraction.',
    "“{1}”不是普通整数；请发送 0 到 100，不带前导零、符号或小数。",
  ],
  ["{} is outside 0 to 100.", "{1} 超出 0 到 100。"],
  ["This actuator takes no degree; it accepts {}.", "这个执行机构没有开度；它接受 {1}。"],
  ['"{}" is no command of this actuator; it accepts {}.', "这个执行机构没有命令“{1}”；它接受 {2}。"],
  [
    "A position needs its degree: send a number from 0 to 100 instead of the word.",
    "指定开度需要数值：请发送 0 到 100 的数字，而不是词。",
  ],
  ['Nobody knows what "{}" is: {}; {}.', "不知道“{1}”是什么：{2}；{3}。"],
  [
    'Parameter "{}" is only mirrored; give it writable: {min, max, step} in the configuration to allow commands.',
    "参数“{1}”只用于显示；要允许命令，请在配置中写 writable: {min, max, step}。",
  ],
  [
    "Raw addresses take no commands here; set commands.raw_addresses to true to allow them.",
    "这里不接受对原始地址的命令；要允许，请把 commands.raw_addresses 设为 true。",
  ],
  [
    "Address {} belongs to {}; send the command there, so that commands stay in order.",
    "地址 {1} 属于{2}；请把命令发到那里，以保持顺序。",
  ],
  ['actuator "{}"', "执行机构“{1}”"],
  ['parameter "{}"', "参数“{1}”"],
  [
    'There is no controller "{}"; bridge/controllers lists those there are.',
    "没有控制器“{1}”；bridge/controllers 列出已有的。",
  ],
  ['Controller "{}" has no {} "{}"; {}.', "控制器“{1}”没有 {2}“{3}”；{4}。"],
  ['Controller "{}" has no {} "{}"', "控制器“{1}”没有 {2}“{3}”"],
  ['{}; an address is letters, digits, ".", "_", "-".', "{1}；地址由字母、数字、.、_、- 组成。"],
  ["the configuration lists no {}s of it", "配置中没有列出它的 {1}"],
  ["it has {}{}", "它有 {1}{2}"],
  [
    "{} commands more came in a flood, and none of them was looked at.",
    "另有 {1} 个命令一下子涌来，都没有处理。",
  ],
  [
    "{} stops more came in a flood; newer ones took their place.",
    "另有 {1} 个停止命令一下子涌来；由更新的代替。",
  ],
  // What became of it before it was sent.
  ["the disk does not answer", "磁盘没有回应"],
  [
    "this process was busy or stood still for {} ms, and the disk may have answered meanwhile",
    "本进程忙或停顿了 {1} 毫秒，其间磁盘可能已经回应",
  ],
  [
    "The platform says the controller is offline (or does not exist). Nothing was sent; check its power and network.",
    "平台说控制器离线（或不存在）。没有发送；请检查它的电源和网络。",
  ],
  [
    "The platform's answer about the controller could not be read, so nothing was sent.",
    "平台关于控制器的回答无法读取，所以没有发送。",
  ],
  ["Nothing was sent: {}", "没有发送：{1}"],
  ["Address {} could not be read before sending: {}", "发送前无法读取地址 {1}：{2}"],
  [
    'The platform shows no value for address {}, so nothing sent there could be confirmed. Check the address, or send with "force": true.',
    "平台没有显示地址 {1} 的数值，所以发送后无法确认。请检查地址，或加 --force 发送。",
  ],
  [
    "Everything was checked; nothing was sent because it is a dry run.",
    "已全部检查；因为是试运行，没有发送。",
  ],
  ["Nothing was sent because the journal cannot be written: {}", "操作记录无法写入，所以没有发送：{1}"],
  [
    "The bridge is read-only: commands.read_only is set, or it crashed again and again; bridge/info tells which. Nothing was sent.",
    "网桥为只读：设置了 commands.read_only，或反复崩溃；bridge/info 会说明。没有发送。",
  ],
  [
    "commands.dry_run was switched on before its turn came. Nothing was sent.",
    "轮到它之前打开了 commands.dry_run。没有发送。",
  ],
  [
    "The bridge is shutting down; send the command again when it is back.",
    "网桥正在停止；它恢复后请重新发送。",
  ],
  ["A dry run sends nothing, not even a stop.", "试运行什么都不发送，包括停止。"],
  ["A newer command took its place before anything was sent.", "发送之前被更新的命令取代。"],
  [
    "It was changed elsewhere, which has ended the lease. Nothing was sent.",
    "它在别处被改动，限时因此结束。没有发送任何值。",
  ],
  ["A newer command took its place after its value had been sent.", "发送之后被更新的命令取代。"],
  [
    "A newer command took its place after a restart; whether {} had been sent is not known.",
    "重启后被更新的命令取代；不知道 {1} 是否已发送。",
  ],
  [
    "The command grew older than its max_age half way; the steps told here were done, the rest was not sent.",
    "执行到一半时超过 max_age；已列出的步骤已完成，其余没有发送。",
  ],
  // What became of it afterwards.
  [
    "The platform accepted the degree, and the address goes on showing the position mode, as configured: the degree itself cannot be read, so it is shown as uncertain.",
    "平台接受了开度，而地址继续显示开度模式（按配置如此）：开度本身读不到，所以显示为不确定。",
  ],
  [
    "The platform accepted {} for address {}, which shows the position mode and no degree: nothing says that it moved. Nothing is sent again: look at the actuator. {}",
    "平台接受了地址 {2} 的 {1}，但它只显示开度模式而没有开度：没有任何东西说明设备动过。不会重发：请到现场查看设备。{3}",
  ],
  [
    "An address that holds a degree shows no mode: check position_address.",
    "存放开度的地址不会显示模式：请检查 position_address。",
  ],
  [
    "Its degree may have an address of its own: `greenhouse2mqtt discover` shows what its type lists; set position_address.",
    "它的开度可能有自己的地址：`greenhouse2mqtt discover` 会列出该类型的地址；请设置 position_address。",
  ],
  [
    "Its degree may have an address of its own: its type also lists {}, which belongs to nothing here. Set position_address to the one that follows the actuator.",
    "它的开度可能有自己的地址：该类型还列出 {1}，配置中没有使用。请把 position_address 设为随设备变化的那个。",
  ],
  [
    "If it stands still, its degree has another address: set position_address. Only if you saw it go there, set position_reads: mode.",
    "如果设备没有动，它的开度在别的地址：请设置 position_address。只有亲眼看到设备到位，才设置 position_reads: mode。",
  ],
  [
    "It showed {} before it was sent, too: nothing says that it did anything.",
    "发送之前它也显示 {1}：没有任何东西说明设备做了什么。",
  ],
  [
    "The platform accepted {} for address {} but shows {}. Nothing is sent again: check the actuator, its local switch and the address.{}",
    "平台接受了地址 {2} 的 {1}，但显示 {3}。不会重发：请查看设备、就地开关和地址。{4}",
  ],
  [
    'Only if you saw it do what was asked, and its controller shows "{}" so, add reads: { {}: ["{}"] } to the actuator.',
    '只有亲眼看到设备照做，而控制器就是这样显示“{1}”，才给执行机构加上 reads: { {2}: ["{3}"] }。',
  ],
  [
    "The bridge was stopped before {} was sent to address {}, and the platform shows {}: it did not happen. Send it again if it is still wanted.",
    "网桥在把 {1} 发到地址 {2} 之前被停止，平台显示 {3}：没有执行。仍需要时请重新发送。",
  ],
  [
    "Sending {} to address {} ended without an answer that settles it, and the address goes on showing the position mode and no degree. Check the actuator before sending again.",
    "把 {1} 发到地址 {2} 没有得到明确的回答，而地址继续显示开度模式而没有开度。再次发送前请查看设备。",
  ],
  [
    "Sending {} to address {} ended without an answer that settles it, and the platform shows {}: it did not happen. Send it again if it is still wanted.",
    "把 {1} 发到地址 {2} 没有得到明确的回答，平台显示 {3}：没有执行。仍需要时请重新发送。",
  ],
  [
    "Whether {} was taken is not known: its sending ended without an answer that settles it, and address {} goes on showing the position mode, as configured. Check the actuator before sending again.",
    "不知道 {1} 是否被接受：发送没有得到明确的回答，而地址 {2} 继续显示开度模式（按配置如此）。再次发送前请查看设备。",
  ],
  [
    "{} was sent to address {} but no value could be read since. Check the actuator before sending again.",
    "{1} 已发到地址 {2}，但之后读不到数值。再次发送前请查看设备。",
  ],
  [
    "Whether {} was taken is not known: its sending ended without an answer that settles it, and the register of address {} is idle, as configured. Check the actuator before sending again.",
    "不知道 {1} 是否被接受：发送没有得到明确的回答，而地址 {2} 的寄存器处于空闲（按配置如此）。再次发送前请查看设备。",
  ],
  [
    "The platform accepted it, and its register is idle again, as configured: nothing shows that it moved, so its state is uncertain.",
    "平台已接受，它的寄存器又回到空闲（按配置如此）：没有任何东西显示设备动过，所以状态显示为不确定。",
  ],
  [
    "Only if you saw it do what was asked, its register is a pulse that goes back to idle by itself: set pulse: true.",
    "只有亲眼看到设备照做，它的寄存器才是会自己回到空闲的脉冲：请设置 pulse: true。",
  ],
  [
    "{} Another value was sent to this controller {} s before: if it takes one at a time, set commands.controller_interval.",
    "{1} 在此之前 {2} 秒向这个控制器发送过另一个数值：如果它一次只接受一个，请设置 commands.controller_interval。",
  ],
  [
    "{}/{} went from {} to {}: command {}, which had ended {} {} min before, seems to have been carried out now. The platform keeps what it refuses or cannot deliver; send the opposite where it is not wanted any more.",
    "{1}/{2} 从 {3} 变为 {4}：{7} 分钟前以 {6} 结束的命令 {5} 似乎现在才被执行。平台会保留它拒绝或送不到的命令；如果已不需要，请发送相反的命令。",
  ],
  [
    'The platform shows no value for address {}, so nothing sent there could be confirmed. Check the address; where it is right and the degree has an address of its own, set mode_reads: never, or send with "force": true.',
    "平台没有显示地址 {1} 的数值，所以发送后无法确认。请检查地址；如果地址正确而开度有自己的地址，请设置 mode_reads: never，或加 --force 发送。",
  ],
  ["nothing", "无"],
  [
    "A defect of the bridge ended the command; what was sent may have taken effect. Check the actuator.",
    "网桥的缺陷中断了命令；已发送的可能已生效。请查看设备。",
  ],
  [
    "The bridge was stopped while it checked this dry run. Nothing was sent; send it again if the answer is still wanted.",
    "网桥在检查试运行时被停止。没有发送；仍需要结果时请重新发送。",
  ],
  [
    "The bridge was stopped during the command, and the configuration no longer has what it was for, so it cannot be read back. Check the actuator.",
    "网桥在命令执行中被停止，而配置中已没有它的目标，所以无法读回。请查看设备。",
  ],
  [
    "The bridge was stopped before its journal could tell whether this stop was sent. Check the actuator.",
    "网桥被停止时，操作记录还不能说明这个停止命令是否已发送。请查看设备。",
  ],
  [
    "The bridge was stopped, and its journal says of nothing that was sent of this command. The rule sends it again where it is still called for.",
    "网桥被停止，操作记录中没有这条命令的发送。仍需要时由限制重新发送。",
  ],
  [
    "The bridge was stopped before it sent anything of this command. Send it again if it is still wanted.",
    "网桥在发送这条命令之前被停止。仍需要时请重新发送。",
  ],
  [
    "{}/{} shows {} now, after the command had ended unconfirmed.",
    "{1}/{2} 现在显示 {3}，命令之前以未确认结束。",
  ],
  [
    "{}/{} went from {} to {}: its plan ended by itself, or somebody ended it.",
    "{1}/{2} 从 {3} 变为 {4}：灌溉计划自己结束，或有人结束了它。",
  ],
  ["a value in no table of its kind, {},", "该类型没有的值 {1}"],
  [
    "{}/{} went from {} to {} without a command of this bridge: another user, a wall switch, or the controller's own protection.",
    "{1}/{2} 从 {3} 变为 {4}，不是这个网桥的命令：其他用户、墙上的开关，或控制器自己的保护。",
  ],
  [
    "{}/{} was confirmed at {} and shows {} now that its travel time is over: another user, a wall switch, or the controller's own protection set it back. Nothing is sent again: check the actuator.",
    "{1}/{2} 在 {3} 已确认，行程时间过后却显示 {4}：其他用户、墙上的开关或控制器自己的保护把它改了回来。不会重发：请查看设备。",
  ],
  ['There is no {} "{}" in the configuration{}', "配置中没有 {1}“{2}”{3}"],
  ["A scene has commands of its own; send it activate.", "场景有自己的命令；请发送 activate。"],
  [
    'The id "{}" was used for another command; give each one of its own.',
    "id “{1}”已用于另一条命令；请各用自己的 id。",
  ],
  [
    'The same command was taken before under the id "{}", which is still open. This one does nothing.',
    "同样的命令之前已接受，id 为“{1}”，还没有结束。这一条不起作用。",
  ],
  ["{} of {} members did it", "{2} 个成员中有 {1} 个完成"],
  ["{}; not: {}", "{1}；未完成：{2}"],
  // Guards, locks, holds, leases.
  [
    'This light gets "on" first (lead_in) unless it shows on, and "on" is not allowed.',
    "这盏灯没有显示开启时要先发送 on（lead_in），而 on 不被允许。",
  ],
  [
    "{} has locked this actuator{}; {} passes until it is unlocked.",
    "{1} 锁定了这个执行机构{2}；解锁之前{3}可以通过。",
  ],
  ["only stop", "只有 stop "],
  [
    'A command{} holds this actuator; send with "hold", or release it first.',
    "有命令{1}保持着这个执行机构；请用 --hold 发送，或先用 release 放开。",
  ],
  ["of {}", "（{1}）"],
  ["It rests {} s from the end of one movement to the next.", "两次动作之间要休息 {1} 秒。"],
  ["It waits {} s before it goes the other way.", "反向之前要等 {1} 秒。"],
  ["It has made its {} starts within the last hour.", "最近一小时已启动 {1} 次，达到上限。"],
  ["{} It may go at {}.", "{1}{2} 可以执行。"],
  ["has no value", "没有数值"],
  [
    '{} has no good value ({}), so the guard "{}" holds. Until it is back, allowed: {}.',
    "{1} 没有可靠的数值（{2}），所以限制“{3}”有效。恢复之前允许：{4}。",
  ],
  ["{} {}, and the limit is {}", "{1} {2}，限值是 {3}"],
  ["{} {} again, not yet for long enough", "{1} 又{2}，时间还不够长"],
  ['The guard "{}" holds: {}. Allowed: {}.', "限制“{1}”有效：{2}。允许：{3}。"],
  ["that it does not move", "不在动作"],
  ["is {}", "为 {1}"],
  ['"for" and "hold" are for commands to actuators alone.', "--for 和 --hold 只用于执行机构的命令。"],
  ['"{}" ends something and takes no "for" and no "hold".', "“{1}”是结束命令，不带 --for 和 --hold。"],
  [
    '"for" needs a word that ends it: name it under limits.ends_with of this actuator in the configuration.',
    "--for 需要结束用的词：请在配置中这个执行机构的 limits.ends_with 写明。",
  ],
  [
    '"for" is longer than limits.at_most of this actuator, {}.',
    "--for 超过这个执行机构的 limits.at_most（{1}）。",
  ],
  ["The bridge is read-only, so no rule sends anything.", "网桥为只读，所以限制不发送任何内容。"],
  ["The platform cannot be reached.", "无法连接平台。"],
  ["The platform says that the controller is offline.", "平台说控制器离线。"],
  ['The guard "{}" sends {}: {}', "限制“{1}”要发送 {2}：{3}"],
  ['{} was to end "{}": {}', "“{2}”应以 {1} 结束：{3}"],
  ["It ended {}.", "结果为 {1}。"],
  ["It was not confirmed before the restart.", "重启之前没有确认。"],
  // Alarms and what to do about them.
  ["The platform's realtime host does not answer.", "平台的实时服务器没有回应。"],
  ["The platform refuses the credential of the bridge.", "平台拒绝网桥的凭据。"],
  ["The platform says that {} is offline.", "平台说 {1} 离线。"],
  ["Another bridge is connected for the same account.", "同一账号有另一个网桥连接。"],
  ["Late: {}.", "迟到：{1}。"],
  ["{} lines of the journal cannot be read.", "操作记录有 {1} 行无法读取。"],
  [
    "The data directory holds nothing of an earlier run, and the broker still shows {}: what was in force then is not any more.",
    "数据目录中没有以前的记录，而 MQTT 服务器仍显示 {1}：当时有效的现在无效了。",
  ],
  [
    "{} shows {}, and does not run: {} {} off for longer than {}.",
    "{1} 显示 {2}，但没有运行：{3} {4} 关闭超过 {5}。",
  ],
  [
    'The configuration has {} no more, where "{}" was to end with "{}" at {}: nothing ends it.',
    "配置中已没有 {1}，而那里的“{2}”应在 {4} 以“{3}”结束：没有程序会结束它。",
  ],
  [
    "The configuration has {}/{} no more, which {} has locked: that lock refuses nothing now.",
    "配置中已没有 {1}/{2}，它由 {3} 锁定：这个锁定现在不起作用。",
  ],
  ["by now, as the clock was set back", "现在（时钟被拨回）"],
  ["{} minutes ago", "{1} 分钟前"],
  [
    "{}/{} should have ended {}; {} is sent as soon as it may be, unless it shows that somebody moved it meanwhile.",
    "{1}/{2} 应在{3}结束；将尽快发送 {4}，除非显示期间有人动过它。",
  ],
  ["The lock of {} on {}/{} has run out.", "{1} 对 {2}/{3} 的锁定已到期。"],
  [
    "{}/{} went from {} to {} while the bridge was down: its plan ended by itself, or somebody ended it. Nothing is sent.",
    "网桥停止期间 {1}/{2} 从 {3} 变为 {4}：灌溉计划自己结束，或有人结束了它。不发送任何内容。",
  ],
  [
    "{}/{} went from {} to {} while the bridge was down: another user, a wall switch, or the controller's own protection. What was to end it is not sent.",
    "网桥停止期间 {1}/{2} 从 {3} 变为 {4}：其他用户、墙上的开关或控制器自己的保护。结束命令不再发送。",
  ],
  [
    "Check the sensor, its cable and whether its value still arrives; until it does the guard holds.",
    "请检查传感器、线缆和数值是否还在到达；在此之前限制一直有效。",
  ],
  [
    "Go and look: what the guard sends was not confirmed. Move the actuator by hand if need be.",
    "请到现场查看：限制发送的命令没有确认。必要时请手动操作。",
  ],
  [
    "Go and look: the actuator should have ended by now. Switch it off by hand if need be.",
    "请到现场查看：设备现在应已结束。必要时请手动关闭。",
  ],
  ["Look at the result of the newest command, and at the actuator.", "请看最近命令的结果和设备。"],
  [
    "Go and look: it was commanded on and does not run. Check its breaker, its contactor and its local switch.",
    "请到现场查看：已命令开启但没有运行。请检查断路器、接触器和就地开关。",
  ],
  [
    "Check the controller's network and whether its readings come on the platform.",
    "请检查控制器的网络，以及平台上是否有它的读数。",
  ],
  ["Check the controller's power and network.", "请检查控制器的电源和网络。"],
  [
    "Check the internet connection and the platform; nothing can be commanded until it answers.",
    "请检查网络连接和平台；在它回应之前无法操作。",
  ],
  ["Check the credential of the platform in the configuration.", "请检查配置中平台的凭据。"],
  [
    "Check the disk; no command but a stop is taken until the journal can be written.",
    "请检查磁盘；操作记录能写入之前只接受停止命令。",
  ],
  [
    "Stop one of the two bridges; nothing but a stop is sent meanwhile.",
    "请停掉两个网桥之一；期间只发送停止命令。",
  ],
  [
    "Guards begin as holding. Check locks, holds and running leases, and set again what is missing.",
    "限制从有效开始。请检查锁定、保持和限时，缺少的请重新设置。",
  ],
  [
    "Report the error with the log. Commands are refused until the bridge has run for 15 minutes or was stopped in order; guards and leases' ends are sent all the same.",
    "请附上日志报告错误。网桥运行满 15 分钟或正常停止之前拒绝命令；限制和限时的结束照样发送。",
  ],
  [
    "Check the network and what stands under notify; look at the page meanwhile, as messages are tried again and may be late.",
    "请检查网络和 notify 的设置；期间请看网页，消息会重试，可能迟到。",
  ],
  [
    "Raise the broker's packet limit (Mosquitto: max_packet_size; embedded: broker.limits.packet_size), or mirror fewer things of this controller: Sparkplug forbids to split a birth.",
    "请提高 MQTT 服务器的消息大小限制（Mosquitto：max_packet_size；内置：broker.limits.packet_size），或减少这个控制器的内容：Sparkplug 不允许拆分上线消息。",
  ],
  [
    "Give each bridge in the group its own sparkplug.node, or stop the other one.",
    "请给组内每个网桥自己的 sparkplug.node，或停掉另一个。",
  ],
  [
    "Many alarms at once have one cause more often than not: look at power, network and platform first.",
    "很多报警同时出现多半是同一个原因：请先看电源、网络和平台。",
  ],
  [
    "More than {} alarms came within 10 minutes; further ones are not told one by one.",
    "10 分钟内超过 {1} 条报警；其余不再逐条报告。",
  ],
  [
    "Look again in a few minutes: the bridge was started and has not judged it anew yet.",
    "请几分钟后再看：网桥刚启动，还没有重新判断。",
  ],
  ["Before the restart: {}", "重启之前：{1}"],
  // The journal and the data directory.
  [
    "the NATS servers of the cluster do not acknowledge it; check them and the network",
    "集群的 NATS 服务器没有确认；请检查它们和网络",
  ],
  ["another member of the cluster runs this account now", "现在由集群的另一成员运行该账号"],
  [
    "Check the NATS servers of the cluster and the network to them; no command is taken until they answer.",
    "请检查集群的 NATS 服务器和通往它们的网络；它们应答之前不接受命令。",
  ],
  ["The journal in {} cannot be written: {}.", "{1} 中的操作记录无法写入：{2}。"],
  ["The journal in {} cannot be read{}: {}.", "{1} 中的操作记录无法读取{2}：{3}。"],
  ["the disk quota is used up; free some space or raise the quota", "磁盘配额用完；请腾出空间或提高配额"],
  [
    "the disk is mounted read-only; a worn SD card does this too, check it and mount it read-write",
    "磁盘是只读的；SD 卡老化也会这样，请检查并重新以读写方式挂载",
  ],
  [
    "the bridge may not write there; give its user write permission to the directory",
    "网桥不能在那里写入；请给它的用户该目录的写权限",
  ],
  ["the disk reports input/output errors; replace the disk or SD card", "磁盘读写出错；请更换磁盘或 SD 卡"],
  [
    "the directory has gone; check that its disk is mounted, or put the directory back",
    "目录不见了；请检查磁盘是否已挂载，或把目录放回原处",
  ],
  [
    "the disk that it lies on is not mounted; mount it, or restart the bridge to begin anew in the folder that shows in its place",
    "它所在的磁盘没有挂载；请挂载该磁盘，或重启网桥，在露出来的文件夹里重新开始",
  ],
  [
    "a part of the path is a file, not a directory; move that file away or change data_dir",
    "路径中有一段是文件而不是目录；请移走该文件或修改 data_dir",
  ],
  [
    "a file is where the directory should be; move that file away or change data_dir",
    "应为目录的地方是文件；请移走该文件或修改 data_dir",
  ],
  [
    "too many files are open; raise the open-files limit of the bridge",
    "打开的文件太多；请提高网桥的文件数上限",
  ],
  ["too many files are open on this machine", "本机打开的文件太多"],
  ["the network disk has gone; check that it is mounted", "网络磁盘不见了；请检查是否已挂载"],
  [
    "another bridge works in the data directory; stop that one, then restart this one",
    "另一个网桥正在使用数据目录；请停掉它，再重启这个",
  ],
  [
    "the disk has not answered for a while; check the disk or SD card",
    "磁盘一段时间没有回应；请检查磁盘或 SD 卡",
  ],
  ["the bridge is shutting down", "网桥正在停止"],
  [
    "The data directory {} is in use by another bridge (process {}, since {}). Stop that one first, or give this one a data_dir of its own.",
    "数据目录 {1} 正被另一个网桥使用（进程 {2}，始于 {3}）。请先停掉它，或给这个网桥自己的 data_dir。",
  ],
  ["the lock {} keeps changing hands; try again", "锁文件 {1} 不断易手；请再试"],
  [
    "The data directory {} was written by a version before the first release (format {}; this one knows {}). Nothing in it was changed. Move it away, and the bridge begins with an empty one.",
    "数据目录 {1} 由首次发布之前的版本写入（格式 {2}；本版本的格式是 {3}）。其中没有任何改动。请把它移走，网桥会从空目录开始。",
  ],
  [
    "The data directory {} was written by a newer version of the program (format {}; this one knows up to {}). Start that version again, or put back the backup that was made before the upgrade.",
    "数据目录 {1} 由更新的版本写入（格式 {2}；此版本最多认识 {3}）。请重新使用那个版本，或恢复升级前的备份。",
  ],
  [
    "a part of the path is a file, not a directory; name the data directory of the bridge",
    "路径中有一段是文件而不是目录；请写网桥的数据目录",
  ],
  [
    "it may not be read; do this as the bridge's user, or give permission to read the directory",
    "没有读取权限；请用网桥的用户运行，或给予该目录的读权限",
  ],
  ["a symbolic link in the path leads to itself; correct that link", "路径中的符号链接指向自己；请更正"],
  [
    "a directory is where a file of the journal should be; move it away",
    "应为操作记录文件的地方是目录；请移走",
  ],
  ["the file was deleted", "文件被删除"],
  ["the file cannot be written", "文件无法写入"],
  ["at address {}", "在地址 {1}"],
  ["unknown reason", "原因未知"],
  ["error {}", "错误 {1}"],
  [
    'A command of {} holds this actuator; send with "hold", or release it first.',
    "{1} 的命令保持着这个执行机构；请用 --hold 发送，或先用 release 放开。",
  ],
  [
    '{} is locked by {}; ask there, or unlock with "force": true.',
    "{1} 由 {2} 锁定；请先问他，或加 --force 解锁。",
  ],
  [
    "{} is locked by {}; ask there, or unlock with --force.",
    "{1} 由 {2} 锁定；请先问他，或加 --force 解锁。",
  ],
  ['There is no field "{}" in this request. Known are: {}.', "这个请求没有字段“{1}”。可用的是：{2}。"],
  ['There is no log level "{}"; use one of {}.', "没有日志级别“{1}”；可用 {2}。"],
  [
    "No way is configured under notify.ways, so there is nobody to send a message to.",
    "notify.ways 中没有设置任何方式，所以没有可发送的对象。",
  ],
  [
    'There is no controller "{}"; bridge/controllers lists them.',
    "没有控制器“{1}”；bridge/controllers 列出已有的。",
  ],
  [
    'There is no controller "{}", nor a record of one; bridge/controllers lists them.',
    "没有控制器“{1}”，也没有它的记录；bridge/controllers 列出已有的。",
  ],
  [
    'There is no actuator "{}" at controller "{}"; leave "actuator" out to acknowledge all of it.',
    "控制器“{2}”没有执行机构“{1}”；去掉它则确认整个控制器。",
  ],
  ['There is no actuator "{}" at controller "{}"{}', "控制器“{2}”没有执行机构“{1}”{3}"],
  ['Nothing is locked there at controller "{}".', "控制器“{1}”那里没有锁定。"],
  ['Nothing is held there at controller "{}".', "控制器“{1}”那里没有保持。"],
  [
    "{} has locked this actuator{}; nothing passes until it is unlocked.",
    "{1} 锁定了这个执行机构{2}；解锁之前什么都不能通过。",
  ],
  [
    "{} has locked this actuator{}; only stop passes until it is unlocked.",
    "{1} 锁定了这个执行机构{2}；解锁之前只有 stop 可以通过。",
  ],
  ["actuator", "执行机构"],
  ["parameter", "参数"],
  [
    "The platform's answer about the controller could not be read, so nothing was sent. `greenhouse2mqtt doctor` says what to set.",
    "平台关于控制器的回答无法读取，所以没有发送。`greenhouse2mqtt doctor` 会说明怎样设置。",
  ],
  [
    "Go and look: whether heating, water and what else should act does, what stands open, and whether the sensor is right.",
    "请查看现场：加热、灌溉等是否正常，什么开着，以及传感器是否准确。",
  ],
  [
    "Go and look: whether vents, shade and fans are as they should be, and whether the sensor is right.",
    "请查看现场：天窗、遮阳、风机是否正常，以及传感器是否准确。",
  ],
];
