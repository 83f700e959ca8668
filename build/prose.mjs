import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/*
 * How the documents for users, the texts beside the files to deploy, and the English sentences of the program read: words a
 * page, long sentences, sentences that begin with a passive, words that say nothing, and table cells that are too full.
 * Prints the ten worst of each, and fails above the figures of today.
 */

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * What may not be exceeded. Lower a figure when the texts got better; never raise one. A sentence of the program may begin
 * with a passive: who reads "Nothing was sent" knows by whom.
 */
const most = {
  documents: {
    words: 28_000,
    wordsOfPage: 2_500,
    ...{ longSentences: 0, passiveStarts: 16, blackWords: 0, fullCells: 0 },
  },
  deploy: { wordsOfPage: 1_000, longSentences: 0, passiveStarts: 0, blackWords: 0, fullCells: 0 },
  program: { longSentences: 0, blackWords: 0 },
};

const longSentence = 25;
const fullCell = 20;

/** Riddles and filler, with what to write instead. */
const blackList = [
  [/\bwhat (?:is|was|are) (?:told|read|said|shown) of\b/i, "name who says it"],
  [/\bof which (?:that|this|it) is not known\b/i, "unknown"],
  [/\bas it is by then\b/i, "say when"],
  [/\bas if (?:it|they) (?:was|were) not there\b/i, "sees nothing of"],
  [/\btells? the same\b/i, "agree"],
  [/\bin the place of\b/i, "instead of"],
  [/\bthe former\b|\bthe latter\b/i, "name it"],
  [
    /\b(?:simply|just simply|easily|of course|obviously|basically|please note|in order to)\b/i,
    "leave it out",
  ],
  [/\b(?:utili[sz]e|leverage|facilitate|seamless\w*|robust|powerful|hereby|thereof)\b/i, "use a plain word"],
  [/\bby means of\b/i, "with"],
  [/\bis able to\b/i, "can"],
  [/\bprior to\b/i, "before"],
];

