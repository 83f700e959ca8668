import { joined, msg, row, type Text, TextError } from "../../language/text.js";
import { nullIfFailed } from "../../runtime/failures.js";
import { lstat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { loadConfiguration, secretsBeside, withTexts } from "../../config/load.js";
import { problemText } from "../../settings/problem.js";
import type { Configuration } from "../../config/schema.js";
import type { Language } from "../../greenhouse/labels.js";
import type { Tell } from "../../language/words.js";
import { nodeFiles } from "../../runtime/file-system.js";
import type { Clock, Random } from "../../runtime/clock.js";
import { silentLog } from "../../runtime/log.js";
import { diagnose, openContext } from "../doctor/doctor.js";
import { type Finding, wholeText } from "../doctor/finding.js";
import { type Answers, firstFiles, type FirstFiles, type PlatformAnswer, secretLines } from "./answers.js";
import {
  askAlarms,
  askBroker,
  askLanguage,
  askPage,
  askPlatform,
  type Dialogue,
  findBrokers,
  GoneAway,
} from "./questions.js";
import {
  addLines,
  FileExists,
  mustTakeFiles,
  ownerBeside,
  secretNames,
  stateFolderOf,
  writeNew,
} from "./new-file.js";
import { keysOf } from "../../runtime/objects.js";

/** The checks of `doctor` that try each part, whether it is answered or saved. */
const trials = {
  platform: ["token", "realtime"],
  broker: ["broker", "broker.publish", "broker.subscribe"],
  homeassistant: ["broker", "broker.announce", "home_assistant"],
} as const;

export type TriedPart = keyof typeof trials;
export const triedParts = keysOf(trials);
type Answered = Exclude<TriedPart, "homeassistant">;

export interface InitPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stop: AbortSignal;
  readonly dialogue: Dialogue;
  readonly say: (text: Text) => void;
  /** The value of `--data-dir`. */
  readonly dataDir?: string;
  /** The language of the file's comments; English if absent. */
  readonly tell?: Tell;
  /** The language of the questions, which may change. */
  readonly speech: { readonly language: Language; choose(language: Language): Promise<void> };
  /** Addresses where a broker may be. */
  readonly brokers: readonly string[];
}

/** Nothing was written; says why. */
export class NotWritten extends TextError {
  override name = "NotWritten" as const;
}

/** Answers given without questions, tried unless that is not wanted. */
export async function triedAnswers(
  answers: Answers,
  isTried: boolean,
  file: string,
  ports: Pick<InitPorts, "clock" | "random" | "env" | "stop" | "say">,
): Promise<Answers> {
  const whats = isTried
    ? (["platform", ...(answers.mqtt.url === undefined ? [] : ["broker" as const])] as const)
    : [];
  for (const what of whats) {
    const { ok, lines } = await outcomeOf(answers, what, file, ports);
    for (const line of lines) ports.say(line);
    if (!ok) throw new NotWritten(msg`that did not work, so nothing was written; --no-try writes it anyway`);
  }
  return answers;
}

/**
 * Writes a first configuration to `file`, from answers that it asks for. Rejects with FileExists, GoneAway,
 * PlaceUnusable or NotWritten; nothing was written then.
 */
export const writeFirstConfiguration = (file: string, ports: InitPorts): Promise<Configuration> =>
  writeConfigurationOf(() => collect(file, ports), file, ports);

/** Writes a first configuration from any answers. */
export async function writeConfigurationOf(
  answers: () => Promise<Answers>,
  file: string,
  ports: Pick<InitPorts, "dataDir" | "tell" | "env" | "say">,
): Promise<Configuration> {
  const secretsFile = secretsBeside(file);
  if (await lstat(file).catch(nullIfFailed)) throw new FileExists(file);
  await mustTakeFiles(dirname(file));
  const taken = await secretNames(secretsFile);
  if (taken === null)
    throw new NotWritten(
      msg`${secretsFile} is not a list of "name: value" lines; correct it or move it away`,
    );
  const files = firstFiles(await withDataDir(await answers(), file, ports), taken, ports.tell);
  const loaded = await loadedFrom(files, file, ports.env);
  if (!loaded.ok)
    throw new NotWritten(
      row`${msg`nothing was written, because it would not pass a check:`}\n${joined(loaded.problems, "\n")}`,
    );
  await writeFiles(files, file, ports.say);
  const [program, flag] = await callOf(file, loaded.configuration);
  ports.say(msg`Now run  ${program} doctor${flag}    (does everything work?)`);
  ports.say(msg`then     ${program} discover${flag}  (which actuators are there?)`);
  return loaded.configuration;
}

