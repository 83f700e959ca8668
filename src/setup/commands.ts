import type { Command } from "commander";
import type { CommandRow } from "../feature/command.js";
import { type ParameterGroup, parameterGroup } from "../greenhouse/device-types.js";
import { msg } from "../language/text.js";
import { lazily, type ProcessContext } from "../terminal/context.js";
import { span, WrongValue } from "../terminal/usage.js";

/* Commands of the set-up, as the command line offers them. */

type Row = CommandRow<(context: ProcessContext) => Parameters<Command["action"]>[0]>;

const init: Row = {
  name: "init",
  description: "ask for hosts, credential and broker, try them, and write a first config.yaml",
  examples: [
    "greenhouse2mqtt init",
    ["greenhouse2mqtt init --web", msg`the same in the browser`],
    ["greenhouse2mqtt init --web --host 0.0.0.0", msg`the same on a computer without a screen`],
    "greenhouse2mqtt init --answers site-7.yaml -c site-7/config.yaml",
  ],
  options: [
    ["--web", "ask in the browser of this computer, with a code that is printed here"],
    ["--host <address>", "with --web: where the page of the questions listens; it has the code"],
    [
      "--answers <file>",
      "YAML with the answers: `platform` with business_url, realtime_url and token (or token_env, token_file, sign_in), `mqtt` with url, username and password; with it, or any option below, init asks nothing",
    ],
    ["--business-url <url>", "address of the business host"],
    ["--realtime-url <url>", "address of the realtime host"],
    ["--token-env <name>", "the variable of the environment that holds the token"],
    ["--mqtt-url <url>", "address of the broker; without one the embedded broker is used"],
    ["--no-try", "write it without trying hosts and broker"],
  ],
  run: lazily(async () => (await import("./init/command.js")).init),
};

const doctor: Row = {
  name: "doctor",
  description: "connect to both hosts and the broker and report what works, line by line; changes nothing",
  examples: [
    "greenhouse2mqtt doctor",
    ["greenhouse2mqtt doctor --redact > report.txt", msg`to be shown to others`],
    ["greenhouse2mqtt doctor --watch GH-0001/left_skylight --command open", msg`while you open it`],
  ],
  options: [
    ["--json", "one JSON document instead of lines"],
    ["--redact", "for a bug report: without hosts, codes, names and tokens"],
    ["--bundle <file>", "also write what a maintainer needs, redacted, as one new JSON file"],
    [
      "--watch <actuator>",
      "instead: watch one movement that you make, and say which settings follow from it",
    ],
    ["--command <word>", "with --watch: what you will send, such as open, auto or 45"],
    ["--for <duration>", "with --watch: how long to wait for the movement; default: 10m", span],
    ["--record <folder>", "also save scrubbed answers of the platform, as files for tests"],
  ],
  run: lazily(async () => (await import("./doctor/command.js")).doctor),
};

const discover: Row = {
  name: "discover",
  description: "list controllers, sensors and addresses of the account as ready-to-use YAML; only reads",
  examples: [
    "greenhouse2mqtt discover -o found.yaml",
    "greenhouse2mqtt discover --controller GH-0001 --types 2,190-201",
    ["greenhouse2mqtt discover --merge config.yaml", msg`what is new since then`],
    ["greenhouse2mqtt discover --listen --for 30m -o found.yaml", msg`while somebody moves things`],
  ],
  options: [
    ["--controller <code>", "only this one, device code or topic id; may be repeated", collect],
    ["--types <list>", "only these control-parameter types, such as 2,190-201", typeList],
    ["-o, --out <file>", "write a new file, mode 600, instead of stdout; never over an existing one"],
    ["--merge <file>", "print only what this configuration does not hold yet; it is not changed"],
    ["--listen", "then learn addresses from what the platform pushes while somebody moves things in its app"],
    ["--for <duration>", "how long to listen, such as 30m; default: until Ctrl-C", span],
    ["--fresh", "start over instead of going on where an interrupted scan stopped"],
  ],
  run: lazily(async () => (await import("./discover/command.js")).discover),
};

const passwd: Row = {
  name: "passwd",
  description:
    "make a password hash, for users of the page and of the embedded broker; asks without showing what is typed, or reads a line of a pipe",
  examples: ["greenhouse2mqtt passwd"],
  run: (context) => async () => (await import("./init/command.js")).passwd(context),
};

export const setupCommands: readonly Row[] = [init, doctor, discover, passwd];

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

const highest = 1_000_000;
const mostTypes = 1_000;

/** Parses type ids such as `1,2` or `2,190-201`. */
export function typeList(text: string): readonly ParameterGroup[] {
  const wrong = new WrongValue(msg`expected type ids such as 2,12 or 190-201`);
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const [, first, last = first] = /^\s*(\d{1,7})(?:-(\d{1,7}))?\s*$/.exec(part) ?? [];
    const from = Number(first);
    const to = Number(last);
    if (first === undefined || from > to || to > highest || to - from >= mostTypes) throw wrong;
    for (let id = from; id <= to; id += 1) found.add(id);
  }
  if (found.size > mostTypes) throw wrong;
  return [...found].map(parameterGroup);
}
