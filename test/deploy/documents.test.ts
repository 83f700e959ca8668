import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { runProgram } from "../../src/cli/program.js";
import { formatProblem } from "../../src/config/problem.js";
import { actuatorKinds } from "../../src/greenhouse/actuator-kinds.js";
import { outcomes, refusalReasons } from "../../src/greenhouse/command/outcomes.js";
import { bridgeRequests, topicsUnder } from "../../src/mqtt/topics.js";
import { load } from "../config/loading.js";
import { inProject, textOf } from "./support/project.js";

/* What the documents beside the README say about the program is true for the program. */

const documents = [
  "docs/zh.md",
  "docs/threat-model.md",
  ...readdirSync(inProject("deploy"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => `deploy/${path}`),
];

const fencesOf = (text: string) =>
  [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = "", code = ""]) => ({
    language,
    code,
  }));
const spansOf = (text: string) =>
  [...text.replace(/^```[\s\S]*?^```$/gm, "").matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
const firstColumn = (text: string) =>
  [...text.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = ""]) => spansOf(cell));

/** What `--help` says; the options of one command, or the commands. */
async function help(...command: readonly string[]): Promise<string> {
  let text = "";
  const out = (more: string) => {
    text += more;
  };
  const stop = new AbortController().signal;
  const around = { env: {}, out, err: { write: () => true }, isTerminal: false, stop };
  await runProgram(["node", "greenhouse2mqtt", ...command, "--help"], around);
  return text;
}

describe.each(documents)("%s", (document) => {
  it("links to files that exist", async () => {
    const links = [...(await textOf(document)).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(
      ([, to = ""]) => to,
    );
    expect(links.filter((to) => !existsSync(inProject(join(dirname(document), to))))).toEqual([]);
  });

  it("calls the program only with commands and options that exist", async () => {
    const text = await textOf(document);
    const lines = [...fencesOf(text).map(({ code }) => code), ...spansOf(text)].join("\n").split("\n");
    const calls = lines
      // The user, its group and the service have the same name.
      .filter((line) => !/systemctl|useradd|journalctl/.test(line))
      .map((line) => line.replace(/-[ugo] greenhouse2mqtt\b/g, ""))
      .flatMap((line) => [...line.matchAll(/(?<![/-])\bgreenhouse2mqtt ([a-z]+)((?: [^|&;]*)?)/g)])
      .map(([, name = "", rest = ""]) => ({ name, options: rest.match(/(?<= )--[a-z-]+/g) ?? [] }));
    const [commands = ""] = (await help()).split("Every command takes");
    const strange: string[] = [];
    for (const { name, options } of calls) {
      if (!new RegExp(`^ {2}${name} `, "m").test(commands)) strange.push(name);
      const known = await help(name);
      strange.push(
        ...options.filter((option) => !known.includes(option)).map((option) => `${name} ${option}`),
      );
    }
    expect(strange).toEqual([]);
  });

  it("shows whole configurations that load without a problem or warning", async () => {
    const whole = fencesOf(await textOf(document)).filter(
      ({ language, code }) => language === "yaml" && /^platform:/m.test(code),
    );
    const env = {
      GREENHOUSE_TOKEN: "token-1",
      MQTT_URL: "mqtt://localhost",
      MQTT_USERNAME: "bridge",
      MQTT_PASSWORD: "p-1",
    };
    const secrets = "platform_token: token-1\nmqtt_password: p-1\n";
    for (const { code } of whole) {
      const result = await load(code, { env, secrets });
      expect((result.ok ? result.warnings : result.problems).map(formatProblem)).toEqual([]);
    }
  });
});

describe("docs/zh.md", () => {
  it("explains every outcome, and no outcome, reason or kind that does not exist", async () => {
    const text = await textOf("docs/zh.md");
    const [, results = ""] = text.split("\n## 命令的结果\n");
    const explained = firstColumn(results.split("\n## ")[0] ?? "");
    const [first, reason] = [explained.indexOf("outcome"), explained.indexOf("reason")];
    expect(explained.slice(first + 1, reason).sort()).toEqual([...outcomes].sort());
    const reasons: readonly string[] = refusalReasons;
    expect(explained.slice(reason + 1).filter((word) => !reasons.includes(word))).toEqual([]);
    const [, table = ""] = text.split("| `kind`");
    const kinds: readonly string[] = actuatorKinds;
    const listed = firstColumn(`| ${table.split("\n\n")[0] ?? ""}`).filter((word) =>
      /^[a-z_0-9]+$/.test(word),
    );
    expect(listed.length).toBeGreaterThan(10);
    expect(listed.filter((word) => !kinds.includes(word))).toEqual([]);
  });
});

describe("docs/scada.md", () => {
  it("lists only topics that the program spells", async () => {
    const topics = topicsUnder("greenhouse");
    const { request, response, ...bridge } = topics.bridge;
    const known = [
      ...Object.values(bridge),
      ...bridgeRequests.flatMap((name) => [request(name), response(name)]),
      ...[topics.controller("c"), topics.sensor("c", "s"), topics.status("c", "r")].flatMap(
        Object.values<string>,
      ),
      ...[topics.actuator("c", "a"), topics.parameter("c", "p")].flatMap(Object.values<string>),
    ];
    const listed = firstColumn(await textOf("docs/scada.md")).filter((one) => one.startsWith("greenhouse/"));
    expect(listed.length).toBeGreaterThan(8);
    expect(listed.filter((topic) => !known.includes(topic.replace(/<(\w)>/g, "$1")))).toEqual([]);
  });
});
