import { readdirSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { IntlMessageFormat } from "intl-messageformat";
import { describe, expect, it } from "vitest";
import { programWords, root } from "../../build/bundle.mjs";
import { languageModules, writeLanguages } from "../../build/languages.mjs";
import en from "../../locales/en.json" with { type: "json" };
import zh from "../../locales/zh.json" with { type: "json" };
import { sensorKinds } from "../../src/greenhouse/sensors.js";
import { wordsOf } from "../../src/language/languages.js";
import { tellBy } from "../../src/language/words.js";
import { msg } from "../../src/language/text.js";
import { asWords, everyTemplate, placeholdersIn, templatesIn, valuesIn } from "./templates.js";
import { englishEntities, englishKeySentences, englishKinds, englishStates } from "./names.js";

const templates = everyTemplate();
type Words = Readonly<Record<string, string>>;
type Section = keyof typeof en;
const english: Readonly<Record<Section, Words>> = en;
const chinese: typeof english = zh;
const sections = Object.keys(en) as readonly Section[];

/** What is English in the source; what is told by a code, and what the page says itself, is written there by hand. */
const listed: typeof english = {
  ...english,
  program: Object.fromEntries([...templates].sort().map((template) => [template, asWords(template)])),
  states: englishStates,
  kinds: englishKinds,
  entities: englishEntities,
  key_sentences: englishKeySentences(Object.keys(english.keys)),
};
const enFile = new URL("../../locales/en.json", import.meta.url);
const listedText = `${JSON.stringify(listed, null, 2)}\n`;
const project = fileURLToPath(new URL("../../", import.meta.url));
if (process.env["REFERENCE"] === "write") writeLanguages(project);
if (process.env["REFERENCE"] === "write") await writeFile(enFile, listedText);

it("a sentence is found wherever it stands in the source", () => {
  const text = 'say(a ? msg`no ${msg`token`} in ${file}` : row`- ${counted(n, "window", "windows")}`);';
  expect(templatesIn(text)).toEqual([
    "no {1} in {2}",
    "token",
    "{1, plural, one {# window} other {# windows}}",
  ]);
});

/** Whether words are in the syntax of ICU messages. */
function isReadable(words: string, language: string): boolean {
  try {
    return new IntlMessageFormat(words, language, undefined, { ignoreTag: true }).getAst().length >= 0;
  } catch {
    return false;
  }
}

it("what could not be read of the platform is told by a sentence, not by a plain string", () => {
  const platform = new URL("../../src/platform/", import.meta.url);
  const files = readdirSync(platform, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const plain = files.flatMap(
    (file) => readFileSync(new URL(file, platform), "utf8").match(/report\(\s*["`].*/g) ?? [],
  );
  expect(plain).toEqual([]);
});

it("Chinese stands in the source only where the platform writes it, or a person does", () => {
  const source = new URL("../../src/", import.meta.url);
  const isTheirs = new RegExp(
    [
      // Names, units, values and times of the platform, and the simulated one that writes them.
      "greenhouse/(?:units|sensor-.*|fold-.*|device-types)",
      "platform/.*",
      "simulator/.*",
      "setup/discover/controller-entry",
      "setup/doctor/(?:watch-conclusions|missing-parameters)",
      // Names of secrets, an example of a sensor's name, and the comma of a list that is typed.
      "runtime/redaction",
      "settings/sections/controllers",
      "page/settings-parts",
      // The name of the language, in itself.
      "setup/init/questions",
    ]
      .map((path) => `^${path}\\.tsx?$`)
      .join("|"),
  );
  const all = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  const ours = all.filter((file) => {
    const text = readFileSync(new URL(file, source), "utf8").replaceAll("中文", "");
    return /\p{Script=Han}/u.test(text) && !isTheirs.test(file);
  });
  expect(ours).toEqual([]);
});

it("what imports the files of the languages is made from them (npm run reference writes it anew)", async () => {
  for (const [path, text] of languageModules(project))
    expect([path, await readFile(join(project, path), "utf8")]).toEqual([path, text]);
});

describe("locales/zh.json", () => {
  const all = sections.flatMap((section) => Object.entries(chinese[section]));

  it("has words for every sentence of the program, and for every code", () => {
    expect(Object.keys(zh)).toEqual(Object.keys(en));
    expect([...templates].filter((template) => !Object.hasOwn(chinese.program, template))).toEqual([]);
    for (const section of sections.filter((one) => one !== "program"))
      expect([section, Object.keys(chinese[section]).sort()]).toEqual([
        section,
        Object.keys(listed[section]).sort(),
      ]);
    expect(all.filter(([, words]) => words === "")).toEqual([]);
  });

  it("has words for no other one", () => {
    expect(Object.keys(chinese.program).filter((template) => !templates.has(template))).toEqual([]);
  });

  it("puts in what the sentence puts in, and of a code what English puts in", () => {
    const wrong = Object.entries(chinese.program).filter(([template, words]) => {
      const given = template === "name" ? new Set(["zh"]) : valuesIn(template);
      return String([...given].sort()) !== String([...placeholdersIn(words)].sort());
    });
    expect(wrong).toEqual([]);
    const others = sections.filter((one) => !["program", "codes", "key_sentences"].includes(one));
    const page = others.flatMap((section) =>
      Object.entries(chinese[section]).filter(
        ([word, words]) =>
          String([...placeholdersIn(words)].sort()) !==
          String([...placeholdersIn(listed[section][word] ?? "")].sort()),
      ),
    );
    expect(page).toEqual([]);
    const more = Object.entries(chinese.codes).filter(([code, words]) =>
      [...placeholdersIn(words)].some((one) => !placeholdersIn(english.codes[code] ?? "").has(one)),
    );
    expect(more).toEqual([]);
  });

  it("comes into the built program with every word that the program says", () => {
    const { code } = programWords.load(join(root, "locales/zh.json")) ?? { code: "{}" };
    expect(wordsOf(JSON.parse(code) as typeof zh)).toEqual(wordsOf(zh));
  });

  it("calls every kind of sensor by a name", () =>
    expect(sensorKinds.filter((kind) => !Object.hasOwn(english.words, kind))).toEqual([]));

  it("lists the words that a key may have as English does", () => {
    const lists = Object.entries(listed.key_sentences).flatMap(([key, sentence]) =>
      [...sentence.matchAll(/\b[a-z]\w*(?:, [a-z]\w*){4,}/g)].map(([words]) => [key, words] as const),
    );
    expect(lists.length).toBeGreaterThan(1);
    expect(lists.filter(([key, words]) => !(chinese.key_sentences[key] ?? "").includes(words))).toEqual([]);
  });

  it("words what keeps a command back alike for the page and for the command line", () => {
    const plain = (words = "") => words.replaceAll(" ", "");
    const differ = Object.entries({
      guard: "number",
      guard_blind: "blind",
      guard_is: "is",
      guard_moves: "moves",
    });
    const ofPage = new Map([
      ...differ.map(([code, page]) => [`rule.${code}`, `guard_${page}`] as const),
      ["rule.hold_unnamed", "hold_unnamed"],
    ]);
    // The page names a guard, and says how long one waits, beside the sentence.
    const rules = Object.keys(chinese.codes).filter((code) =>
      /^rule\.(?!guard_(?:waits|moved)|until)/.test(code),
    );
    const wrong = rules.filter((code) => {
      const words = chinese.page[ofPage.get(code) ?? code.replace(/^rule\./, "rule_")];
      return plain(chinese.codes[code]).replace(/^限制“\{rule\}”(?:有效)?：/, "") !== plain(words);
    });
    expect(wrong).toEqual([]);
  });

  it("calls one thing by one name", () => {
    const others = /操作者|账户|执行器|内置代理|以 unconfirmed 结束|镜像|散列|计算机|设备代码|厂商|仪表板/;
    expect(all.map(([, words]) => words).filter((words) => others.test(words))).toEqual([]);
  });

  it("can be read", () => {
    expect(all.filter(([, words]) => !isReadable(words, "zh"))).toEqual([]);
  });

  it("has no English words outside of ids, values and commands", () => {
    const wrong = all.flatMap(([, words]) => {
      // What is quoted, and keys, options, files, units and names are the same in every language.
      const left = words
        .replace(/`[^`]*`|“[^”]*”|"[^"]*"|\{[^}]*\}|<[^>]*>|https?:\S+/g, " ")
        .replace(/--?[a-z][\w-]*|[\w./…-]*[._/:][\w./…-]*|\w*\d\w*|[A-Z][\w-]*/g, " ");
      return (left.match(/[a-z]{3,}(?: [a-z]{2,})+/g) ?? []).map((found) => [found, words] as const);
    });
    expect(wrong).toEqual([]);
  });
});

describe("locales/en.json", () => {
  it("is the list of all sentences (npm run reference writes it anew)", async () => {
    expect(await readFile(enFile, "utf8")).toBe(listedText);
  });

  it("says what the program says", () => {
    expect(tellBy(english.program, "en")(msg`${"GH-0001"} found`)).toBe("GH-0001 found");
    const numbers = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
    const values = Object.fromEntries(numbers.map((at) => [at, `{${at}}`]));
    const other = Object.entries(english.program).filter(([template, words]) => {
      const format = new IntlMessageFormat(words, "en", undefined, { ignoreTag: true });
      return !template.startsWith("{1, plural") && format.format(values) !== template;
    });
    expect(other).toEqual([]);
    expect(Object.entries(english.codes).filter(([, words]) => !isReadable(words, "en"))).toEqual([]);
  });
});
