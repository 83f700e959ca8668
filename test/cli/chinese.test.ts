import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { inChinese, pairs } from "../../src/cli/chinese/chinese.js";
import { placeholders } from "../../src/cli/chinese/pair.js";
import { languageOf } from "../../src/cli/speech.js";
import { widthOf } from "../../src/runtime/text-table.js";
import { fileWith, greenhouse2mqtt } from "./in-process.js";

const source = join(import.meta.dirname, "..", "..", "src");

/** Where sentences stand that the command line shows; a folder stands for all files right in it. */
const spoken = [
  ...[
    "cli",
    "setup",
    "setup/doctor",
    "setup/init",
    "setup/discover",
    "settings",
    "config",
    "config/rules",
    "config/yaml",
  ],
  ...["limits", "limits/rules", "platform/answer.ts", "platform/requests.ts", "platform/operations.ts"],
  ...["platform/session/credential.ts", "platform/session/sign-in.ts", "platform/push/connection.ts"],
  ...["mqtt/connection/reasons.ts", "commands/endings.ts", "commands/intake.ts", "commands/payload.ts"],
  ...["commands/checks.ts", "commands/restore.ts", "greenhouse/command", "journal/journal.ts"],
  ...[
    "cluster/nats.ts",
    "cluster/inspect.ts",
    "fleet/status-file.ts",
    "journal/lock.ts",
    "journal/open.ts",
    "http/entrance.ts",
    "notify/send.ts",
    "notify/answers.ts",
    "notify/check.ts",
    "notify/section.ts",
    "notify/service.ts",
    "notify/services",
  ],
];

/** What goes into YAML, which is the user's file, and what the demo has in both languages. */
const written = [
  ...["setup/discover/controller-entry.ts", "setup/discover/findings.ts", "setup/discover/whole-file.ts"],
  ...["setup/init/answers.ts", "cli/storm.ts"],
];

