import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { runProgram } from "../src/cli/program.js";
import { formatProblem } from "../src/config/problem.js";
import { withReference } from "../src/config/reference.js";
import { outcomes, refusalReasons } from "../src/greenhouse/command/outcomes.js";
import { bridgeRequests, topicsUnder } from "../src/mqtt/topics.js";
import { load } from "./config/loading.js";

const project = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const readme = readFileSync(project("README.md"), "utf8");

/** The text below a heading, up to the next one of its level or above. */
function section(title: string): string {
  const [, level = ""] = new RegExp(`^(#+) ${title}$`, "m").exec(readme) ?? [];
  const [, below = ""] = readme.split(`\n${level} ${title}\n`);
  return below.split(new RegExp(`^#{1,${level.length}} `, "m"))[0] ?? "";
}

const codeSpans = (text: string) => [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
const fences = (text: string) => [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)];
const rows = (text: string) =>
  [...text.matchAll(/^\| (.*) \|$/gm)].map(([, cells = ""]) =>
    cells.split(/(?<!\\)\|/).map((cell) => cell.trim()),
  );
const firstColumn = (text: string) => rows(text).flatMap(([first = ""]) => codeSpans(first));

async function commandsOfProgram(): Promise<readonly string[]> {
  let help = "";
  const out = (text: string) => {
    help += text;
  };
  const stop = new AbortController().signal;
  const around = { env: {}, out, err: { write: () => true }, isTerminal: false, stop };
  await runProgram(["node", "greenhouse2mqtt", "--help"], around);
  const [list = ""] = help.split("Every command takes");
  return [...list.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = ""]) => name);
}

const commandsOf = (text: string) =>
  [...text.matchAll(/greenhouse2mqtt ([a-z]+)/g)].map(([, name = ""]) => name);

describe("README: configuration", () => {
  it("holds the table that the schema makes (npm run reference writes it anew)", () => {
    expect(readme).toContain("| `platform.business_url` |");
    expect(withReference(readme)).toBe(readme);
  });

  it("begins with an example that loads without a problem or warning", async () => {
    const [, , example = ""] = fences(section("Configuration"))[0] ?? [];
    const result = await load(example, { env: { GREENHOUSE_TOKEN: "token-of-the-account" } });
    expect((result.ok ? result.warnings : result.problems).map(formatProblem)).toEqual([]);
    expect(result.ok).toBe(true);
  });
});

describe("README: commands of the program", () => {
  it("names only commands that exist", async () => {
    const fenced = fences(readme).flatMap(([, language, text = ""]) =>
      language === "" ? commandsOf(text) : [],
    );
    const inline = codeSpans(readme.replace(/^```[\s\S]*?^```$/gm, "")).flatMap(commandsOf);
    expect(inline.length).toBeGreaterThan(0);
    expect(fenced.length).toBeGreaterThan(0);
    const known = await commandsOfProgram();
    expect([...fenced, ...inline].filter((name) => !known.includes(name))).toEqual([]);
  });

  it("names every command that exists", async () => {
    const words = new Set(codeSpans(readme).flatMap((span) => commandsOf(span)));
    if (readme.includes("npm run demo")) words.add("demo");
    for (const [, , text = ""] of fences(readme)) for (const name of commandsOf(text)) words.add(name);
    const unnamed = (await commandsOfProgram()).filter((name) => name !== "help" && !words.has(name));
    expect(unnamed).toEqual([]);
  });

  it("does not call missing what exists", async () => {
    const missing = codeSpans(section("Not there yet"));
    expect((await commandsOfProgram()).filter((name) => missing.includes(name))).toEqual([]);
  });
});

describe("README: topics", () => {
  const base = "greenhouse";
  const marks: Readonly<Record<string, string>> = { base, c: "c", s: "s", r: "r", a: "a", p: "p", n: "n" };
  const spelt = (topic: string) => topic.replace(/<(\w+)>/g, (mark, name: string) => marks[name] ?? mark);

  const topics = topicsUnder(base);
  const { request, response, ...bridge } = topics.bridge;
  const requests = (spell: (name: string) => string) =>
    bridgeRequests.map((name) => spell(name).replace(new RegExp(`${name}$`), "<name>"));
  const known = new Set([
    ...Object.values(bridge),
    ...requests(request),
    ...requests(response),
    ...[topics.controller("c"), topics.sensor("c", "s"), topics.status("c", "r")].flatMap(
      Object.values<string>,
    ),
    ...[topics.actuator("c", "a"), topics.parameter("c", "p"), topics.address("c", "n")].flatMap(
      Object.values<string>,
    ),
  ]);
  it("lists the topics that topics.ts spells", () => {
    const listed = firstColumn(section("Topics")).map(spelt);
    expect([...listed].sort()).toEqual([...known].sort());
  });

  it("lists every request", () => {
    expect(firstColumn(section("Operations"))).toEqual(expect.arrayContaining([...bridgeRequests]));
  });
});

describe("README: results", () => {
  it("explains every outcome and every reason of a refusal, and no other", () => {
    const explained = firstColumn(section("Commands and results")).filter((word) => /^[a-z_]+$/.test(word));
    const kinds = ["skylight", "side_vent", "circulation_fan", "co2_supply", "light", "fan_wet_curtain"];
    const others = [...kinds, "irrigation", "motor", "custom"];
    expect(explained.filter((word) => !others.includes(word)).sort()).toEqual(
      [...outcomes, ...refusalReasons].sort(),
    );
  });
});

describe("README: how it works", () => {
  const table = rows(section("How it works")).filter(([folder = ""]) => folder.startsWith("`"));
  const folders = table.map(([folder = ""]) => folder.replaceAll("`", ""));

  /** Folders of ours and packages that the sources below a folder import. */
  function imports(folder: string): { ours: Set<string>; packages: Set<string> } {
    const ours = new Set<string>();
    const packages = new Set<string>();
    for (const file of readdirSync(project(`src/${folder}`), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts")) continue;
      const path = project(`src/${folder}/${file}`);
      for (const [, target = ""] of readFileSync(path, "utf8").matchAll(/(?:from |import\()"([^"]+)"/g)) {
        if (target.startsWith(".")) {
          const from = new URL(target, `file:///${folder}/${file}`).pathname.split("/")[1] ?? "";
          if (from !== folder) ours.add(from);
        } else if (!target.startsWith("node:")) packages.add(target.split("/")[0] ?? "");
      }
    }
    return { ours, packages };
  }

  it("has a row for every folder of src", () => {
    const inSource = readdirSync(project("src"), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    expect([...folders].sort()).toEqual(inSource.map(({ name }) => name).sort());
  });

  it.each(table)("tells what %s may import", (folder = "", _, ours = "", packages = "") => {
    const name = folder.replaceAll("`", "");
    const above = ours.startsWith("all")
      ? folders.filter((other) => !codeSpans(ours).includes(other))
      : codeSpans(ours);
    const found = imports(name);
    expect([...found.ours].filter((other) => !above.includes(other))).toEqual([]);
    expect([...found.packages].filter((other) => !codeSpans(packages).includes(other))).toEqual([]);
  });

  it("points at files that exist", () => {
    const links = [...readme.matchAll(/\]\((?!#|https?:)([^)#]+)/g)].map(([, path = ""]) => path);
    const sources = codeSpans(readme).filter((span) => /^(?:src|test|docs)\/[\w./-]+$/.test(span));
    expect(links.length).toBeGreaterThan(0);
    expect([...links, ...sources].filter((path) => !existsSync(project(path)))).toEqual([]);
  });
});