const passive =
  /^(?:[A-Z][\w’'-]*|`[^`]+`)(?:\s+[\w’'`-]+){0,5}?\s+(?:is|are|was|were|be|been)\s+(?:(?:not|never|only|always|also|then)\s+)?(?:\w+ed|sent|read|kept|told|shown|given|made|taken|done|written|found|held|seen|known|put|set|lost|left|meant|run|begun|drawn|spread)(?![\w-])/;

const below = (path, recursive = false) =>
  existsSync(join(root, path))
    ? readdirSync(join(root, path), { recursive, encoding: "utf8" })
        .filter((name) => name.endsWith(".md"))
        .map((name) => `${path}/${name}`)
        .sort()
    : [];
const read = (path) => readFileSync(join(root, path), "utf8");
const textsOf = (paths) => paths.map((path) => [path, read(path)]);

/** The English half of a page that has a Chinese one below it. */
export const englishHalf = (text) => text.split(/^# 中文/m)[0];

/** A sentence as a person sees it: one of the numbers. What is wrong and what to do stand in one line with a semicolon between them. */
export const asSaid = (template) =>
  template
    .replaceAll("; ", ". ")
    .replace(/\{\d+, plural, one \{[^{}]*\} other \{([^{}]*)\}\}/g, "$1")
    .replace(/'([{}])'/g, "$1")
    .replaceAll("|", "/");

/** Sentences of the program, section by section; keys and lists of words are no prose. */
const sentencesOfProgram = () =>
  Object.entries(JSON.parse(read("locales/en.json"))).map(([section, words]) => [
    `locales/en.json ${section}`,
    Object.values(words)
      .filter((words) => !/(?:\w+, ){9,}/.test(words))
      .map((words) => asSaid(words).replace(/\s+/g, " "))
      .join("\n\n"),
  ]);

const textsOfGroup = {
  documents: () => textsOf(["README.md", ...below("docs"), ...below("docs/configuration")]),
  deploy: () => textsOf(below("deploy", true)).map(([path, text]) => [path, englishHalf(text)]),
  program: sentencesOfProgram,
};

const isWord = (token) => /[\p{L}\p{N}]/u.test(token);
export const wordsOf = (text) => text.split(/\s+/).filter(isWord).length;

/** Without what no person reads as a sentence: code, marks, targets of links. */
const withoutCode = (text) =>
  text.replace(/^( *)```[\s\S]*?^ *```$/gm, "").replace(/<!--[\s\S]*?-->|<img[^>]*>/g, "");

const plain = (text) =>
  text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\*\*|(?<!\w)_|_(?!\w)/g, "")
    .replace(/`[^`]*`/g, (code) => code.replace(/\s/g, "\u00a0"));

const isTable = (line) => /^ *\|/.test(line);

export function sentencesOf(text) {
  const paragraphs = withoutCode(text)
    .split("\n")
    .map((line) =>
      isTable(line) || /^#+ /.test(line) ? "" : line.replace(/^ *(?:> ?)?(?:[-*]|\d+\.) /, "\n\n"),
    )
    .join("\n")
    .split(/\n\s*\n/);
  return paragraphs
    .map((one) => plain(one).replace(/^> ?/gm, "").replace(/\s+/g, " ").trim())
    .flatMap((one) => one.split(/(?<=[.!?]["”)]?) /u))
    .filter((one) => wordsOf(one) > 1);
}

export const cellsOf = (text) =>
  withoutCode(text)
    .split("\n")
    .filter((line) => isTable(line) && !/^ *\|[\s|:-]*$/.test(line))
    .flatMap((line) =>
      line
        .trim()
        .slice(1, -1)
        .split(/(?<!\\)\|/),
    )
    .map((cell) => plain(cell).trim());

/** Names of the program in a cell are no prose. */
const proseOfCell = (cell) => wordsOf(cell.replace(/`[^`]*`/g, ""));

export function judge(pages) {
  const found = { words: [], longSentences: [], passiveStarts: [], blackWords: [], fullCells: [] };
  for (const [page, text] of pages) {
    found.words.push({ page, count: wordsOf(withoutCode(text)), text: "" });
    for (const sentence of sentencesOf(text)) {
      const count = wordsOf(sentence);
      if (count > longSentence) found.longSentences.push({ page, count, text: sentence });
      if (passive.test(sentence)) found.passiveStarts.push({ page, count, text: sentence });
    }
    for (const [pattern, instead] of blackList)
      for (const sentence of [...sentencesOf(text), ...cellsOf(text)])
        if (pattern.test(sentence))
          found.blackWords.push({ page, count: 1, text: `${sentence} [${instead}]` });
    for (const cell of cellsOf(text)) {
      const count = proseOfCell(cell);
      if (count > fullCell) found.fullCells.push({ page, count, text: cell });
    }
  }
  return found;
}

const titles = {
  words: "words a page",
  longSentences: `sentences above ${longSentence} words`,
  passiveStarts: "sentences that begin with a passive",
  blackWords: "words of the black list",
  fullCells: `table cells above ${fullCell} words`,
};

function report(found, most, shown) {
  const problems = [];
  for (const [name, list] of Object.entries(found)) {
    const sum = name === "words" ? list.reduce((all, { count }) => all + count, 0) : list.length;
    if (most[name] === undefined) continue;
    console.log(`\n${titles[name]}: ${sum}, at most ${most[name]}`);
    for (const { page, count, text } of list
      .toSorted((one, other) => other.count - one.count)
      .slice(0, shown))
      console.log(`  ${String(count).padStart(5)}  ${page}${text === "" ? "" : `: ${text}`}`);
    if (sum > most[name]) problems.push(`${sum} ${titles[name]}, at most ${most[name]}`);
  }
  for (const { page, count } of found.words)
    if (count > (most.wordsOfPage ?? Infinity))
      problems.push(`${page} has ${count} words, at most ${most.wordsOfPage}`);
  return problems;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const shown = process.argv.includes("--all") ? Infinity : 10;
  for (const [group, texts] of Object.entries(textsOfGroup)) {
    console.log(`\n${group}`);
    const problems = report(judge(texts()), most[group], shown);
    for (const problem of problems) console.error(`${group}: ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  }
}