/** Adds the data directory to the answers, if it is not beside the configuration. */
export async function withDataDir(
  answers: Answers,
  file: string,
  { dataDir }: Pick<InitPorts, "dataDir">,
): Promise<Answers> {
  const data_dir = dataDir === undefined ? await stateFolderOf(file) : resolve(dataDir);
  return data_dir === null ? answers : { ...answers, data_dir };
}

/**
 * The command that starts the program with this configuration, as the user who owns its data, and the options behind
 * the command.
 */
export async function callOf(
  file: string,
  { data_dir: dataDir }: Pick<Configuration, "data_dir">,
): Promise<readonly [program: string, flag: string]> {
  const owner = await ownerBeside(dataDir);
  const flag = file === "config.yaml" ? "" : ` -c ${file}`;
  const asOwner = owner === null ? [] : ["sudo", "-u", owner];
  return [[...asOwner, "greenhouse2mqtt"].join(" "), flag];
}

/** The secrets are written first, so that a configuration that exists works. */
export async function writeFiles(
  { configuration, secrets }: FirstFiles,
  file: string,
  say: (text: Text) => void,
): Promise<void> {
  const secretsFile = secretsBeside(file);
  if (secrets.size > 0) await addLines(secretsFile, secretLines(secrets));
  await writeNew(file, configuration);
  if (secrets.size > 0) say(msg`${secretsFile}: added ${[...secrets.keys()].join(", ")}`);
  say(msg`${file}: written`);
}

async function collect(file: string, ports: InitPorts): Promise<Answers> {
  const { dialogue, clock, speech } = ports;
  const usual = speech.language;
  const language = await askLanguage(dialogue, usual);
  await speech.choose(language);
  const wayWith = (what: Answered, answers: Answers) => wayOn(answers, what, file, ports);
  let platform = await askPlatform(dialogue);
  for (;;) {
    const way = await wayWith("platform", { platform, mqtt: {} });
    if (way === "keep") break;
    platform = way === "exchange" ? exchangeHosts(platform) : await askPlatform(dialogue, platform);
  }
  const find = () => findBrokers(ports.brokers, clock);
  let mqtt = await askBroker(dialogue, find);
  while (mqtt.url !== undefined && (await wayWith("broker", { platform, mqtt })) !== "keep")
    mqtt = await askBroker(dialogue, find, mqtt);
  const http = await askPage(dialogue);
  const alarms = await askAlarms(dialogue);
  return {
    // English on an English computer needs no line.
    ...(language === "en" && usual === "en" ? {} : { language }),
    platform,
    mqtt,
    ...(http && { http }),
    ...(alarms && { alarms }),
  };
}

const exchangeHosts = (platform: PlatformAnswer): PlatformAnswer => ({
  ...platform,
  business_url: platform.realtime_url,
  realtime_url: platform.business_url,
});

/** The questions of the dialogue, which a person knows better than the keys of a file that does not exist yet. */
const questions: Readonly<Record<string, Text>> = {
  "platform.business_url": msg`the business host`,
  "platform.realtime_url": msg`the realtime host`,
  "platform.token": msg`the token`,
};

/** The text with questions in the place of keys. */
function withQuestions(text: Text): Text {
  if (typeof text === "string") return questions[text] ?? text;
  return text.withValues((value) => (typeof value === "number" ? value : withQuestions(value)));
}

