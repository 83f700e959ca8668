import type { Pair } from "./pair.js";

/** What `discover` and `doctor --watch` say beside the YAML that they print. */
export const discoverPairs: readonly Pair[] = [
  ["found {} ({}) in {}: {}, {}, {} of unknown meaning", "在 {3}中找到 {1}（{2}）：{4}，{5}，{6}含义未知"],
  ["{} cameras", "{1} 个摄像头"],
  ["1 camera", "1 个摄像头"],
  ["{} actuators", "{1} 个执行机构"],
  ["1 actuator", "1 个执行机构"],
  ["{} parameters", "{1} 个参数"],
  ["1 parameter", "1 个参数"],
  ["{} addresses", "{1} 个地址"],
  ["1 address", "1 个地址"],
  ["not connected", "未连接"],
  ["not every question answered", "有些问题没有回答"],
  ["and {} more", "另有 {1} 个"],
  [
    "{}: {}{}; run discover again later, it asks only for what is missing",
    "{1}：{2}{3}；请稍后再运行 discover，它只问缺少的",
  ],
  [
    "the progress of an earlier scan cannot be read, so all is asked: {}",
    "以前的扫描进度无法读取，所以全部重问：{1}",
  ],
  ["not there yet: {}, {}", "还没有的：{1}，{2}"],
  ["{} is not written out: set {} in the environment", "没有写出 {1}：请在环境中设置 {2}"],
  ["{} is kept in {} as {}", "{1} 保存在 {2}，名为 {3}"],
  [
    "name the controllers that matter with --controller, or fewer parameter groups with --types, and run discover again; nothing is asked twice, because what was learnt is kept",
    "请用 --controller 指定需要的控制器，或用 --types 减少类型，再运行 discover；已得到的会保留，不会重问",
  ],
  ["{} changed while it was read; try again", "{1} 在读取时被修改；请再试"],
  ["until you press Ctrl-C", "直到按 Ctrl-C"],
  ["for {}, or until you press Ctrl-C", "持续 {1}，或直到按 Ctrl-C"],
  [
    "listening {}; nothing is sent. Move one thing after the other in the vendor's app, and note which it was.",
    "正在监听，{1}；不发送任何内容。请在平台应用中逐个操作设备，并记下是哪一个。",
  ],
  ["ws/{} is not open: {}; it is tried again", "ws/{1} 没有打开：{2}；会再试"],
  ["address {}", "地址 {1}"],
  ["{} (address {})", "{1}（地址 {2}）"],
  ["{} address {}: {}, looks like {}", "{1} 地址 {2}：{3}，像是{4}"],
  ["{} {} (address {}): {}", "{1} {2}（地址 {3}）：{4}"],
  ["{}, looks like {}", "{1}，像是{2}"],
  ["{}, or {}", "{1}，或{2}"],
  ["a positioner (a window or a curtain)", "开度设备（窗或幕帘）"],
  ["a fan and wet curtain", "风机湿帘"],
  ["a machine (on, off, automatic)", "开关设备（开启、关闭、自动）"],
  ["an irrigation plan", "灌溉方案"],
  ["a motor", "电机"],
  ["a parameter", "参数"],
  [
    "a number from 0 to 100: the position_address of a positioner, or a parameter",
    " 0 到 100 的数：开度设备的 position_address，或参数",
  ],
  [
    "nothing that is known: kind: custom with its values, perhaps",
    "未知类型：也许是 kind: custom，加上它的 values",
  ],
  ["heard {} {-} of {} {-}", "收到 {3} 个控制器的 {1} 个地址"],
  [
    "no channel opened, so nothing could be heard; `doctor` says more (push.…)",
    "没有通道打开，所以什么也收不到；`doctor` 会说明（push.…）",
  ],
  [
    "nothing was heard: either nothing was moved meanwhile, or this platform does not push control parameters to this account",
    "什么也没收到：期间没有操作，或平台不向此账号推送控制参数",
  ],
  ["going on without a list: {}", "没有列表，继续：{1}"],
  [
    "the list of controllers is a page of a longer one, so devices may be missing here; platform.shapes.control/mqtt.params can ask for all of it, such as { pageSize: 500 }",
    "控制器列表只是较长列表的一页，可能缺少设备；可用 platform.shapes.control/mqtt.params 要求全部，例如 { pageSize: 500 }",
  ],
  [
    "the progress cannot be kept, an interruption would start over: {}",
    "进度无法保存，中断后要从头开始：{1}",
  ],
  [
    "the account has no controller {}; `greenhouse2mqtt get control/mqtt` lists them",
    "账号没有控制器 {1}；`greenhouse2mqtt get control/mqtt` 列出已有的",
  ],
  // doctor --record.
  ["there is no answer to save", "没有可保存的回答"],
  ["correct what failed above and try again", "请解决上面失败的项目再试"],
  ["{} cannot be written ({})", "{1} 无法写入（{2}）"],
  ["name a folder that can be written", "请写一个可写入的文件夹"],
  [
    "{} answers are in {}, with codes, names and tokens replaced; look through them before you pass them on",
    "{1} 个回答在 {2} 中，编号、名称和令牌已替换；交给别人之前请先看一遍",
  ],
  ["{}; no answer to {}", "{1}；{2} 没有回答"],
  ["these operations may need parameters the interface does not name", "这些操作可能需要接口没有规定的参数"],
  ["{} is not empty, and nothing there is overwritten", "{1} 不是空的，不会覆盖其中的内容"],
  ["name another folder", "请写另一个文件夹"],
  // doctor --watch.
  [
    'Now send "{}" to {}, once, in the vendor\'s app or with',
    "现在请发送“{1}”到 {2}，只发一次，用平台应用或",
  ],
  [
    "and look at the real thing. Nothing is sent from here. Ctrl-C ends the watch early.",
    "并到现场看设备。这里不发送任何内容。按 Ctrl-C 提前结束。",
  ],
  ["{} is not open: {}", "{1} 没有打开：{2}"],
  ["address {} gave no value at all", "地址 {1} 没有任何数值"],
  [
    "nothing changed at address {}: it read {} all the time. Either nothing was sent, or this is not its address",
    "地址 {1} 没有变化：一直是 {2}。没有发送，或这不是它的地址",
  ],
  ["reads as expected: {} means {} (at {}, and to the end)", "读数正常：{1} 表示 {2}（{3}，直到最后）"],
  [
    "{} was sent, and the address reads {}, which means {}: it was not taken, somebody moved it again, or this is not its address",
    "发送了 {1}，而地址显示 {2}，表示 {3}：没有被接受、有人又动过，或这不是它的地址",
  ],
  [
    "{} was sent, and get-value read {} from {} to the end ({})",
    "发送了 {1}，get-value 从 {3} 到最后（{4}）为 {2}",
  ],
  [
    "{} is not read as {} but as {}: without a setting each {} ends unconfirmed",
    "{1} 读到的不是 {2} 而是 {3}：不设置的话每次 {4} 都会未确认",
  ],
  ["what was sent", "所发送的"],
  ["at {}, and to the end ({})", "{1} 起直到最后（{2}）"],
  ["the address reads the mode {} after a degree, {}", "发送开度后地址显示模式 {1}，{2}"],
  ["reads as expected: {}", "读数正常：{1}"],
  [
    "{}: without a setting each position ends unconfirmed. If it stood still, its degree has another address",
    "{1}：不设置的话每次开度都会未确认。如果设备没有动，它的开度在别的地址",
  ],
  ["only if you saw it go there: {} was sent, and {}", "只有亲眼看到设备到位才设置：发送了 {1}，{2}"],
  ["only if you saw it do that: {}", "只有亲眼看到设备照做才设置：{1}"],
  ["{}, and address {} went to {}: the degree has that address", "{1}，而地址 {2} 变为 {3}：开度在那个地址"],
  [
    "a register that goes back to idle at once may have been missed: where you saw it move, set pulse: true",
    "立即回到空闲的寄存器可能没有看到：如果亲眼看到设备动了，请设置 pulse: true",
  ],
  [
    "the register showed {} at {} and went back to {}: it is a pulse, and without a setting each {} ends unconfirmed",
    "寄存器在 {2} 显示 {1}，然后回到 {3}：这是脉冲，没有设置时每次 {4} 都以 unconfirmed 结束",
  ],
  [
    "only if you saw it do that: {} was sent, and the register went back to {} at {}",
    "只有亲眼看到设备照做才写：发送了 {1}，寄存器在 {3} 回到 {2}",
  ],
  ["{} was sent, and {} went from {} to {} at {}", "发送了 {1}，{2} 在 {5} 从 {3} 变为 {4}"],
  [
    "its degree may have an address of its own: look at what its type lists (`greenhouse2mqtt discover`) and set position_address",
    "它的开度可能有自己的地址：请看该类型列出的地址（`greenhouse2mqtt discover`），并设置 position_address",
  ],
  [
    "its degree may have an address of its own: its type also lists {}, which belongs to nothing here; watch once more and move it in the vendor's app, which knows the address",
    "它的开度可能有自己的地址：该类型还列出 {1}，配置中没有使用；请再观察一次，并用平台应用移动设备，它知道地址",
  ],
  [
    "{} was sent, and the address reads {}, which may be anything: on its way, or of another thing. Check kind and address, and watch once more",
    "发送了 {1}，而地址显示 {2}，可能是任何东西：还在途中，或属于别的设备。请检查类型和地址，再观察一次",
  ],
  [
    "{} was sent and {} is read, and it stood at {} before: watch once more, from further away",
    "发送了 {1} 而读到 {2}，之前就在 {3}：请从更远的位置再观察一次",
  ],
  ["{} was sent, and {}", "发送了 {1}，{2}"],
  ["{} was sent, and the address reads {}, which is no degree", "发送了 {1}，而地址显示 {2}，不是开度"],
  ["reads as expected: the degree {}, {}", "读数正常：开度 {1}，{2}"],
  [
    "{} was sent, and the address reads {}: it did not arrive, or is not what was sent",
    "发送了 {1}，而地址显示 {2}：没有到位，或不是所发送的",
  ],
  [
    "{} was sent and {} is read: without a tolerance it ends unconfirmed",
    "发送了 {1} 而读到 {2}：不设 tolerance 就会未确认",
  ],
  ["{} was sent, and {} was read {}", "发送了 {1}，读到 {2}，{3}"],
  [
    "{} does not list address {}: the bridge reads it by itself; leave type_id out",
    "{1} 没有列出地址 {2}：网桥单独读取它；请去掉 type_id",
  ],
  [
    "the two reads differ and stay different: set-value/flush says {}, get-value {}, at the end ({}); leave type_id out, so that get-value counts",
    "两种读取一直不同：最后（{3}）set-value/flush 为 {1}，get-value 为 {2}；请去掉 type_id，以 get-value 为准",
  ],
  [
    "{}, which is neither on nor off: `running_status: { reads: { on: [...], off: [...] } }` says what it means",
    "{1}，既不是开也不是关：请用 `running_status: { reads: { on: [...], off: [...] } }` 说明含义",
  ],
  ["running statuses changed with it: {}", "随之变化的运行状态：{1}"],
  ["it moved for {} s, and a fifth was added", "它动作了 {1} 秒，另加五分之一"],
  ["it moved for {} s, and travel_time is {} s", "它动作了 {1} 秒，travel_time 为 {2} 秒"],
  ["{} told of it at {}", "{1} 在 {2} 推送了它"],
  [
    "neither channel told of it; polling does the same, only later",
    "两个通道都没有推送；轮询同样有效，只是慢一些",
  ],
  [
    "did the curtain {}? If it {} instead, write homeassistant: { inverted: true }",
    "幕帘是不是{1}了？如果是{2}，请写 homeassistant: { inverted: true }",
  ],
  ["spread out", "展开"],
  ["drew aside", "收拢"],
  ["draw aside", "收拢"],
  ["address {} was pushed meanwhile with {}, at {}", "期间推送了地址 {1} 为 {2}，在 {3}"],
];
