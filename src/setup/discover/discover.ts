import { dirname } from "node:path";
import { mostConfigurationBytes } from "../../config/read-text.js";
import type { Configuration } from "../../config/schema.js";
import type { PlatformClient } from "../../platform/client.js";
import type { Clock } from "../../runtime/clock.js";
import type { PartSources } from "./controller-parts.js";
import { readGivenFile, type GivenFile } from "./given-file.js";
import { knownFile } from "./known-file.js";
import { movePaths } from "./moved-paths.js";
import { newsText } from "./news-text.js";
import { Pace } from "./pace.js";
import type { Selection } from "./plan.js";
import { Progress } from "./progress.js";
import { scanAccount } from "./scan.js";
import { commentText } from "./safe-text.js";
import type { ScanWatcher } from "./scan-context.js";
import { verdictOn } from "./self-check.js";
import { counted, summaryOf } from "./summary.js";
import { isComplete, type Ask, type Survey } from "./survey.js";
import { fittingText } from "./whole-file.js";

export interface DiscoverRequest extends Selection {
  /** The configuration that leads to the platform, and its file. */
  readonly configuration: Configuration;
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Forget what an interrupted scan learnt. */
  readonly fresh: boolean;
  /** Print only what this configuration does not hold yet; null for a whole file. */
  readonly merge: {
    readonly file: string;
    readonly configuration: Configuration;
    readonly text: string;
  } | null;
  /** Where the text is going to lie; null while nobody knows. */
  readonly out: string | null;
  /** `greenhouse2mqtt 0.1.0`. */
  readonly writtenBy: string;
}

export interface DiscoverPorts {
  readonly platform: PlatformClient;
  readonly clock: Clock;
  readonly watcher: ScanWatcher;
}

export interface Discovered {
  readonly text: string;
  /** Sentences for the user. */
  readonly notes: readonly string[];
  /** Why the text would not pass `check`; empty when it does. */
  readonly problems: readonly string[];
  /** To be called once the text is safe: the kept progress is no longer needed. */
  readonly settle: () => Promise<void>;
}

/**
 * Scans the account and writes down what was found. Only reads are sent. Rejects as `scanAccount` does; the progress is
 * kept then.
 */
export async function discover(
  request: DiscoverRequest,
  ports: DiscoverPorts,
  stop: AbortSignal,
): Promise<Discovered> {
  const { configuration } = request;
  const { platform, clock, watcher } = ports;
  const { requests_per_minute: perMinute, concurrency } = configuration.platform;
  const hosts = [configuration.platform.business_url, configuration.platform.realtime_url] as const;
  const progress = new Progress(configuration.data_dir, hosts, clock);
  await loadProgress(progress, request.fresh, watcher);
  const extras = () => {
    const { retries, signins } = platform.counters();
    return retries + signins;
  };
  const pace = new Pace(perMinute, clock, extras);
  const known = knownFile(request.merge?.configuration ?? configuration, request.merge?.text);
  // Read before the scan: a file that is edited meanwhile must not be mixed with what it said before.
  const given = request.merge === null ? await readGivenFile(request.file) : null;
  const chosen = { ...request, isLeftOut: ignoredIn(request.merge?.configuration ?? configuration) };
  const parts = { platform, clock, pace, progress, watcher, concurrency };
  const survey = await scanAccount(chosen, parts, stop).finally(() => {
    watcher.end();
  });
  const sources = {
    survey,
    known,
    style: { language: configuration.homeassistant.language, isBrief: false },
  };
  const found =
    given === null
      ? newsIn(request.merge?.file ?? "", request.writtenBy, sources)
      : await wholeFile(request, given, sources, clock.now());
  // What cannot be used as it is will be written once more, and nobody wants to ask all of it again.
  const isDone = isComplete(survey) && found.problems.length === 0;
  const settle = () => (isDone ? progress.finish(questionsOf(survey)) : progress.save());
  return { ...found, notes: [...summaryOf(survey), ...found.notes], settle };
}

async function loadProgress(progress: Progress, fresh: boolean, watcher: ScanWatcher): Promise<void> {
  await (fresh ? progress.discard() : progress.load()).catch((error: unknown) => {
    watcher.note(`the progress of an earlier scan cannot be read, so all is asked: ${String(error)}`);
  });
}

type Text = Omit<Discovered, "settle">;

function newsIn(file: string, writtenBy: string, sources: PartSources): Text {
  const { text, newControllers, newActuators } = newsText(file, writtenBy, sources);
  return {
    text,
    notes: [`new: ${counted(newControllers, "device")}, ${counted(newActuators, "actuator")}`],
    problems: [],
  };
}

async function wholeFile(
  { file, out, env, writtenBy }: DiscoverRequest,
  given: GivenFile,
  sources: PartSources,
  at: number,
): Promise<Text> {
  if (out !== null) movePaths(given, dirname(file), dirname(out));
  const { text, isBrief, excessBytes } = fittingText({ ...sources, given, writtenBy, at });
  const { problems, warnings } =
    excessBytes === null
      ? await verdictOn(text, out ?? file, env, given.replaced)
      : { problems: [tooLarge(excessBytes)], warnings: [] };
  const variables = given.replaced.map(
    ({ path, variable }) =>
      `${commentText(path.join("."))} is not written out: set ${variable} in the environment`,
  );
  const shortened = isBrief
    ? ["readings and running statuses are left out, the file would be too large"]
    : [];
  return { text, notes: [...variables, ...shortened, ...warnings], problems };
}

const inMiB = (bytes: number): string => (bytes / 1_048_576).toFixed(1);

const tooLarge = (bytes: number): string =>
  `it has ${inMiB(bytes)} MiB and a configuration may have ${inMiB(mostConfigurationBytes)}: name the controllers that matter ` +
  "with --controller, or fewer parameter groups with --types, and run discover again; nothing is asked twice, because what was learnt is kept";

/** Controllers a file ignores are not asked, unless they are named. */
const ignoredIn =
  ({ controllers }: Configuration) =>
  (code: string): boolean =>
    Object.hasOwn(controllers, code) && controllers[code]?.ignore === true;

const questionsOf = ({ devices }: Survey): readonly (readonly [string, Ask])[] =>
  devices.flatMap(({ device, answers }) => [...answers.keys()].map((ask) => [device.code, ask] as const));