/** Tries an answer, prints the result, and asks how to go on if it failed. */
async function wayOn(
  answers: Answers,
  what: Answered,
  file: string,
  ports: InitPorts,
): Promise<"again" | "exchange" | "keep"> {
  const { dialogue } = ports;
  dialogue.say(msg`Trying it …`);
  const { ok, areSwapped, lines } = await outcomeOf(answers, what, file, ports);
  for (const line of lines) dialogue.say(row`  ${withQuestions(line)}`);
  if (ok) return "keep";
  const way = await dialogue.choose(msg`That did not work.`, [
    ...(areSwapped ? [["exchange", msg`exchange the two addresses and try again`] as const] : []),
    ["again", msg`answer again`],
    ["keep", msg`keep it as it is`],
    ["stop", msg`stop, and write nothing`],
  ]);
  if (way === "stop") throw new GoneAway();
  return way;
}

/** Tries an answer; the result in sentences. */
export async function outcomeOf(
  answers: Answers,
  what: Answered,
  file: string,
  ports: Pick<InitPorts, "clock" | "random" | "env" | "stop">,
) {
  const loaded = await loadedFrom(firstFiles(answers, new Set()), file, ports.env);
  if (!loaded.ok) return { ok: false, areSwapped: false, lines: loaded.problems };
  if (loaded.unset.length > 0)
    return {
      ok: true,
      areSwapped: false,
      lines: [msg`not tried: ${loaded.unset.join(", ")} is not set in this environment`],
    };
  return tryOut(loaded.configuration, what, ports);
}

/** Tries a part as `doctor` does, with a sentence for each check. */
async function tryOut(
  configuration: Configuration,
  what: Answered,
  { clock, random, stop }: Pick<InitPorts, "clock" | "random" | "stop">,
) {
  const scene = sceneOf(configuration, { clock, random });
  const findings: Finding[] = [];
  for await (const finding of tryPart(what, scene, stop)) findings.push(finding);
  // What was not tried follows from what failed. Both hosts may give the same sentence.
  const told = findings.filter(({ status }) => status !== "skipped").map(wholeText);
  const lines = new Map(told.map((line) => [String(line), line]));
  return {
    ok: findings.every(({ status }) => status !== "failed"),
    areSwapped: (await scene.evidence.swapped) === true,
    lines: [...lines.values()],
  };
}

/** The token of a trial is not kept: nothing is written before everything is known. */
function sceneOf(configuration: Configuration, { clock, random }: Pick<InitPorts, "clock" | "random">) {
  const files = { ...nodeFiles, writePrivate: () => Promise.resolve() };
  return openContext(configuration, { clock, random, log: silentLog, files });
}

function tryPart(part: TriedPart, scene: ReturnType<typeof sceneOf>, stop: AbortSignal) {
  const wanted: readonly string[] = trials[part];
  return diagnose(scene, stop, { isWanted: ({ id }) => wanted.includes(id) });
}

/** Tries the connections of a configuration that is not in force yet, and yields findings as they come. */
export async function* tryParts(
  configuration: Configuration,
  parts: readonly TriedPart[],
  ports: Pick<InitPorts, "clock" | "random">,
  stop: AbortSignal,
): AsyncGenerator<Finding & { readonly part: TriedPart }> {
  const told = new Set<string>();
  for (const part of parts) {
    for await (const finding of tryPart(part, sceneOf(configuration, ports), stop))
      if (!told.has(finding.check)) {
        told.add(finding.check);
        yield { part, ...finding };
      }
  }
}

type Loaded =
  | { readonly ok: true; readonly configuration: Configuration; readonly unset: readonly string[] }
  | { readonly ok: false; readonly problems: readonly Text[] };

/** Reads the files as `check` would, before they exist. Environment variables that are not set yet get placeholders. */
export async function loadedFrom(files: FirstFiles, file: string, env: InitPorts["env"]): Promise<Loaded> {
  const named = [...files.configuration.matchAll(/!env (\w+)/g)].map((match) => match[1] ?? "");
  const unset = named.filter((name) => env[name] === undefined);
  const texts = {
    [file]: files.configuration,
    [secretsBeside(file)]: secretLines(files.secrets),
  };
  const sources = {
    readFile: withTexts(texts),
    env: { ...env, ...Object.fromEntries(unset.map((name) => [name, "to-be-set"])) },
  };
  const result = await loadConfiguration(file, sources);
  return result.ok
    ? { ok: true, configuration: result.configuration, unset }
    : { ok: false, problems: result.problems.map(problemText) };
}
