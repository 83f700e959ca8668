import type { Language } from "../../greenhouse/labels.js";
import { languages } from "../../language/known.js";
import { statements } from "../../language/lists.js";
import { msg, type Text, TextError, textOf as sentenceOf } from "../../language/text.js";
import type { Tell } from "../../language/words.js";
import { nullIfFailed } from "../../runtime/failures.js";
import { lstat } from "node:fs/promises";
import { dirname } from "node:path";
import { isMap } from "yaml";
import { z } from "zod";
import { secretsBeside, withTexts } from "../../config/load.js";
import type { Configuration } from "../../config/schema.js";
import { actuatorKinds } from "../../greenhouse/actuator-kinds.js";
import { suggestedBands } from "../../greenhouse/bands.js";
import { isDevice, scannedTypes } from "../../greenhouse/device-types.js";
import { createPlatform } from "../../platform/client.js";
import { nodeFiles } from "../../runtime/file-system.js";
import { silentLog } from "../../runtime/log.js";
import { passwordWeakness } from "../../runtime/passwords.js";
import { knownFile, readGivenFile, sectionIn } from "../discover/given-file.js";
import { Meter, Progress } from "../discover/progress.js";
import { scanAccount } from "../discover/scan.js";
import type { Survey } from "../discover/survey.js";
import { wholeFileText } from "../discover/whole-file.js";
import { editedYaml, keyOf, textIn as scalarIn } from "../../saving/yaml-text.js";
import { type Answers, everyAddress, firstFiles } from "./answers.js";
import { givenAnswers } from "./given-answers.js";
import {
  callOf,
  type InitPorts,
  loadedFrom,
  NotWritten,
  outcomeOf,
  withDataDir,
  writeFiles,
} from "./init.js";
import { FileExists, mustTakeFiles, secretNames } from "./new-file.js";
import { findBrokers, adminOf } from "./questions.js";

/* The steps of `init --web` in the browser. Each step gets all answers so far; only the last one writes. */

export interface WebPorts extends Omit<InitPorts, "dialogue" | "speech"> {
  /** `greenhouse2mqtt 0.1.0`. */
  readonly writtenBy: string;
  /** The port of this page, which the bridge's page will take over; null for the usual one. */
  readonly port: () => number | null;
  readonly speech: { choose(language: Language): Promise<void>; readonly tell: Tell };
  /** The bridge's future page, with its QR code if a phone can reach it. */
  readonly pageAddress: (configuration: Configuration) => Promise<WrittenPage | null>;
  /** Called once the files are written, with the command that runs the bridge. */
  readonly onDone: (call: string, configuration: Configuration) => void;
}

/** The last step's answer about the bridge's page. `qr`: a picture as a data URL. */
interface WrittenPage {
  readonly page: string;
  readonly qr: string | null;
}

/** A step that cannot be done, with a sentence for the person. */
class StepRefused extends TextError {
  override name = "StepRefused" as const;
}

export type Step = (input: unknown) => Promise<unknown>;

const answered = z.looseObject({ platform: z.unknown(), mqtt: z.unknown().optional() });
const name = z.string().trim().max(100);
const edits = z.object({
  language: z.enum(languages).default("en"),
  user: z.object({ username: name.min(1), password: z.string() }).nullish(),
  /** Whether phones and other computers may open the page too. */
  phones: z.boolean().default(false),
  alarms: z.boolean().default(false),
  controllers: z
    .record(
      z.string(),
      z.object({
        name,
        hidden: z.boolean(),
        actuators: z.record(z.string(), z.object({ name, kind: z.enum(actuatorKinds), hidden: z.boolean() })),
      }),
    )
    .default({}),
});
type Edits = z.output<typeof edits>;
const chosen = z.looseObject({ language: z.enum(languages) });
const isTried = (answer: unknown): answer is { readonly lines: readonly Text[] } =>
  typeof answer === "object" && answer !== null && "lines" in answer;

/** The answers so far, parsed like those of `--answers FILE`. */
function answersIn(input: unknown): Answers {
  const { platform, mqtt = {} } = answered.parse(input);
  const answers = givenAnswers(JSON.stringify({ platform, mqtt }), {});
  if (!("platform" in answers)) throw new StepRefused(statements(answers));
  return answers;
}

