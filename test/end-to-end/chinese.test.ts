import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import en from "../../locales/en.json" with { type: "json" };
import { outcomes, refusalReasons } from "../../src/greenhouse/command/outcomes.js";
import { timelineKinds } from "../../src/journal/timeline.js";
import { readOnlyOperations } from "../../src/platform/operations.js";
import { profileNames } from "../../src/simulator/dialects.js";
import { freePort } from "../support/mosquitto.js";
import { programFile } from "./support/program.js";
import { createStage, type Stage } from "./support/stage.js";

/* The command line in Chinese, at a terminal: no English but names, ids, values, commands and what a person typed. */

const chinese = { LC_ALL: "zh_CN.UTF-8" };

/** What a person sees at a terminal of 200 columns; `script` gives the program one. */
async function seen(stage: Stage, args: readonly string[], mostSeconds = 120): Promise<string> {
  const quoted = args.map((arg) => `'${arg}'`).join(" ");
  // A demo goes on for ever.
  const program = `timeout --signal INT ${mostSeconds} '${process.execPath}' '${programFile}' ${quoted}`;
  const command = `stty cols 200; exec ${program}`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    cwd: stage.folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: stage.folder, USER: "root", TERM: "dumb", ...chinese },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [all] = await Promise.all([text(child.stdout), once(child, "close")]);
  return all.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "").replaceAll("\r", "\n");
}

/** Words of closed lists, which are the same in every language. */
const ids = [
  ...[...refusalReasons, ...outcomes, ...timelineKinds, ...profileNames, ...Object.keys(en.checks)],
  ...readOnlyOperations.map(({ name }) => name),
  ...["configuration", "all", "default", "push", "sensors", "actuators", "status", "connect", "GET", "POST"],
  ...[
    "open",
    "close",
    "closed",
    "auto",
    "on",
    "off",
    "stop",
    "position",
    "activate",
    "sideways",
    "true",
    "false",
  ],
];
const listed = new RegExp(`(?<![\\w-])(?:${ids.join("|")})(?![\\w-])`, "g");

const allowed = [
  // What is quoted, and placeholders.
  /`[^`]*`|“[^”]*”|"[^"]*"|'[^']*'|<[^>]*>|\[[\w.]+\]/g,
  // Commands of ours, and switches.
  /(?<![\w/.-])greenhouse2mqtt(?![\w/.-])(?: [a-z]+)?|\b[a-z_]+: (?=true|false)/g,
  // Paths, keys, ids, topics, addresses, times and options: with a mark in them, or a digit.
  /\S*[\w-][./_:=@][\w./]\S*|\S*\w\/(?=\s)|(?<![\w-])--?[a-z][\w-]*|[\w-]*\d[\w:.-]*/g,
  // Names of products, protocols, files and formats, units, and who runs the program.
  /\b(?:Home Assistant|Node\.js|Node-RED|Sparkplug(?: B)?|systemd|root)\b/g,
  /\b(?:ntfy|Telegram|webhook|loopback|localhost|linux|x64|arm64|UTF|utf|id)\b/g,
  /\b(?:°C|ppm|klx|lx|mS|cm|kPa|MPa|Pa|mol|m|s|ms|min|h|V|W|GiB|MiB|KiB|kB)\b/g,
  /\b[A-Z]{2,}[a-z]?\b/g,
  listed,
];

/** What a program reads, though a person may see it: JSON, YAML and differences. */
const isForPrograms = (line: string): boolean =>
  /^\s*[{}[\]]|^[-+@ ]{1,3}[-+@\w "]|^\s*-? ?[\w."~/-]+:(?: |$)|^\s+- /.test(line);

/** Words of Latin letters that nothing allows, by line. */
export function english(said: string, mine: readonly string[] = []): readonly string[] {
  const own = new RegExp(`(?<![\\w-])(?:${[...mine, "-"].join("|")})(?![\\w-])`, "g");
  return said.split("\n").filter((line) => {
    const left = [...allowed, own].reduce((rest, pattern) => rest.replace(pattern, " · "), line);
    return /[A-Za-z]{2,}/.test(left);
  });
}

it("a sentence in English is found, and what is the same in every language is none", () => {
  expect(
    english("platform.token: 令牌在 config.yaml 的第 3 行（greenhouse2mqtt check）\n正常 12 °C"),
  ).toEqual([]);
  expect(english("已拒绝：the payload is not JSON")).toHaveLength(1);
});

const sections = `
commands: { min_interval: 0s }
notify: { language: zh, daily: { at: "07:00" }, ways: { me: { webhook: { url: "http://127.0.0.1:1/" } } } }
homeassistant: { language: zh }
weather: { wind: { topic: weather/wind, unit: m/s } }
groups: { vents: { members: [GH-0001/left_skylight, GH-0001/right_skylight] } }
scenes: { night: { commands: { GH-0001/right_skylight: close } } }
controllers:
  GH-0001:
    actuators:
      left_skylight:
        kind: skylight
        address: 101
        limits: { rest: 10s, guards: { wind: { sensor: weather/wind, above: 12, allow: [close, 0..10] } } }
      right_skylight: { kind: skylight, address: 103 }
      fan: { kind: circulation_fan, address: 113, read_only: true }
