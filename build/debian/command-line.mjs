// The command line as it describes itself: its help and that of each command, made into a man page and shell completion.
// node build/debian/command-line.mjs man|bash|zsh
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const help = (...words) =>
  execFileSync(process.execPath, [join(root, "dist/main.js"), ...words, "--help"], {
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", COLUMNS: "1000" },
  });

/** Help as sections: a title at the left edge ends with a colon, an entry is two blanks in, its text two or more behind it. */
function sectionsOf(text) {
  const sections = [{ title: "", lines: [] }];
  for (const line of text.split("\n")) {
    const [, title] = /^(\S.*):$/.exec(line) ?? [];
    if (title === undefined) sections.at(-1).lines.push(line);
    else sections.push({ title, lines: [] });
  }
  return sections.map(({ title, lines }) => ({ title, entries: entriesOf(lines) }));
}

function entriesOf(lines) {
  const entries = [];
  for (const line of lines) {
    const [, term, text = ""] = /^ {2}(\S.*?)(?: {2,}(\S.*))?$/.exec(line) ?? [];
    if (term !== undefined) entries.push({ term, text });
    else if (line.trim() === "") entries.push(null);
    else if (/^ {3,}/.test(line) && entries.at(-1)?.term !== undefined)
      entries.at(-1).text += ` ${line.trim()}`;
    else if (entries.at(-1)?.text !== undefined && entries.at(-1).term === null)
      entries.at(-1).text += ` ${line.trim()}`;
    else entries.push({ term: null, text: line.trim() });
  }
  return entries.filter((entry) => entry !== null);
}

const main = sectionsOf(help());
const setsOfCommands = /^(?:Run it|Try it|Set it up|Ask and)/;
const commands = main
  .filter(({ title }) => setsOfCommands.test(title))
  .flatMap(({ entries }) => entries.flatMap(({ term }) => term?.split(" ")[0] ?? []))
  .filter((name) => name !== "help");
if (commands.length < 10) throw new Error("the help lists its commands in another way than is known here");
const helps = new Map(commands.map((name) => [name, sectionsOf(help(name))]));
const optionsIn = (sections) =>
  sections
    .filter(({ title }) => /Options$/.test(title))
    .flatMap(({ entries }) =>
      entries.flatMap(({ term }) => term?.match(/(?<![\w-])--?[a-zA-Z][\w-]*/g) ?? []),
    );

const roff = (text) =>
  text
    .replace(/\\/g, "\\e")
    .replace(/-/g, "\\-")
    .replace(/^([.'])/gm, "\\&$1");

function manSections(sections) {
  return sections.flatMap(({ title, entries }) => [
    ...(title === "" || title.startsWith("Usage") ? [] : [".PP", `\\fB${roff(title)}\\fR`]),
    ...entries.flatMap(({ term, text }) => {
      if (term === null)
        return text.startsWith("Usage: ") ? [".PP", `\\fB${roff(text.slice(7))}\\fR`] : [".PP", roff(text)];
      return [".TP", `\\fB${roff(term)}\\fR`, ...(text === "" ? [] : [roff(text)])];
    }),
  ]);
}

function man() {
  const seconds = Number(process.env.SOURCE_DATE_EPOCH ?? 0);
  const day = new Date(seconds * 1_000).toISOString().slice(0, 10);
  return [
    `.TH GREENHOUSE2MQTT 1 "${day}" "greenhouse2mqtt ${version}" "User Commands"`,
    ".SH NAME",
    "greenhouse2mqtt \\- bridge between a greenhouse platform and MQTT",
    ".SH DESCRIPTION",
    ...manSections(main),
    ".SH COMMANDS",
    ...[...helps].flatMap(([name, sections]) => [`.SS ${name}`, ...manSections(sections)]),
    ".SH FILES",
    ...[".TP", "\\fI/etc/greenhouse2mqtt/config.yaml\\fR", "The configuration of the service."],
    ...[".TP", "\\fI/var/lib/greenhouse2mqtt\\fR", "Journal, ids and token of the service."],
    ".SH SEE ALSO",
    "\\fI/usr/share/doc/greenhouse2mqtt/README.Debian\\fR",
    "",
  ].join("\n");
}

function bash() {
  const cases = [...helps].map(
    ([name, sections]) => `    ${name}) words="${optionsIn(sections).join(" ")}" ;;`,
  );
  return `# bash completion for greenhouse2mqtt
_greenhouse2mqtt() {
  local current="\${COMP_WORDS[COMP_CWORD]}" word command="" words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      ${commands.join("|")}) command="$word"; break ;;
    esac
  done
  case "$command" in
${cases.join("\n")}
    *) words="${[...commands, "help", ...optionsIn(main)].join(" ")}" ;;
  esac
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
}
complete -o default -F _greenhouse2mqtt greenhouse2mqtt
`;
}

function zsh() {
  const described = main
    .filter(({ title }) => setsOfCommands.test(title))
    .flatMap(({ entries }) => entries.filter(({ term }) => term !== null))
    .map(({ term, text }) => [term.split(" ")[0], text.replace(/[':\\]/g, " ")]);
  const cases = [...helps].map(
    ([name, sections]) => `      ${name}) compadd -- ${optionsIn(sections).join(" ")} ;;`,
  );
  return `#compdef greenhouse2mqtt
_greenhouse2mqtt() {
  local -a commands=(
${described.map(([name, text]) => `    '${name}:${text}'`).join("\n")}
  )
  local word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$word" in
${cases.join("\n")}
      *) continue ;;
    esac
    _files
    return
  done
  _describe command commands
  compadd -- ${optionsIn(main).join(" ")}
}
_greenhouse2mqtt "$@"
`;
}

const forms = { man, bash, zsh };
const form = forms[process.argv[2]];
if (form === undefined) throw new Error(`one of ${Object.keys(forms).join(", ")}`);
process.stdout.write(form());