/** What is no sentence, and what only the log or a program gets. */
const silent: readonly RegExp[] = [
  /^(?:greenhouse2mqtt|mosquitto_\w+|get-value) /,
  /^--?\w[\w-]*(?:, --\w+)? </,
  /^(?:broker|groups|scenes|sensors|http|homeassistant|polling|wind|rain|temperature|irradiance|settle|clear_after|stale_after): /,
  /^(?:left|right)_skylight: /,
  /^[\w{} ]*\{\} [→{]/,
  /^(?:Bearer|Basic|HTTP|WS|code|request|rule|lease|uid|doctor|retained) \{\}/,
  /^[\d\s{}.]+$/,
];
const unsaid: ReadonlySet<string> = new Set([
  ...[
    "simulated account",
    "All skylights",
    "larger than",
    "command line, user {}",
    "out of time",
    "not a folder",
    "no YAML",
  ],
  ...["greenhouse2mqtt answer 1", "written by greenhouse2mqtt doctor, can be deleted", "command has"],
  ...["commands have", "running status", "running statuses", "ahead of", "starting an account"],
  ...["read-only: every command is refused", "dry run: commands are checked, and nothing is sent"],
  ...["commands are taken and sent to the platform", "GH-0002: { ignore: true }"],
  ...["Configuration of greenhouse2mqtt", "whole number", "controllers of the {}", "values {}", "!secret {}"],
  ...['found by `doctor --watch` of greenhouse2mqtt {}, {}Z, "{}" was sent', "this computer:{}"],
  ...["{}{} in {}", "no commands", "that match", "this computer's clock is {} {} the platform's"],
  ...["{} actuator {}", "{} at the {} host ({}): {}", "connack timeout", "Keepalive timeout"],
  ...["command taken", "command ended", "(by {})", "what a rule asks for"],
  ...["{} is sent although it is not known to be in the journal"],
  ...["-----BEGIN NATS USER JWT-----", "the stream of the journal is not given whole"],
  ...["the account has stopped", "{} of {} accounts run", "application/json; charset=utf-8"],
]);

const filesAt = (place: string): readonly string[] =>
  place.endsWith(".ts")
    ? [place]
    : readdirSync(join(source, place)).flatMap((name) => (name.endsWith(".ts") ? [`${place}/${name}`] : []));

/** Two words at least. */
const isSentence = (text: string): boolean =>
  /[A-Za-z]{2,}[,;:]? [`"({]*[A-Za-z{<-]/.test(text.replaceAll("{}", "x1"));

const isLogging = (node: ts.Node): boolean =>
  ts.isCallExpression(node) &&
  /\blog\.(?:trace|debug|info|warn|error|fatal)$/.test(node.expression.getText());

/** A service has its Chinese beside its English. */
const isChineseTable = (node: ts.Node): boolean =>
  ts.isPropertyAssignment(node) && node.name.getText() === "chinese";

/** The sentences of a file, with `{}` for what is put in. */
function sentencesIn(file: string): readonly string[] {
  const text = readFileSync(join(source, file), "utf8");
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
  const found: string[] = [];
  const template = (node: ts.Node): string | null => {
    if (ts.isStringLiteralLike(node)) return node.text;
    if (ts.isParenthesizedExpression(node)) return template(node.expression);
    if (ts.isTemplateExpression(node))
      return [node.head.text, ...node.templateSpans.map(({ literal }) => `{}${literal.text}`)].join("");
    if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return null;
    const sides = [template(node.left), template(node.right)];
    return sides.every((side) => side === null) ? null : sides.map((side) => side ?? "{}").join("");
  };
  const inner = (node: ts.Node): void => {
    if (ts.isTemplateExpression(node)) for (const { expression } of node.templateSpans) visit(expression);
    else if (!ts.isStringLiteralLike(node))
      ts.forEachChild(node, (child) => (template(child) === null ? visit(child) : inner(child)));
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return;
    if (isLogging(node) || isChineseTable(node)) return;
    if (
      ts.isCallExpression(node) &&
      /^(?:required|optional|withDefault|named)$/.test(node.expression.getText())
    ) {
      node.arguments.slice(0, 1).forEach(visit);
      return;
    }
    const whole = template(node);
    if (whole === null) {
      ts.forEachChild(node, visit);
      return;
    }
    found.push(
      ...whole
        .replaceAll("{key}", "{}")
        .split("\n")
        .map((line) => line.trim())
        .filter(isSentence),
    );
    inner(node);
  };
  visit(tree);
  return found;
}

const known: ReadonlySet<string> = new Set(
  pairs.map(([english]) => english.replace(placeholders, "{}").trim()),
);

const isChinese = (text: string): boolean => /\p{Script=Han}/u.test(text);

describe("the command line in Chinese", () => {
  it.each(spoken)("has every sentence of src/%s", (place) => {
    const files = filesAt(place).filter((file) => !written.includes(file));
    const missing = files.flatMap((file) =>
      sentencesIn(file).filter(
        (one) => !known.has(one) && !unsaid.has(one) && !silent.some((pattern) => pattern.test(one)),
      ),
    );
    expect(missing).toEqual([]);
  });

  it("puts in what the English sentence puts in, but for what Chinese does not need", () => {
    const wrong = pairs.filter(([english, chinese]) => {
      const all = english.match(placeholders) ?? [];
      const wanted = all.flatMap((one, at) => (one === "{}" ? [`{${at + 1}}`] : []));
      const used = chinese.match(/\{\d+\}/g) ?? [];
      return String([...used].sort()) !== String([...wanted].sort());
    });
    expect(wrong).toEqual([]);
  });

  it("has one Chinese sentence for each English one", () => {
    const firsts = new Map<string, string>();
    const twice = pairs.filter(([english, chinese]) => {
      const first = firsts.get(english);
      firsts.set(english, first ?? chinese);
      return first !== undefined && first !== chinese;
    });
    expect(twice).toEqual([]);
  });

  it("takes a sentence for itself and for no other one", () => {
    const wrong = pairs.flatMap(([english, chinese]) => {
      if (!/\p{L}/u.test(english.replace(placeholders, ""))) return [];
      let number = 0;
      const filled = english.replace(placeholders, () => String(70 + (number += 1)));
      const expected = chinese.replace(/\{(\d+)\}/g, (_, at: string) => String(70 + Number(at)));
      const said = inChinese(filled);
      return said.trim() === expected.trim() ? [] : [[filled, said]];
    });
    expect(wrong).toEqual([]);
  });
});

it.each([
  [
    "c.yaml: polling costs 116 calls an hour of the budget of 18000, and each start 1 single-device status, spread over 5m; each controller that is not named here costs 72 more, and one at each start (`greenhouse2mqtt doctor` says the sum)",
    "c.yaml: 轮询每小时 116 次请求，上限 18000；每次启动另查 1 次单设备状态，分布在 5m 内；这里没有写的控制器每个再加 72 次，每次启动再加一次（`greenhouse2mqtt doctor` 会给出总数）",
  ],
  [
    "found 7 devices (3 cameras) in 1 station: 34 actuators, 29 parameters, 0 addresses of unknown meaning",
    "在 1 个站点中找到 7 个设备（3 个摄像头）：34 个执行机构，29 个参数，0 个地址含义未知",
  ],
  ["not there yet: 3 devices, 22 actuators", "还没有的：3 个设备，22 个执行机构"],
  [
    "18:22:22 GH-0001 address 310: 1010 → 1001, looks like a machine (on, off, automatic)",
    "18:22:22 GH-0001 地址 310：1010 → 1001，像是开关设备（开启、关闭、自动）",
  ],
  [
    "18:22:25 GH-0001 左天窗 (address 101): 10001 → 10010",
    "18:22:25 GH-0001 左天窗（地址 101）：10001 → 10010",
  ],
  [
    "- reads as expected: the degree 45, at +6 s, and to the end (+27 s)",
    "- 读数正常：开度 45，+6 秒 起直到最后（+27 秒）",
  ],
  [
    "platform online; broker online; 3 of 4 controllers online; 2 alarms, the worst: warning; read-only",
    "平台：在线；MQTT 服务器：在线；4 个控制器中 3 个在线；2 个报警，最严重的：警告；只读",
  ],
  [
    "not started, as its file has mistakes: west.yaml:1:1 platform: missing, expected a section of keys with values",
    "没有启动，因为文件有错误：west.yaml:1:1 platform: 缺少，应为含键和值的一节",
  ],
  ["heard 3 addresses of 1 controller", "收到 1 个控制器的 3 个地址"],
  [
    "running statuses are on or off (26 of 3 controllers tried)",
    "运行状态都是开或关（检查了 3 个控制器的 26 个状态）",
  ],
])("a sentence that is put together is Chinese to its end: %s", (english, chinese) => {
  expect(inChinese(english)).toBe(chinese);
});

describe("the language", () => {
  it.each([
    [{}, "en"],
    [{ LANG: "C.UTF-8" }, "en"],
    [{ LANG: "zh_CN.UTF-8" }, "zh"],
    [{ LANG: "zh-Hans" }, "zh"],
    [{ LANG: "zha_CN" }, "en"],
    [{ LANG: "zh_TW", LC_ALL: "en_GB.UTF-8" }, "en"],
    [{ LANG: "de_DE", LC_MESSAGES: "zh_CN" }, "zh"],
    [{ LANG: "zh_CN", LC_ALL: "" }, "zh"],
  ] as const)("of an environment with %j is %s", (env, language) => expect(languageOf(env)).toBe(language));

  const hosts = "platform: { business_url: 'https://b', realtime_url: 'https://r', token: t }\n";
  const zh = { LANG: "zh_CN.UTF-8" };

  it("of the configuration goes before that of the environment", async () => {
    const chinese = await greenhouse2mqtt(["check", await fileWith(`${hosts}language: zh\n`)]);
    expect(chinese.out).toMatch(/: 正常\n$/);
    const english = await greenhouse2mqtt(["check", await fileWith(`${hosts}language: en\n`)], { env: zh });
    expect(english.out).toMatch(/: ok\n$/);
  });

  it.each([
    [["nonsense"], /^没有命令“nonsense”；greenhouse2mqtt --help 列出所有命令\n$/],
    [["journal", "--limit", "0"], /^错误：选项 '--limit <n>' 的值 '0' 无效。应为 1 到 1000000 的整数\n/],
    [["check", "no-such.yaml"], /^发现 1 个问题\n$/],
    [
      ["set", "GH-0001", "roof", "open", "-c", "no-such.yaml"],
      /^no-such\.yaml: 没有这个文件；`greenhouse2mqtt init`/,
    ],
  ])("is that of what is wrong with %j", async (argv, said) => {
    const { err } = await greenhouse2mqtt(argv, { env: zh });
    expect(err).toMatch(said);
  });

  it("changes nothing of what programs read", async () => {
    const file = await fileWith(hosts);
    for (const argv of [["schema"], ["schema", "--example"], ["journal", "--json"], ["doctor", "--json"]]) {
      const call = [...argv, "-c", file, "--data-dir", `${file}.data`];
      const stop = AbortSignal.abort();
      const plain = (text: string) => text.replace(/"at": "[^"]*"/, "");
      const english = await greenhouse2mqtt(call, { stop });
      const chinese = await greenhouse2mqtt(call, { stop, env: zh });
      expect(plain(chinese.out)).toBe(plain(english.out));
    }
  });

  it("is that of every help, whose columns stay in line", async () => {
    const { out } = await greenhouse2mqtt(["--help"], { env: zh });
    const commands = [...out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = ""]) => name);
    expect(commands.length).toBeGreaterThan(20);
    for (const name of ["", ...commands.filter((one) => one !== "help")]) {
      const { out: help } = await greenhouse2mqtt([name, "--help"].filter(Boolean), { env: zh });
      const rows = [...help.matchAll(/^( {2}\S.*? {2,})(\S.*)$/gm)].filter(
        ([line]) => !line.includes("greenhouse2mqtt "),
      );
      expect(
        rows.filter(([, , text = ""]) => /[a-z]{3,} [a-z]{3,} [a-z]{3,}/.test(text) && !isChinese(text)),
      ).toEqual([]);
      const options = rows.filter(([line]) => /^ {2}-/.test(line));
      expect(new Set(options.map(([, term = ""]) => widthOf(term))).size).toBeLessThanOrEqual(1);
    }
  });
});

describe("a text of many parts", () => {
  it("is told in no time, known or not", () => {
    const codes = Array.from({ length: 300 }, (_, at) => `gh-${at}: a, b; c`).join(", ");
    expect(inChinese(`nobody knows this: ${codes}`)).toContain("gh-299");
  });
});
