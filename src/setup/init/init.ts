import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ReadFile, readFile } from "../../config/files.js";
import { type ConfigurationSources, loadConfiguration } from "../../config/load.js";
import { formatProblem } from "../../config/problem.js";
import type { Configuration } from "../../config/schema.js";
import { nodeFiles } from "../../runtime/durable-file.js";
import type { Clock } from "../../runtime/clock.js";
import { silentLog } from "../../runtime/log.js";
import type { Random } from "../../runtime/random.js";
import { diagnose, openScene } from "../doctor/doctor.js";
import type { Finding } from "../doctor/finding.js";
import { defaultLimits } from "../doctor/scene.js";
import {
  type Answers,
  answersFrom,
  firstFiles,
  type FirstFiles,
  type GivenAnswers,
  secretLines,
} from "./answers.js";
import { askBroker, askPlatform, type Dialogue, findBrokers, GoneAway } from "./questions.js";
import { addLines, FileExists, mustTakeFiles, secretNames, writeNew } from "./new-file.js";

interface Trial {
  readonly ok: boolean;
  /** A sentence for each thing that was tried. */
  readonly lines: readonly string[];
}

/** What of the doctor's checks each answer is tried with. */
const trials: Readonly<Record<keyof Answers, readonly string[]>> = {
  platform: ["token", "realtime"],
  mqtt: ["broker"],
};

/** Asks both hosts one question each, or connects to the broker once, as `doctor` does. */
async function tried(configuration: Configuration, what: keyof Answers, ports: InitPorts): Promise<Trial> {
  const { clock, random, stop } = ports;
  // A token that was got for the trial is not kept: nothing is written before everything is known.
  const files = { ...nodeFiles, writePrivate: () => Promise.resolve() };
  const scene = openScene(configuration, { clock, random, log: silentLog, files }, defaultLimits);
  const findings: Finding[] = [];
  const isWanted = ({ id }: { readonly id: string }) => trials[what].includes(id);
  for await (const finding of diagnose(scene, isWanted, [], stop, () => undefined)) findings.push(finding);
  return {
    ok: findings.every(({ status }) => status !== "failed"),
    lines: findings.map(({ summary, remedy }) => [summary, remedy].filter(Boolean).join("; ")),
  };
}

interface InitOptions {
  /** Path of the configuration to write. */
  readonly file: string;
  readonly given: GivenAnswers;
  /** Connect before writing. */
  readonly tries: boolean;
}

export interface InitPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stop: AbortSignal;
  /** Null where there is no terminal; then the options must say everything. */
  readonly dialogue: Dialogue | null;
  readonly say: (text: string) => void;
  /** Addresses at which a broker may be. */
  readonly brokers: readonly string[];
}

/** Nothing was written, and why. */
class NotWritten extends Error {
  override name = "NotWritten" as const;
}

/**
 * Asks, tries and writes a first configuration. Rejects with FileExists, GoneAway, PlaceUnusable or NotWritten; nothing was
 * written then.
 */
export async function writeFirstConfiguration(options: InitOptions, ports: InitPorts): Promise<void> {
  const { file } = options;
  const secretsFile = join(dirname(file), "secrets.yaml");
  if (await lstat(file).catch(() => null)) throw new FileExists(file);
  await mustTakeFiles(dirname(file));
  const taken = await secretNames(secretsFile);
  if (taken === null)
    throw new NotWritten(`${secretsFile} is not a list of "name: value" lines; correct it or move it away`);
  const answers = await collected(options, ports);
  const { configuration, secrets } = firstFiles(answers, taken);
  await checked({ configuration, secrets }, options, ports);
  // The secrets first: a configuration that is there works.
  if (secrets.size > 0) await addLines(secretsFile, secretLines(secrets));
  await writeNew(file, configuration);
  const names = [...secrets.keys()].join(", ");
  if (secrets.size > 0) ports.say(`${secretsFile}: added ${names}`);
  ports.say(`${file}: written`);
  const flag = file === "config.yaml" ? "" : ` -c ${file}`;
  ports.say(`Now run  greenhouse2mqtt doctor${flag}    (does everything work?)`);
  ports.say(`then     greenhouse2mqtt discover${flag}  (which actuators are there?)`);
}

