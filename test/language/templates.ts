import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import type { Command } from "commander";
import { outcomes } from "../../src/greenhouse/command/outcomes.js";
import { platformStates } from "../../src/greenhouse/model.js";
import { entryTypes } from "../../src/journal/timeline.js";
import { addCommandsOf } from "../../src/cli/commands.js";
import { program } from "../../src/cli/program.js";
import { allFeatures } from "../../src/config/schema.js";
import { Speech } from "../../src/terminal/speech.js";

/* Every sentence that the program says: by the parser in the source, and in the help of its commands. */

const source = join(import.meta.dirname, "..", "..", "src");

/** As `templateOf` of text.ts has it. */
function templateOf(node: ts.TemplateLiteral): string {
  if (ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  return node.templateSpans.reduce(
    (text, { literal }, at) => `${text}{${at + 1}}${literal.text}`,
    node.head.text,
  );
}

const literal = (node: ts.Node | undefined): string | null =>
  node !== undefined && ts.isStringLiteralLike(node) ? node.text : null;

function calledWith(node: ts.CallExpression): readonly string[] {
  const [first, second, third] = node.arguments;
  switch (node.expression.getText()) {
    case "counted": {
      const [one, other] = [literal(second), literal(third)];
      return one === null || other === null ? [] : [`{1, plural, one {# ${one}} other {# ${other}}}`];
    }
    case "word": {
      const said = literal(second) ?? (second === undefined ? literal(first) : null);
      return said === null ? [] : [said];
    }
    default:
      return [];
  }
}

export function templatesIn(text: string, name = "given.ts"): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === "msg")
      found.push(templateOf(node.template));
    if (ts.isCallExpression(node)) found.push(...calledWith(node));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(name, text, ts.ScriptTarget.ESNext, true));
  return found;
}

/** What commands, options, arguments and groups are explained by. */
function helpOf(command: Command): readonly string[] {
  const help = command.createHelp();
  return [
    command.description(),
    // That of --log-level is the list of levels.
    ...help
      .visibleOptions(command)
      .flatMap(({ long, description }) => (long === "--log-level" ? [] : description)),
    ...command.registeredArguments.map(({ description }) => description),
    command.helpGroup(),
    ...help.visibleCommands(command).flatMap((one) => (one === command ? [] : helpOf(one))),
  ].filter((text) => text !== "");
}

const headings = ["Usage:", "Arguments:", "Options:", "Global Options:", "Commands:"];

/** Of closed lists: a word each. */
const listed = [
  // A name that is there in both languages.
  "name",
  ...[...outcomes, ...platformStates, "good", "uncertain", "stale", "bad", "unknown"],
  ...["active", "acknowledged", "cleared", "info", "warning", "error"],
  ...["online", "offline", "connecting", "unacknowledging", "deaf", "starting", "stopping", "asked to"],
  ...["waiting…", "checking…", "sending…", "confirming…", "done…"],
  ...[...entryTypes, "command_taken"].map((type) => `journal ${type}`),
];

/** The files of the source whose sentences people read. */
const filesOf = (): readonly string[] =>
  readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));

export function everyTemplate(): ReadonlySet<string> {
  const said = filesOf().flatMap((file) => templatesIn(readFileSync(join(source, file), "utf8"), file));
  const context = { env: {}, out: () => undefined, err: { write: () => true }, isTerminal: false };
  const process = { ...context, stop: new AbortController().signal, speech: new Speech() };
  const root = program(process);
  addCommandsOf(allFeatures, root, process);
  return new Set([...said, ...headings, ...listed, ...helpOf(root)]);
}

/** What is put in by words: `{1}`, or the number that decides a plural. Braces in quotes are words of their own. */
export const placeholdersIn = (words: string): ReadonlySet<string> =>
  new Set(
    [
      ...words
        .replaceAll("''", "’")
        .replace(/'[{}][^']*'/g, "")
        .matchAll(/\{(\w+)[},]/g),
    ].map(([, name = ""]) => name),
  );

/** What is put in by a sentence. */
export const valuesIn = (template: string): ReadonlySet<string> =>
  new Set([...template.matchAll(/\{(\d)[},]/g)].map(([, name = ""]) => name));

/** A sentence in the syntax of words, in which braces of its own stand in quotes. */
export const asWords = (template: string): string =>
  template.startsWith("{1, plural")
    ? template
    : template.replace(/'(?=[{}])|[{}](?!\d+\})(?<!\{\d+\})/g, (mark) => (mark === "'" ? "''" : `'${mark}'`));
