import { counted, msg, type Text, textOf } from "../../language/text.js";
import { dirname } from "node:path";
import {
  type ConfigurationResult,
  loadConfiguration,
  mostConfigurationBytes,
  type ReadFile,
  secretsBeside,
  withTexts,
} from "../../config/load.js";
import { problemText } from "../../settings/problem.js";
import type { Configuration } from "../../config/schema.js";
import { isCamera } from "../../greenhouse/device-types.js";
import type { Tell } from "../../language/words.js";
import type { PlatformClient } from "../../platform/client.js";
import type { Clock } from "../../runtime/clock.js";
import type { Found } from "./controller-entry.js";
import { findingsOf } from "./findings.js";
import { listenToAccount } from "./listen.js";
import {
  type GivenFile,
  knownFile,
  movePaths,
  readGivenFile,
  type ReplacedSecret,
  secretLinesOf,
} from "./given-file.js";
import { type Meter, Progress } from "./progress.js";
import { scanAccount } from "./scan.js";
import { type DeviceSurvey, isComplete, type Selection, type Survey } from "./survey.js";
import { secretNames, textIn, withLines } from "../init/new-file.js";
import { commentText } from "../../saving/yaml-text.js";
import { newsText, wholeFileText } from "./whole-file.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** Judges the configuration at a place as if it had these contents and environment variables. */
export type Load = (reads: ReadFile, variables: Environment) => Promise<ConfigurationResult>;

/** Judges a file by itself, which is not possible for an account of a fleet. */
export const loadAt =
  (file: string, env: Environment): Load =>
  (reads, variables) =>
    loadConfiguration(file, { readFile: reads, env: { ...env, ...variables } });

/** What `check` would say of a text at `file`, once the secrets taken out of it are where they belong. */
export async function verdictOn(text: string, file: string, load: Load, replaced: readonly ReplacedSecret[]) {
  const variables = replaced
    .filter(({ tag }) => tag === "!env")
    .map(({ name, value }) => [name, value] as const);
  const lines = secretLinesOf(replaced);
  const secretsFile = secretsBeside(file);
  const secrets = lines === "" ? {} : { [secretsFile]: withLines(await textIn(secretsFile), lines) };
  const result = await load(withTexts({ [file]: text, ...secrets }), Object.fromEntries(variables));
  return {
    problems: result.ok ? [] : result.problems.map(problemText),
    warnings: result.warnings.map(problemText),
  };
}

/** Sentences about what a scan found, for the person who started it. */
function summaryOf({ devices, stations }: Survey): readonly Text[] {
  const cameras = devices.filter(({ device }) => isCamera(device.type)).length;
  const findings = devices.map(findingsOf);
  const count = (what: "actuators" | "parameters" | "doubtful") =>
    findings.reduce((total, found) => total + found[what].length, 0);
  const isOffline = devices.filter((device) => device.isOffline);
  const unanswered = devices.filter((device) => device.unanswered.length > 0);
  return [
    msg`found ${counted(devices.length, "device", "devices")} (${counted(cameras, "camera", "cameras")}) in ${counted(stations.length, "station", "stations")}: ${counted(count("actuators"), "actuator", "actuators")}, ${counted(count("parameters"), "parameter", "parameters")}, ${counted(count("doubtful"), "address", "addresses")} of unknown meaning`,
    ...incomplete(msg`not connected`, isOffline),
    ...incomplete(msg`not every question answered`, unanswered),
  ];
}

const mostNamed = 10;

function incomplete(what: Text, devices: readonly DeviceSurvey[]): readonly Text[] {
  if (devices.length === 0) return [];
  const named = devices.slice(0, mostNamed).map(({ device }) => commentText(device.code));
  const more = devices.length > mostNamed ? msg` and ${devices.length - mostNamed} more` : "";
  return [
    msg`${what}: ${named.join(", ")}${more}; run discover again later, it asks only for what is missing`,
  ];
}

export interface DiscoverRequest extends Selection {
  /** The configuration that leads to the platform, and its file. */
  readonly configuration: Configuration;
  readonly file: string;
  /** Where the text is meant to be, and how it is judged there. */
  readonly place: string;
  readonly load: Load;
  /** Forgets what an interrupted scan has learnt. */
  readonly fresh: boolean;
  /** Also learns addresses from what is pushed; `forMs` null: until it is stopped. */
  readonly listen: { readonly forMs: number | null } | null;
  /** Prints only what this configuration lacks; null for a whole file. */
  readonly merge: {
    readonly file: string;
    readonly configuration: Configuration;
    readonly text: string;
  } | null;
  /** The file to write; null for standard output. */
  readonly out: string | null;
  /** `greenhouse2mqtt 0.1.0`. */
  readonly writtenBy: string;
  /** The language of the comments. */
  readonly tell: Tell;
}