/** The file to write, and what was found in the account. */
interface Draft {
  readonly file: string;
  readonly ports: WebPorts;
  found: Survey | null;
}

/** Browser and terminal use the language chosen in the browser. */
const spokenSteps = (steps: Readonly<Record<string, Step>>, speech: WebPorts["speech"]) =>
  Object.fromEntries(
    Object.entries(steps).map(([name, step]): [string, Step] => [
      name,
      async (input) => {
        const { data } = chosen.safeParse(input);
        if (data !== undefined) await speech.choose(data.language);
        try {
          const answer = await step(input);
          return isTried(answer) ? { ...answer, lines: answer.lines.map(speech.tell) } : answer;
        } catch (error) {
          throw new Error(speech.tell(sentenceOf(error)), { cause: error });
        }
      },
    ]),
  );

export function webSteps(file: string, ports: WebPorts): Readonly<Record<string, Step>> {
  const draft: Draft = { file, ports, found: null };
  const steps = {
    platform: (input: unknown) => outcomeOf({ ...answersIn(input), mqtt: {} }, "platform", file, ports),
    brokers: () => findBrokers(ports.brokers, ports.clock),
    bands: () => Promise.resolve(suggestedBands),
    broker: (input: unknown) => brokerOutcome(answersIn(input), draft),
    discover: async (input: unknown) => {
      const { language } = edits.parse(input);
      const answers = answersIn(input);
      draft.found = await surveyOf(answers, file, ports);
      const { text } = await textOf(answers, language, draft);
      return { controllers: controllersIn(text, draft.found) };
    },
    write: (input: unknown) => write(edits.parse(input), answersIn(input), draft),
  };
  return spokenSteps(steps, ports.speech);
}

const brokerOutcome = async (answers: Answers, { file, ports }: Draft) =>
  answers.mqtt.url === undefined
    ? { ok: true, areSwapped: false, lines: [] }
    : outcomeOf(answers, "broker", file, ports);

/** The text that `init` would write or, after a scan of the account, `discover`. */
async function textOf(answers: Answers, language: Language, { file, ports, found }: Draft) {
  const secretsFile = secretsBeside(file);
  const taken = await secretNames(secretsFile);
  if (taken === null)
    throw new StepRefused(msg`${secretsFile} is not a list of "name: value" lines; move it away`);
  const files = firstFiles(await withDataDir(answers, file, ports), taken, ports.speech.tell);
  if (found === null) return { ...files, text: files.configuration };
  const given = await readGivenFile(file, undefined, withTexts({ [file]: files.configuration }));
  const { writtenBy, clock } = ports;
  const at = clock.now();
  const text = wholeFileText({
    survey: found,
    known: knownFile({}),
    language,
    tell: ports.speech.tell,
    given,
    writtenBy,
    at,
  });
  return { ...files, text };
}

async function write(given: Edits, answers: Answers, draft: Draft) {
  const { file, ports } = draft;
  const { text, ...files } = await textOf(answers, given.language, draft);
  const whole = { ...files, configuration: await edit(text, given, ports.port()) };
  if (await lstat(file).catch(nullIfFailed)) throw new FileExists(file);
  await mustTakeFiles(dirname(file));
  const loaded = await loadedFrom(whole, file, ports.env);
  if (!loaded.ok) throw new NotWritten(msg`nothing was written: ${statements(loaded.problems)}`);
  await writeFiles(whole, file, ports.say);
  const [program, flag] = await callOf(file, loaded.configuration);
  ports.onDone(`${program} run${flag}`, loaded.configuration);
  return { file, page: null, qr: null, ...(await ports.pageAddress(loaded.configuration)) };
}

