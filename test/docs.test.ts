import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { runProgram } from "../src/cli/program.js";
import { loadFleet } from "../src/config/fleet.js";
import { formatProblem } from "../src/settings/problem.js";
import { referenceTable } from "./config/support/reference.js";
import { actuatorKinds } from "../src/greenhouse/actuator-kinds.js";
import { alarmTitles } from "../src/greenhouse/alarms.js";
import type { AlarmType } from "../src/greenhouse/limits.js";
import { alarmTitle } from "../src/greenhouse/wording.js";
import { inChinese } from "./support/chinese.js";
import { outcomes, refusalReasons } from "../src/greenhouse/command/outcomes.js";
import { bridgeEventTypes } from "../src/greenhouse/events.js";
import { serviceNames } from "../src/notify/services.js";
import { bridgeRequests, topicsUnder } from "../src/mqtt/topics.js";
import { load, notifySecrets } from "./config/loading.js";
import { plantedBugs } from "./planted/bugs.js";

/*
 * What README, CONTRIBUTING and the pages name exists: links, command lines, topics, keys, words. Each page is a row.
 */

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");
const filesBelow = (folder: string, end: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(end))
    .map((path) => `${folder}/${path}`)
    .sort();

const pages = [
  ...["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"],
  ...[...filesBelow("docs", ".md"), ...filesBelow("deploy", ".md")],
];
/** Where the Chinese of a page stands, if it has any; of a folder in `deploy` beside the other pages. */
const chineseOf = (page: string) =>
  page
    .replace(/^docs\/(?!zh\/)/, "docs/zh/")
    .replace(/^deploy\/README\.md$/, "docs/zh/deploy.md")
    .replace(/^deploy\/prometheus\/(figures\.md)$/, "docs/zh/deploy/$1")
    .replace(/^deploy\/([a-z-]+)\/README\.md$/, "docs/zh/deploy/$1.md");
/** Pages for maintainers, which no package has. */
const isInside = (page: string) => page.startsWith("docs/inside/") || page === "CONTRIBUTING.md";

interface Fence {
  readonly language: string;
  readonly code: string;
}

const fencePattern = /^( *)```(\w*)\n([\s\S]*?)^ *```$/gm;
const fencesOf = (text: string): Fence[] =>
  [...text.matchAll(fencePattern)].map(([, , language = "", code = ""]) => ({ language, code }));
