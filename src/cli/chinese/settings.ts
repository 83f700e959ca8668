import type { Pair } from "./pair.js";

/** What `config` says, and the settings of the page. */
export const settingsPairs: readonly Pair[] = [
  [
    "one key of the configuration: show it, change it in your own text, or take it out",
    "配置中的一个键：显示、在您自己的文本中修改，或删除",
  ],
  ["get, set or unset", "get、set 或 unset"],
  [
    "such as controllers.GH-0001.name or http.users[0].role",
    "例如 controllers.GH-0001.name 或 http.users[0].role",
  ],
  [
    "with set: a text, or YAML such as [a, b]; - reads it from the input",
    "与 set 一起：文本，或 [a, b] 这样的 YAML；- 表示从输入读取",
  ],
  ["only show what would change in the file", "只显示文件中会有什么变化"],
  [
    "greenhouse2mqtt config set platform.token -   reads the value from the input, so that no other user sees it",
    "greenhouse2mqtt config set platform.token -   从输入读取，别的用户看不到",
  ],
  [
    '"{}" is no key; keys are written as in controllers.GH-0001.name or http.users[0].role',
    "“{1}”不是键；键的写法如 controllers.GH-0001.name 或 http.users[0].role",
  ],
  ["{} is no key of the configuration{}", "{1} 不是配置的键{2}"],
  ["{} is not set", "{1} 没有设置"],
  ["(the default; the file says nothing of it)", "（默认值；文件中没有写）"],
  ["config set needs a value behind the key", "config set 需要在键后面给出值"],
  ["config unset takes a key alone", "config unset 只需要键"],
  ["{} was changed by somebody else meanwhile; try again", "{1} 同时被别人修改了；请再试一次"],
  ["nothing changes", "没有变化"],
  ["in secrets.yaml: {}", "在 secrets.yaml 中：{1}"],
  ["saved; no bridge is running", "已保存；没有网桥在运行"],
  [
    "saved; the running bridge was not reached: send it a SIGHUP, or restart it",
    "已保存；没有联系到正在运行的网桥：请向它发送 SIGHUP，或重启它",
  ],
  ["saved, and taken up by the running bridge", "已保存，正在运行的网桥已采用"],
  ["saved, but the running bridge did not take it up: {}", "已保存，但正在运行的网桥没有采用：{1}"],
  [
    "you would be no admin any more, and could not take this back here; give that role to yourself, or have another admin do it",
    "您将不再是管理员，也无法在这里撤回；请把这个角色留给自己，或请另一位管理员来做",
  ],
  ["this password will not do: {}", "这个密码不行：{1}"],
  [
    "expected a text, a number, true or false, a list, or a section of them",
    "应为文本、数字、true 或 false、列表，或由它们组成的一节",
  ],
  ["{} cannot be written: {}", "无法写入 {1}：{2}"],
  [
    "this user may not write it; give the file and its folder to the user of the bridge, or copy the YAML into it by hand",
    "这个用户不能写入；请把文件和文件夹交给运行网桥的用户，或手动把 YAML 复制进去",
  ],
  [
    "it lies on a disk that is mounted read-only; copy the YAML into it by hand",
    "它在只读挂载的磁盘上；请手动把 YAML 复制进去",
  ],
  [
    "it is mounted by itself, as a single file of a container, which cannot be replaced; mount its folder, or copy the YAML into it by hand",
    "它作为单个文件挂载到容器中，无法替换；请挂载它的文件夹，或手动把 YAML 复制进去",
  ],
  ["the disk is full; nothing was changed", "磁盘已满；没有改动任何内容"],
  ["the disk is full for this user; nothing was changed", "这个用户的磁盘空间已满；没有改动任何内容"],
  ["the folder has gone; nothing was changed", "文件夹已不存在；没有改动任何内容"],
  ["the disk refused it ({}); nothing was changed", "磁盘拒绝了（{1}）；没有改动任何内容"],
  ["the file is not valid YAML, so nothing in it is changed", "文件不是有效的 YAML，因此不做任何改动"],
  [
    "anchors and aliases (&name, *name) share one value between places; write it out there first, as a change here could not be kept to this place",
    "锚点和别名（&name、*name）让多处共用一个值；请先在那里把值写出来，否则改动无法只限于这一处",
  ],
  ["{} stands for all of it; change it there", "{1} 代表整个部分；请在那里修改"],
  ['"{}" stands there twice; keep one of them', "“{1}”出现了两次；请只保留一个"],
  ["{} is no section in the file; change that first", "{1} 在文件中不是一节；请先修改它"],
  ["{} is no list in the file", "{1} 在文件中不是列表"],
  ["there is no list with a place [{}]; its next one is [0]", "没有位置 [{1}] 的列表；下一个是 [0]"],
  ["the list has 1 item, so its next one is [1]", "列表有 1 项，下一个是 [1]"],
  ["the list has {} items, so its next one is [{}]", "列表有 {1} 项，下一个是 [{2}]"],
  ["nothing stands there that could be added to", "那里没有可以添加内容的地方"],
  [
    "it stands on the line of a list's mark, with a remark behind it; take it out in an editor",
    "它与列表标记在同一行，后面还有注释；请在编辑器中删除",
  ],
  [
    "this place of the file is written in a way that cannot be changed safely; change it in an editor",
    "文件中这一处的写法无法安全修改；请在编辑器中修改",
  ],
  ["the bridge did not start by them{}", "网桥没有按它启动{1}"],
  ["the bridge did not start by them ({})", "网桥没有按它启动（{1}）"],
  ["no error is known", "没有已知的错误"],
  ["the page could not be opened at {}, port {}", "网页无法在 {1} 的端口 {2} 打开"],
  ["the platform refuses the credential", "平台拒绝凭据"],
  ["the platform is not reached any more", "不再能连接到平台"],
  ["Settings that were saved were taken back at {}: {}.", "{1} 保存的设置已撤回：{2}。"],
  [
    "The former configuration is in force again. The settings on the page show what was taken back; correct it and save it again.",
    "以前的配置重新生效。网页的“设置”显示撤回的内容；请更正后再保存。",
  ],
];