`;

const house = ["GH-0001", "right_skylight"] as const;

/** In their order, as a person would try them at a running bridge. */
const atBridge: readonly (readonly string[])[] = [
  ["check"],
  ["check", "--explain", "GH-0001/left_skylight"],
  ["set", ...house, "45"],
  ["set", ...house, "450"],
  ["set", ...house, "sideways"],
  ["set", ...house, "open", "--for", "1ms"],
  ["set", ...house, "open", "--dry-run"],
  ["set", "GH-0001", "left_skylight", "open"],
  ["set", "GH-0001", "fan", "on"],
  ["set", "GH-0001", "nothing", "on"],
  ["set", "GH-0009", "roof", "on"],
  ["set", "group", "vents", "open"],
  ["set", "group", "doors", "open"],
  ["set", "scene", "night", "activate"],
  ["lock", ...house, "--reason", "修理"],
  ["set", ...house, "close"],
  ["unlock", ...house],
  ["unlock", ...house],
  ["lock", "GH-0001", "nothing"],
  ["release", ...house],
  ["alarms"],
  ["journal", "--kind", "all"],
  ["journal", "--kind", "nonsense"],
  ["read", "GH-0001", "101"],
  ["read", "GH-0001", "999"],
  ["read", "GH-0009", "101"],
  ["history", "GH-0001"],
  ["get", "nonsense"],
  ["notify", "--daily", "--print"],
  ["notify", "--test"],
  ["config", "get", "polling.sensors"],
  ["config", "set", "polling.sensors", "soon"],
  ["config", "set", "--diff", "polling.sensors", "30s"],
  ["config", "set", "polling.sensors", "30s"],
  ["config", "unset", "polling.sensors"],
  ["config", "get", "polling.nonsense"],
  ["dashboard"],
  ["doctor"],
  ["discover", "-o", "found.yaml"],
  ["discover", "-o", "found.yaml"],
  ["cleanup"],
  ["backup", "saved.tar.gz"],
  ["backup", "saved.tar.gz"],
  ["restore", "saved.tar.gz"],
  ["restore", "missing.tar.gz"],
  ["passwd", "--nonsense"],
];

const withoutBridge: readonly (readonly string[])[] = [
  ["lock", "GH-0001"],
  ["alarms"],
  ["tags"],
  ["dashboard"],
  ["set", ...house, "close"],
  ["doctor"],
  ["check", "missing.yaml"],
  ["check", "bad.yaml"],
  ["run", "-c", "bad.yaml"],
  ["check", "wrong.yaml"],
  ["init", "--answers", "wrong-answers.yaml"],
  ["init", "--answers", "answers.yaml"],
  ["init", "--answers", "answers.yaml", "-c", "new/config.yaml"],
  ["fleet", "status"],
  ["demo", "--controllers", "2"],
  ["jurnal"],
  ["set", "GH-0001"],
  ["journal", "--limit", "none"],
  ["simulate", "--profile", "nonsense"],
];

/** Of these the document is for a program; what else is said is not. */
const printsYaml = new Set(["dashboard", "discover", "config", "notify"]);

const linesOf = (said: string, [command = ""]: readonly string[]): string =>
  said
    .split("\n")
    .filter((line) => !line.trimStart().startsWith("{") && !(printsYaml.has(command) && isForPrograms(line)))
    .join("\n");

it(
  "no command shows English to who reads Chinese, at a running bridge and without one",
  { timeout: 600_000 },
  async () => {
    const stage = await createStage();
    onTestFinished(() => stage.clear());
    const platform = await stage.platform({ controllers: 2 });
    const [broker, http] = [await freePort(), await freePort()];
    const hosts = `platform: { business_url: ${platform.url}, realtime_url: ${platform.url}, token: simulated, requests_per_minute: 0 }`;
    const own = `broker: { port: ${broker} }\nhttp: { port: ${http} }\ndata_dir: ./data`;
    await stage.write("config.yaml", `${hosts}\n${own}\n${sections}`);
    await stage.write("bad.yaml", "mqtt: [\n");
    await stage.write("wrong.yaml", `${hosts}\nmqtt: { ulr: x }\npolling: { sensors: soon }\n`);
    await stage.write("answers.yaml", `${hosts}\n`);
    await stage.write("wrong-answers.yaml", "nonsense: 1\n");
    const bridge = stage.program(["run"], { env: chinese });
    await bridge.untilPrinted(/"connected to/, 60_000).catch(() => undefined);
    const mine = ["wind", "weather", "vents", "night", "nonsense", "nothing", "roof", "fan", "me", "jurnal"];
    // Ids of the simulated house.
    mine.push(
      "skylight",
      "demo",
      "Ctrl-C",
      "air\\w+",
      "light",
      "soil\\w+",
      "dewpoint",
      "vpd",
      "par",
      "outtemp",
      "windspeed",
    );
    const found: Record<string, readonly string[]> = {};
    const look = async (args: readonly string[], where: string) => {
      const said = await seen(stage, args, args[0] === "demo" ? 20 : 120);
      const wrong = english(linesOf(said, args), mine);
      if (wrong.length > 0) found[`${args.join(" ")}, ${where}`] = wrong;
    };
    for (const args of atBridge) await look(args, "at a bridge");
    await bridge.end("SIGTERM");
    for (const args of withoutBridge) await look(args, "without one");
    expect(found).toEqual({});
  },
);