const prose = (text: string) => text.replace(fencePattern, "");
const spansOf = (text: string) =>
  [...prose(text).matchAll(/`([^`\n]+(?:\n[^`\n]+)?)`/g)].map(([, code = ""]) => code.replace(/\n\s*/g, " "));
const codeOf = (page: string) => [
  ...fencesOf(read(page)).flatMap(({ code }) => code.split("\n")),
  ...spansOf(read(page)),
];
const rows = (text: string) =>
  [...text.matchAll(/^\| (.*) \|$/gm)].map(([, cells = ""]) =>
    cells.split(/(?<!\\)\|/).map((cell) => cell.trim()),
  );
const firstColumn = (text: string) => rows(text).flatMap(([first = ""]) => spansOf(first));

/** The text below a heading, up to the next one of its level or above. */
function section(page: string, title: string): string {
  const text = read(page);
  const [whole = "", level = ""] = new RegExp(`^(#+) ${title}$`, "m").exec(text) ?? [];
  expect(whole, `${page} has a heading "${title}"`).not.toBe("");
  const below = text.slice(text.indexOf(whole) + whole.length);
  return below.split(new RegExp(`^#{1,${level.length}} `, "m"))[0] ?? "";
}

describe("links", () => {
  const anchors = (page: string) =>
    [...prose(read(page)).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replace(/\s/g, "-"),
    );

  it.each(pages)("of %s lead to files and headings that exist", (page) => {
    const text = prose(read(page)).replace(/`[^`\n]*`/g, "");
    const broken = [...text.matchAll(/\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].filter(
      ([, path = "", anchor]) => {
        const target = path === "" ? page : relative(root, join(root, dirname(page), path));
        if (!existsSync(join(root, target))) return true;
        return (
          anchor !== undefined &&
          (statSync(join(root, target)).isDirectory() || !anchors(target).includes(anchor))
        );
      },
    );
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it.each(pages)("of pictures in %s lead to pictures that exist", (page) => {
    const sources = [...read(page).matchAll(/<img src="([^"]+)"|!\[[^\]]*\]\(([^)]+)\)/g)].map(
      ([, source, target]) => source ?? target ?? "",
    );
    expect(sources.filter((path) => !existsSync(join(root, dirname(page), path)))).toEqual([]);
  });

  it("of pictures lead to each picture that is kept", () => {
    const shown = [...pages, "build/site/.vitepress/config.mjs"].map(read).join("\n");
    expect(readdirSync(join(root, "docs/pictures")).filter((name) => !shown.includes(`/${name}`))).toEqual(
      [],
    );
  });

  it("of pictures in Chinese pages lead to Chinese ones", () => {
    const foreign = pages
      .filter((page) => page.startsWith("docs/zh/"))
      .flatMap((page) => read(page).match(/pictures\/[\w-]+(?=\.(?:png|svg))/g) ?? [])
      .filter((picture) => !picture.endsWith("-zh"));
    expect(foreign).toEqual([]);
  });

  it("lead from the Chinese front page to every Chinese page", () => {
    const linkedIn = (page: string) =>
      [...read(page).matchAll(/\]\(([^)#]+)/g)].map(([, path = ""]) => `docs/zh/${path}`);
    const linked = ["README", "configuration", "deploy"].flatMap((name) => linkedIn(`docs/zh/${name}.md`));
    const unlinked = pages.filter((page) => page.startsWith("docs/zh/") && !linked.includes(page));
    expect(unlinked).toEqual(["docs/zh/README.md"]);
  });

  it("of Chinese pages lead to a Chinese page where there is one", () => {
    const foreign = pages
      .filter((page) => page.startsWith("docs/zh/"))
      .flatMap((page) =>
        [...prose(read(page)).matchAll(/\]\(([^)#:]+\.md)/g)]
          .map(([, path = ""]) => join(dirname(page), path))
          .filter((target) => chineseOf(target) !== target && pages.includes(chineseOf(target)))
          .map((target) => `${page}: ${target}`),
      );
    expect(foreign).toEqual([]);
  });

  const linkedFrom = (page: string) => [...read(page).matchAll(/\]\(([^)#]+)/g)].map(([, path = ""]) => path);

  /** Every page that links lead to, from one page on. */
  const reachedFrom = (start: string): ReadonlySet<string> => {
    const reached = new Set([start]);
    for (const page of reached)
      for (const path of linkedFrom(page)) {
        const target = join(dirname(page), path);
        if (pages.includes(target)) reached.add(target);
      }
    return reached;
  };

  it("lead from README to every page for users, over others or not", () => {
    const reached = reachedFrom("README.md");
    expect(pages.filter((page) => !isInside(page) && !reached.has(page))).toEqual([]);
  });

  it("lead from CONTRIBUTING to every page for maintainers", () =>
    expect(
      pages.filter(
        (page) => page.startsWith("docs/inside/") && !linkedFrom("CONTRIBUTING.md").includes(page),
      ),
    ).toEqual([]));

  it.each(pages.filter((page) => !isInside(page)))("of %s lead to no page that packages lack", (page) =>
    expect(linkedFrom(page).filter((path) => path.includes("inside/"))).toEqual([]),
  );
});

/** What `--help` says of the program, or of one of its commands. */
async function help(...command: readonly string[]): Promise<string> {
  let text = "";
  const out = (more: string) => {
    text += more;
  };
  const around = {
    ...{ env: {}, out, err: { write: () => true }, isTerminal: false },
    stop: new AbortController().signal,
  };
  await runProgram(["node", "greenhouse2mqtt", ...command, "--help"], around);
  return text;
}

describe("command lines", async () => {
  const [groups = ""] = (await help()).split("Every command takes");
  const commands = [...groups.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = ""]) => name);
  const helps = new Map<string, string>([["", await help()]]);
  for (const name of commands) helps.set(name, await help(name));
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };

  /** Calls of the program, without the places where a user, a group or a service has the same name. */
  const callsIn = (page: string) =>
    codeOf(page)
      .filter((line) => !/systemctl|useradd|journalctl|mkdir|install -d/.test(line))
      .map((line) => line.replace(/-[ugo] greenhouse2mqtt\b/g, ""))
      .flatMap((line) => [
        ...line.matchAll(
          /(?<![/\w-])(?:greenhouse2mqtt|node dist\/main\.js|npm run demo --)((?: (?:[^|&;#→]*))?)/g,
        ),
      ])
      .map(([call, rest = ""]) => {
        const words = `${call.startsWith("npm") ? " demo" : ""}${rest}`.trim().split(/\s+/);
        const name = /^[a-z]+$/.test(words[0] ?? "") ? (words[0] ?? "") : "";
        return { name, options: words.filter((word) => /^--?[a-z][a-z-]*$/.test(word)) };
      });

  it("of the program are looked at", () => {
    const named = new Set(pages.flatMap((page) => callsIn(page).map(({ name }) => name)));
    expect(commands.filter((name) => name !== "help" && !named.has(name))).toEqual([]);
  });

  it.each(pages)("in %s name commands and options that exist", (page) => {
    const wrong = callsIn(page).flatMap(({ name, options }) => {
      const text = helps.get(name);
      if (text === undefined) return [name];
      const offered = text.split("\n").filter((line) => /^(?: {2}-|\()/.test(line));
      const known = new Set(offered.flatMap((line) => line.match(/(?<![\w-])--?[a-z][a-z-]*/gi) ?? []));
      return options.filter((option) => !known.has(option)).map((option) => `${name} ${option}`);
    });
    expect(wrong).toEqual([]);
  });

  it.each(pages)("in %s name scripts of package.json", (page) => {
    const named = codeOf(page).flatMap((line) => [
      ...[...line.matchAll(/\bnpm run (?:--silent )?([\w:-]+)/g)].map(([, name = ""]) => name),
      ...(/\bnpm test\b/.test(line) ? ["test"] : []),
    ]);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });

  it.each(["README.md", "CONTRIBUTING.md"])("in %s set the project up and test it", (page) =>
    expect(codeOf(page)).toEqual(expect.arrayContaining(["npm ci", "npm test"])),
  );
});

describe("topics", () => {
  const tree = topicsUnder("greenhouse");
  const { request, response, answers, ...bridge } = tree.bridge;
  const own = [
    ...Object.values<string>(bridge),
    ...[request("n"), response("n")].map((topic) => topic.replace(/n$/, "<name>")),
    ...[tree.controller("c"), tree.sensor("c", "s"), tree.status("c", "r"), tree.actuator("c", "a")].flatMap(
      Object.values<string>,
    ),
    ...[tree.parameter("c", "p"), tree.address("c", "n")].flatMap(Object.values<string>),
    ...[tree.group("g"), tree.scene("s")].flatMap(Object.values<string>),
    tree.alarm("id").replace(/id$/, "<id>"),
  ];
  const marked = own.map((topic) => topic.replace(/(?<=\/)[csrapng](?=\/|$)/g, "<$&>"));
  const known = [
    ...marked,
    ...[answers, `${answers}/<name>`, "homeassistant/status", "homeassistant/device/<id>/config"],
  ].map((topic) => topic.split("/"));

  const isPlaceholder = (level: string) => /^<.*>$/.test(level);
  const fits = (named: string, level: string | undefined) =>
    level !== undefined &&
    (named === level ||
      named === "+" ||
      named === "…" ||
      (isPlaceholder(level) && /^(?:<\w+>|[a-z0-9_-]+)$/.test(named)));
  /** Whether a topic or filter, or with `…` in front the end of one, is in the tree. */
  const exists = (named: readonly string[], topic: readonly string[]): boolean => {
    const [first, ...rest] = named;
    if (first === "#") return true;
    // What follows `…` is spelt as in the tree; an id would fit any end.
    if (first === "…" && rest.length > 0)
      return topic.some((level, index) => level === rest[0] && exists(rest, topic.slice(index)));
    if (first === undefined) return topic.length === 0;
    return fits(first, topic[0]) && exists(rest, topic.slice(1));
  };
  const whole = (named: string): string[] => {
    const topic = named.replace(/\.\.\.(?=\/)/, "…").replace(/^<base>|^\+(?=\/bridge)/, "greenhouse");
    return (/^(?:bridge|<c>|\+)\//.test(topic) ? `greenhouse/${topic}` : topic).split("/");
  };
  const pattern =
    /(?<![\w/.@-])(?:greenhouse|homeassistant|<base>|…|\.\.\.|bridge|<c>)(?:\/(?:<\w+>|\{[\w,]+\}|[\w+#…-]+))+(?![\w./])/g;
  const namedIn = (page: string) => [
    ...new Set(codeOf(page).flatMap((line) => [...line.matchAll(pattern)].map(([topic]) => topic))),
  ];

  it.each(pages)("named in %s are in the tree", (page) => {
    const strange = namedIn(page).filter((named) => !known.some((topic) => exists(whole(named), topic)));
    expect(strange).toEqual([]);
  });

  it("are all in docs/topics.md", () => {
    const listed = firstColumn(read("docs/topics.md")).filter((one) => one.startsWith("<base>"));
    expect(listed.sort()).toEqual(
      [...marked, answers].map((one) => one.replace("greenhouse", "<base>")).sort(),
    );
  });
});

describe("configuration", () => {
  const keys = [...referenceTable().matchAll(/^\| `([^`]+)`/gm)].map(([, path = ""]) => path);
  const sections = new Set(keys.map((path) => path.split(/[.[]/)[0] ?? ""));
  const exact = new Set(keys.map((path) => path.replace(/<\w+>|\[\]/g, "*")));
  const isKey = (named: string): boolean => {
    const [head = "", ...rest] = named.split(".");
    const tries = rest.reduce<string[]>(
      (paths, part) => paths.flatMap((path) => [`${path}.${part}`, `${path}.*`, `${path}*.${part}`]),
      [head],
    );
    return tries.some((path) => exact.has(path));
  };
  const paths = (page: string) =>
    spansOf(read(page))
      .map((span) => /^([a-z_]+(?:\.[\w<>-]+)+)(?::.*)?$/.exec(span)?.[1] ?? "")
      .filter((path) => sections.has(path.split(".")[0] ?? "") && !/\.(?:json|yaml|md|ts|local)$/.test(path));

  it.each(pages)("keys with their path in %s exist", (page) =>
    expect(paths(page).filter((path) => !isKey(path))).toEqual([]),
  );

  const env = {
    ...{
      GREENHOUSE_TOKEN: "t-1",
      MQTT_URL: "mqtt://localhost",
      MQTT_USERNAME: "bridge",
      MQTT_PASSWORD: "p-1",
    },
  };
  const names = ["platform_token", "platform_password", "mqtt_password", "http_token"];
  const hash = "scrypt:15:8:1:24ReGaklfabWVCWSPYsyQg:neENzhWDEdeRe4ULlQ0YUD6kVuD5tPwBLLRkObKf4tY";
  const hashes = ["homeassistant", "anna", "ben"].map((name) => `${name}: ${hash}`);
  const secrets = `${[...names.map((name) => `${name}: secret-of-the-test-1`), ...hashes, notifySecrets].join("\n")}\n`;
  /** A part of a configuration with the hosts and the token that a whole one needs. */
  const completed = (code: string): string => {
    const hosts =
      "\n  business_url: https://b.example.com\n  realtime_url: https://r.example.com\n  token: t-1";
    if (/^ {2}business_url:/m.test(code)) return code;
    return /^platform:$/m.test(code)
      ? code.replace(/^platform:$/m, `$&${hosts}`)
      : `platform:${hosts}\n${code}`;
  };
  const blocks = pages.flatMap((page) =>
    fencesOf(read(page))
      .filter(({ language }) => language === "yaml")
      .map(({ code }, index) => ({ name: `block ${index + 1} of ${page}`, code })),
  );
  const foreign = ["scrape_configs", "automation", "platform_token", "mqtt_password", "anna"];

  /** What is wrong with the file of a fleet that has two accounts. */
  async function fleetProblems(code: string): Promise<readonly string[]> {
    const folder = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-docs-"));
    const account = (token: string) => completed("").replace("t-1", token);
    await mkdir(join(folder, "accounts"));
    await writeFile(join(folder, "fleet.yaml"), code, { mode: 0o600 });
    await writeFile(join(folder, "secrets.yaml"), secrets, { mode: 0o600 });
    for (const name of ["north", "east"])
      await writeFile(join(folder, "accounts", `${name}.yaml`), account(name));
    const { problems } = await loadFleet(join(folder, "fleet.yaml"), { env });
    await rm(folder, { recursive: true });
    return problems.map(formatProblem);
  }

  it.each(blocks)("$name loads without a problem or warning", async ({ code }) => {
    const top = Object.keys(parse(code.replace(/!(?:env|secret) /g, "")) as object);
    if (top.every((key) => foreign.includes(key))) return;
    if (top.includes("accounts")) {
      expect(await fleetProblems(code)).toEqual([]);
      return;
    }
    const result = await load(completed(code), { env, secrets });
    const told = result.ok ? result.warnings : result.problems;
    // The token of a part is not kept in a file of its own; that a polled value may be old is said beside the example.
    const isTold = (line: string) => !/platform\.token|polling costs|this value may be \w+ old/.test(line);
    expect(told.map(formatProblem).filter(isTold)).toEqual([]);
  });

  it("begins with an example, and each section has one", () => {
    const of = (page: string) => blocks.filter(({ name }) => name.endsWith(page)).length;
    expect(of("docs/configuration.md")).toBeGreaterThan(4);
    const sections = filesBelow("docs", ".md").filter((page) => page.includes("/configuration/"));
    expect(new Set(sections.map(of))).toEqual(new Set([1]));
  });
});

describe("words", () => {
  const sources = [...filesBelow("src", ".ts"), ...filesBelow("deploy", ".yaml"), "package.json"];
  /** Of other programs, and of an expression that stands as an example. */
  const others = [
    "mosquitto_passwd",
    "set_tcp_nodelay",
    "addon_configs",
    "bridge_state",
    "tcp_orphan_retries",
    "tcp_retries2",
    "proxy_pass",
  ];
  const planted = Object.keys(plantedBugs);
  const said = new Set([
    ...others,
    ...planted,
    ...sources.flatMap((path) => read(path).match(/[A-Za-z]\w*/g) ?? []),
  ]);

  it.each(pages)("with an underscore that %s names are words of the program", (page) => {
    const named = spansOf(read(page)).flatMap(
      (span) => span.match(/(?<![\w/.-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w/.-])/g) ?? [],
    );
    expect(
      named.filter((word) => !said.has(word) && !said.has(word.replace(/^greenhouse2mqtt_/, ""))),
    ).toEqual([]);
  });

  it.each([
    ["outcomes", outcomes, () => firstColumn(section("docs/commands.md", "Outcomes"))],
    ["refusals", refusalReasons, () => firstColumn(section("docs/commands.md", "Refusals")).slice(1)],
    ["kinds", actuatorKinds, () => firstColumn(section("docs/commands.md", "Kinds"))],
    ["requests", bridgeRequests, () => firstColumn(section("docs/operations.md", "Requests"))],
    ["events", bridgeEventTypes, () => firstColumn(section("docs/operations.md", "Events"))],
  ] as const)("%s are all explained, and no others", (_, words, explained) =>
    expect([...explained()].sort()).toEqual([...words].sort()),
  );

  it.each(["docs/notify.md", "docs/zh/notify.md"])(
    "of services that take messages are in examples of %s",
    (page) => {
      const keys = new Set(read(page).match(/\b\w+(?=: \{|:$)/gm));
      expect(serviceNames.filter((name) => !keys.has(name))).toEqual([]);
    },
  );

  it.each([
    ["phone.md", String],
    ["zh/phone.md", inChinese],
  ] as const)("of messages are explained in docs/%s, in the language of the message", (page, tell) => {
    const explained = new Set(
      rows(read(`docs/${page}`)).flatMap(([first = ""]) =>
        [...first.matchAll(/\*\*([^*]+)\*\*/g)].map(([, title]) => title),
      ),
    );
    expect(new Set((Object.keys(alarmTitles) as AlarmType[]).map((type) => tell(alarmTitle(type))))).toEqual(
      explained,
    );
  });

  it("of the Chinese page on limits are the types of alarms", () =>
    expect(firstColumn(section("docs/zh/limits.md", "报警"))).toEqual(
      firstColumn(section("docs/limits.md", "Alarms")),
    ));

  it("of the Chinese page on metrics are the metrics, with their types and labels", () => {
    const listed = (page: string) => rows(read(page)).map((cells) => cells.slice(0, -1).join(" "));
    expect(listed("docs/zh/deploy/figures.md").filter((row) => row.startsWith("`"))).toEqual(
      listed("deploy/prometheus/figures.md").filter((row) => row.startsWith("`")),
    );
  });

  it("of the Chinese pages are the outcomes, refusals and kinds", () => {
    expect(firstColumn(section("docs/zh/commands.md", "命令的结果")).slice(1).sort()).toEqual(
      [...outcomes].sort(),
    );
    expect(firstColumn(section("docs/zh/commands.md", "拒绝的原因")).slice(1).sort()).toEqual(
      [...refusalReasons].sort(),
    );
    expect(firstColumn(section("docs/zh/commands.md", "每种类型的命令")).sort()).toEqual(
      [...actuatorKinds].sort(),
    );
  });
});

describe("the Chinese twin", () => {
  const twins = pages
    .filter((page) =>
      /^docs\/(?:configuration\/)?[a-z-]+\.md$|^deploy\/(?:(?:[a-z-]+\/)?README|prometheus\/figures)\.md$/.test(
        page,
      ),
    )
    .map((page) => [page, chineseOf(page)] as const);

  it.each(twins)("of %s is there, and %s is the twin of a page", (_, twin) => expect(pages).toContain(twin));

  it("of no page is left over", () => {
    const known = twins.map(([, twin]) => twin);
    const own = ["docs/zh/README.md"];
    expect(
      pages.filter((page) => page.startsWith("docs/zh/") && !known.includes(page) && !own.includes(page)),
    ).toEqual([]);
  });

  it("calls one thing by one name", () => {
    const others = /操作者|账户|执行器|散列|计算机|设备代码|厂商|仪表板/;
    expect(pages.filter((page) => page.startsWith("docs/zh/") && others.test(read(page)))).toEqual([]);
  });

  const levelsOf = (page: string) =>
    [...prose(read(page)).matchAll(/^(#+) /gm)].map(([, level = ""]) => level.length);

  it.each(twins)("of %s has headings of the same levels in the same order", (page, twin) =>
    expect(levelsOf(twin)).toEqual(levelsOf(page)),
  );

  /** Rows of each table, with the head. */
  const tablesOf = (page: string) =>
    prose(read(page))
      .split(/\n(?! *\|)/)
      .map((block) => block.split("\n").filter((line) => /^ *\|/.test(line)).length)
      .filter((count) => count > 0);

  it.each(twins)("of %s has the same tables with as many rows", (page, twin) =>
    expect(tablesOf(twin)).toEqual(tablesOf(page)),
  );

  it.each(twins)("of %s has as many items in the lists below each heading", (page, twin) => {
    const itemsOf = (one: string) =>
      prose(read(one))
        .split(/^#+ .*$/m)
        .map((below) => below.match(/^ *(?:[-*]|\d+\.) /gm)?.length ?? 0);
    expect(itemsOf(twin)).toEqual(itemsOf(page));
  });

  it.each(twins)("of %s shows as many pictures", (page, twin) => {
    const picturesOf = (one: string) => read(one).match(/<img |!\[/g)?.length ?? 0;
    expect(picturesOf(twin)).toBe(picturesOf(page));
  });

  /** What is typed; names that people choose are in their language, and what is printed below is told in it. */
  const isTyped =
    /^(?:\$ )?(?:sudo|npm|node|mkdir|mv|cp|ln|git|bash|diff|ssh|curl|gh|topic|sha256sum|export|echo|sed|touch|chmod|chown|install|apt-get|docker|kubectl|helm|greenhouse2mqtt|mosquitto_\w+|timedatectl|systemctl|systemd-\w+(?:-\w+)*|journalctl) /;
  const typedIn = (code: string) =>
    code
      .split("\n")
      .filter((line) => isTyped.test(line))
      .map((line) =>
        line
          .replace(/ -- --language \w+| --language \w+/g, "")
          .replace(/--(?:by|reason) (?:"[^"]*"|\S+)/g, "")
          .replace(/"(?:by|reason)": "[^"]*"/g, "")
          .replace(/(?<=\.name )"[^"]*"/, ""),
      );
  /** Keys of a YAML block in their order; what people call things is theirs. */
  const keysIn = (code: string) => {
    const keysOf = (value: unknown): readonly unknown[] =>
      typeof value !== "object" || value === null
        ? []
        : Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
    return keysOf(parse(code.replace(/!(?:env|secret) /g, "")));
  };
  const meaningOf = ({ language, code }: Fence) =>
    language === "yaml"
      ? { language, keys: keysIn(code) }
      : language === ""
        ? { language, typed: typedIn(code) }
        : { language, lines: code.split("\n").length };

  it.each(twins)("of %s has the same blocks: commands, keys of YAML, lines of other code", (page, twin) =>
    expect(fencesOf(read(twin)).map(meaningOf)).toEqual(fencesOf(read(page)).map(meaningOf)),
  );

  it.each(twins.filter(([page]) => page.startsWith("deploy/")))(
    "of %s has the same commands within its sentences",
    (page, twin) => {
      const commandsOf = (one: string) => spansOf(read(one)).filter((span) => isTyped.test(span));
      expect(commandsOf(twin)).toEqual(commandsOf(page));
    },
  );

  it("of the add-on's page stands in the page itself, the only one that Home Assistant shows", () => {
    const [english = "", chinese = ""] = read("deploy/home-assistant-addon/greenhouse2mqtt/DOCS.md").split(
      /\n(?=# 中文)/,
    );
    const levels = (text: string) => [...prose(text).matchAll(/^#+ /gm)].map(([level]) => level);
    expect(levels(chinese)).toEqual(levels(english));
    expect(fencesOf(chinese).map(meaningOf)).toEqual(fencesOf(english).map(meaningOf));
    expect(chinese.match(/^(?:-|\d\.) /gm)).toEqual(english.match(/^(?:-|\d\.) /gm));
  });
});

describe("files", () =>
  it.each(pages)("of the project that %s names exist", (page) => {
    const named = spansOf(read(page)).filter((span) =>
      /^(?:src|test|docs|deploy|bench|\.ci)\/[\w./-]+\.\w+$/.test(span),
    );
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  }));

describe("the front door", () => {
  it("is README with at most 120 lines", () =>
    expect(read("README.md").trimEnd().split("\n").length).toBeLessThanOrEqual(120));
});
