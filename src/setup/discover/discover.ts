import { dirname } from "node:path";
import type { Configuration } from "../../config/schema.js";
import type { PlatformClient } from "../../platform/client.js";
import type { Clock } from "../../runtime/clock.js";
import { readGivenFile } from "./given-file.js";
import { knownFile, type KnownFile } from "./known-file.js";
import { movePaths } from "./moved-paths.js";
import { newsText } from "./news-text.js";
import { Pace } from "./pace.js";
import type { Selection } from "./plan.js";
import { Progress } from "./progress.js";
import { scanAccount } from "./scan.js";
import type { ScanWatcher } from "./scan-context.js";
import { verdictOn } from "./self-check.js";
import { summaryOf } from "./summary.js";
import { isComplete, type Ask, type Survey } from "./survey.js";
import { wholeFileText } from "./whole-file.js";

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
  await (request.fresh ? progress.discard() : progress.load());
  const extras = () => {
    const { retries, signins } = platform.counters();
    return retries + signins;
  };
  const pace = new Pace(perMinute, clock, extras);
  const known = knownFile(request.merge?.configuration ?? configuration, request.merge?.text);
  const chosen = { ...request, isLeftOut: ignoredIn(request.merge?.configuration ?? configuration) };
  const survey = await scanAccount(
    chosen,
    { platform, clock, pace, progress, watcher, concurrency },
    stop,
  ).finally(() => {
    watcher.end();
  });
  const settle = () => (isComplete(survey) ? progress.finish(questionsOf(survey)) : progress.save());
  return { ...(await written(request, survey, known, clock)), settle };
}

async function written(
  request: DiscoverRequest,
  survey: Survey,
  known: KnownFile,
  clock: Clock,
): Promise<Omit<Discovered, "settle">> {
  const { configuration, file, out, merge, env, writtenBy } = request;
  const { language } = configuration.homeassistant;
  const notes = summaryOf(survey);
  if (merge !== null) {
    const { text, newControllers, newActuators } = newsText(merge.file, writtenBy, {
      survey,
      known,
      language,
    });
    return {
      text,
      notes: [...notes, `new: ${newControllers} devices, ${newActuators} actuators`],
      problems: [],
    };
  }
  const given = await readGivenFile(file);
  if (out !== null) movePaths(given, dirname(file), dirname(out));
  const text = wholeFileText({ given, known, survey, language, writtenBy, at: clock.now() });
  const { problems, warnings } = await verdictOn(text, out ?? file, env, given.replaced);
  const variables = given.replaced.map(
    ({ path, variable }) => `${path.join(".")} is not written out: set ${variable} in the environment`,
  );
  return { text, notes: [...notes, ...variables, ...warnings], problems };
}

/** Controllers a file ignores are not asked, unless they are named. */
const ignoredIn =
  ({ controllers }: Configuration) =>
  (code: string): boolean =>
    Object.hasOwn(controllers, code) && controllers[code]?.ignore === true;

const questionsOf = ({ devices }: Survey): readonly (readonly [string, Ask])[] =>
  devices.flatMap(({ device, answers }) => [...answers.keys()].map((ask) => [device.code, ask] as const));