/**
 * Scans the account and writes down what was found. Only reads are sent. Rejects as `scanAccount` does, and keeps the
 * progress. Call `settle` once the text is safe and the progress is no longer needed.
 */
export async function discover(
  request: DiscoverRequest,
  around: { readonly platform: PlatformClient; readonly clock: Clock; readonly meter: Meter },
  stop: AbortSignal,
) {
  const { configuration, merge } = request;
  const { platform, clock, meter } = around;
  const { concurrency, ...at } = configuration.platform;
  const progress = new Progress(configuration.data_dir, [at.business_url, at.realtime_url], clock);
  await (request.fresh ? progress.discard() : progress.load()).catch((error: unknown) =>
    meter.note(msg`the progress of an earlier scan cannot be read, so all is asked: ${textOf(error)}`),
  );
  const { controllers } = merge?.configuration ?? configuration;
  const known = knownFile(controllers, merge?.text);
  // Read before the scan, so that an edit meanwhile does not mix with what the file said before.
  const given = merge === null ? await givenFor(request) : null;
  // Controllers that a file ignores are asked only if they are named.
  const isLeftOut = (code: string) => Object.hasOwn(controllers, code) && controllers[code]?.ignore === true;
  const parts = { platform, clock, budget: platform.budget, progress, meter, concurrency };
  const scanned = await scanAccount(request, isLeftOut, parts, stop).finally(() => meter.end());
  const { language } = configuration.homeassistant;
  const say = (line: Text) => meter.say(line);
  const { listen } = request;
  const survey =
    listen === null
      ? scanned
      : await listenToAccount(scanned, known, { platform, clock, say, language, forMs: listen.forMs }, stop);
  const found = { survey, known, language, tell: request.tell };
  const written =
    given === null
      ? newsIn(merge?.file ?? "", request.writtenBy, found)
      : await wholeFile(request, given, found, clock.now());
  // A text that is unusable will be written again, which should not need all the questions again.
  const isDone = isComplete(survey) && written.problems.length === 0;
  const settle = async () => {
    if (isDone) await progress.finish(survey.devices);
  };
  return { ...written, notes: [...summaryOf(survey), ...written.notes], settle };
}

async function givenFor({ file, place, out }: DiscoverRequest): Promise<GivenFile> {
  const taken = out === null ? null : await secretNames(secretsBeside(place));
  return readGivenFile(file, { folder: dirname(place), taken });
}

interface Written {
  readonly text: string;
  /** Sentences for the user. */
  readonly notes: readonly Text[];
  /** Why the text would not pass `check`; empty if it would. */
  readonly problems: readonly Text[];
  /** Lines for the secrets beside the text, to be added before the text is written. */
  readonly secrets: { readonly file: string; readonly lines: string } | null;
}

function newsIn(file: string, writtenBy: string, found: Found): Written {
  const { text, newControllers, newActuators } = newsText(file, writtenBy, found);
  const note = msg`not there yet: ${counted(newControllers, "device", "devices")}, ${counted(newActuators, "actuator", "actuators")}`;
  return { text, notes: [note], problems: [], secrets: null };
}

async function wholeFile(
  { file, place, load, writtenBy }: DiscoverRequest,
  given: GivenFile,
  found: Found,
  at: number,
): Promise<Written> {
  movePaths(given, dirname(file), dirname(place));
  const text = wholeFileText({ ...found, given, writtenBy, at });
  const { problems, warnings } = await verdictOn(text, place, load, given.replaced);
  const moved = given.replaced.map(({ path, tag, name }) => {
    const what = commentText(path.join("."));
    return tag === "!env"
      ? msg`${what} is not written out: set ${name} in the environment`
      : msg`${what} is kept in ${secretsBeside(place)} as ${name}`;
  });
  const lines = secretLinesOf(given.replaced);
  const isTooLarge = Buffer.byteLength(text) > mostConfigurationBytes;
  return {
    text,
    notes: [...moved, ...warnings],
    problems: [...problems, ...(isTooLarge ? [smaller] : [])],
    secrets: lines === "" ? null : { file: secretsBeside(place), lines },
  };
}

const smaller = msg`name the controllers that matter with --controller, or fewer parameter groups with --types, and run discover again; nothing is asked twice, because what was learnt is kept`;