/** Scans the account; only reads are sent, and nothing is kept on disk. */
async function surveyOf(answers: Answers, file: string, ports: WebPorts): Promise<Survey> {
  const { clock, random, stop } = ports;
  const loaded = await loadedFrom(firstFiles(answers, new Set()), file, ports.env);
  if (!loaded.ok) throw new StepRefused(statements(loaded.problems));
  const { configuration } = loaded;
  const { concurrency, business_url, realtime_url, requests_per_minute } = configuration.platform;
  const dataDir = configuration.data_dir;
  // The token for this is not kept: nothing is written before everything is known.
  const files = { ...nodeFiles, writePrivate: () => Promise.resolve() };
  const platform = createPlatform(configuration.platform, { clock, random, log: silentLog, dataDir, files });
  const meter = new Meter({ write: () => undefined }, clock, requests_per_minute);
  const progress = new Progress(dataDir, [business_url, realtime_url], clock);
  const parts = { platform, clock, budget: platform.budget, progress, meter, concurrency };
  try {
    const survey = await scanAccount({ controllers: [], types: scannedTypes }, () => false, parts, stop);
    await progress.discard();
    return survey;
  } finally {
    meter.end();
    await platform.close();
  }
}

/** The parts of `discover`'s text that a person may rename, give another kind, or leave out; greenhouses first. */
function controllersIn(text: string, { devices }: Survey) {
  const [houses, others]: [object[], object[]] = [[], []];
  editedYaml(text, (root) => {
    for (const { key, value } of sectionIn(root, "controllers").items) {
      const code = keyOf(key);
      const device = devices.find((one) => one.device.code === code)?.device;
      const title = device?.name ?? code;
      const actuators = sectionIn(value, "actuators").items.map(({ key: id, value: own }) => ({
        id: keyOf(id),
        kind: scalarIn(own, "kind"),
        name: scalarIn(own, "name") ?? keyOf(id),
        address: scalarIn(own, "address"),
        now: (own as { readonly comment?: string | null }).comment?.trim() ?? null,
      }));
      const place = isDevice(device?.type ?? null) ? others : houses;
      place.push({ code, title, name: scalarIn(value, "name") ?? "", actuators });
    }
  });
  return [...houses, ...others];
}

async function edit(
  text: string,
  { language, user, phones, alarms, controllers }: Edits,
  port: number | null,
): Promise<string> {
  const weakness = user ? passwordWeakness(user.password) : null;
  if (weakness !== null) throw new StepRefused(msg`This password will not do: ${weakness}.`);
  if (phones && !user)
    throw new StepRefused(
      msg`The page is for other computers only with a login: give a name and a password.`,
    );
  const users = user ? [await adminOf(user.username, user.password)] : null;
  return editedYaml(text, (root, set) => {
    if (language !== "en") set(["language"], language);
    if (port !== null) set(["http", "port"], port);
    if (phones) set(["http", "host"], everyAddress);
    if (users !== null) set(["http", "users"], users);
    if (alarms) set(["alarms"], suggestedBands);
    for (const { key, value } of sectionIn(root, "controllers").items) {
      const code = keyOf(key);
      const given = Object.hasOwn(controllers, code) ? controllers[code] : undefined;
      if (given === undefined) continue;
      if (given.hidden) set(["controllers", code], { ignore: true });
      else if (given.name !== "" && given.name !== scalarIn(value, "name"))
        set(["controllers", code, "name"], given.name);
      if (!given.hidden)
        editActuators(value, given.actuators, (id, key, to) =>
          set(["controllers", code, "actuators", id, key], to),
        );
    }
  });
}

function editActuators(
  controller: unknown,
  given: Edits["controllers"][string]["actuators"],
  set: (id: string, key: string, to: string) => void,
): void {
  const section = sectionIn(controller, "actuators");
  for (const { key, value } of [...section.items]) {
    const id = keyOf(key);
    const wanted = Object.hasOwn(given, id) ? given[id] : undefined;
    if (wanted === undefined || !isMap(value)) continue;
    if (wanted.hidden) section.delete(id);
    else {
      if (wanted.kind !== scalarIn(value, "kind")) set(id, "kind", wanted.kind);
      if (wanted.name !== "" && wanted.name !== scalarIn(value, "name")) set(id, "name", wanted.name);
    }
  }
  // A section without entries would be a key without a value.
  if (section.items.length === 0 && isMap(controller)) controller.delete("actuators");
}