async function collected({ file, given, tries }: InitOptions, ports: InitPorts): Promise<Answers> {
  const { dialogue, clock } = ports;
  if (dialogue === null) {
    const answers = answersFrom(given);
    await settled(answers, file, tries, ports);
    return answers;
  }
  const isOther = async (what: keyof Answers, answers: Answers) =>
    tries && (await wantsOther(() => trial(answers, file, what, ports), dialogue));
  let platform = await askPlatform(dialogue, given);
  while (await isOther("platform", { platform, mqtt: {} }))
    platform = await askPlatform(dialogue, {}, platform);
  const find = () => findBrokers(ports.brokers, clock);
  let mqtt = await askBroker(dialogue, given, find);
  while (mqtt.url !== undefined && (await isOther("mqtt", { platform, mqtt })))
    mqtt = await askBroker(dialogue, {}, find, mqtt);
  return { platform, mqtt };
}

/** Without a terminal a failed trial ends it. */
async function settled(answers: Answers, file: string, tries: boolean, ports: InitPorts): Promise<void> {
  if (!tries) return;
  for (const what of ["platform", "mqtt"] as const) {
    const result = await trial(answers, file, what, ports);
    for (const line of result?.lines ?? []) ports.say(line);
    if (result?.ok === false)
      throw new NotWritten(
        "nothing was written; correct the options, or add --no-try to write it all the same",
      );
  }
}

/** Tells how a trial went. True when the person wants to answer again. */
async function wantsOther(run: () => Promise<Trial | null>, dialogue: Dialogue): Promise<boolean> {
  dialogue.say("Trying it …");
  const result = await run();
  for (const line of result?.lines ?? []) dialogue.say(`  ${line}`);
  if (result?.ok !== false) return false;
  const way = await dialogue.choose("That did not work.", [
    ["again", "answer again"],
    ["keep", "keep it as it is"],
    ["stop", "stop, and write nothing"],
  ]);
  if (way === "stop") throw new GoneAway();
  return way === "again";
}

/** Null where it cannot be tried: the embedded broker, or a secret that is not at hand here. */
async function trial(
  answers: Answers,
  file: string,
  what: keyof Answers,
  ports: InitPorts,
): Promise<Trial | null> {
  if (what === "mqtt" && answers.mqtt.url === undefined) return null;
  const loaded = await loadedFrom(firstFiles(answers, new Set()), file, ports.env);
  if (!loaded.ok) return { ok: false, lines: loaded.problems };
  if (loaded.unset.length > 0)
    return { ok: true, lines: [`not tried: ${loaded.unset.join(", ")} is not set in this environment`] };
  return tried(loaded.configuration, what, ports);
}

type Loaded =
  | { readonly ok: true; readonly configuration: Configuration; readonly unset: readonly string[] }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Reads the files as `check` would, before they exist. Variables of a later environment stand for themselves. */
async function loadedFrom(files: FirstFiles, file: string, env: InitPorts["env"]): Promise<Loaded> {
  const named = [...files.configuration.matchAll(/!env (\w+)/g)].map((match) => match[1] ?? "");
  const unset = named.filter((name) => env[name] === undefined);
  const secretsFile = join(dirname(file), "secrets.yaml");
  const texts = new Map([
    [file, files.configuration],
    [secretsFile, secretLines(files.secrets)],
  ]);
  const fromMemory: ReadFile = (path, limit) => {
    const text = texts.get(path);
    return text === undefined
      ? readFile(path, limit)
      : Promise.resolve({ ok: true, bytes: new TextEncoder().encode(text), mode: 0o600 });
  };
  const sources: ConfigurationSources = {
    readFile: fromMemory,
    env: { ...env, ...Object.fromEntries(unset.map((name) => [name, "to-be-set"])) },
  };
  const result = await loadConfiguration(file, sources);
  return result.ok
    ? { ok: true, configuration: result.configuration, unset }
    : { ok: false, problems: result.problems.map(formatProblem) };
}

async function checked(files: FirstFiles, { file }: InitOptions, { env }: InitPorts): Promise<void> {
  const loaded = await loadedFrom(files, file, env);
  if (!loaded.ok)
    throw new NotWritten(
      `nothing was written, because it would not pass a check:\n${loaded.problems.join("\n")}`,
    );
}
