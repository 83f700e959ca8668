import { msg, type Text } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import { journalDirectory } from "../journal/open.js";
import { followRecords, newestEntries, readHistory } from "../journal/reader.js";
import { listingProblem } from "../journal/segments.js";
import { journalTable, timelineCsv } from "../journal/timeline-table.js";
import {
  isWanted,
  Timeline,
  type TimelineEntry,
  type TimelineKind,
  timelineKinds,
  withControllerId,
} from "../journal/timeline.js";
import type { Configuration } from "../config/schema.js";
import { controllerTopicId, topicIdOfEither } from "../settings/controllers.js";
import { systemClock } from "../runtime/clock.js";
import { parseSince } from "../runtime/duration.js";
import { codeOf } from "../terminal/common.js";
import { features } from "../config/features.js";
import { loggerFor, readConfiguration } from "../terminal/common.js";
import { usageFailure } from "../runtime/ending.js";
import { type CommonOptions, endOfUse, type ProcessContext } from "../terminal/context.js";

interface JournalOptions extends CommonOptions {
  readonly controller?: string;
  readonly since?: string;
  readonly limit?: number;
  /** One, or several separated by commas. */
  readonly kind?: string;
  readonly json?: boolean;
  readonly csv?: boolean;
  readonly follow?: boolean;
}

const defaultLimit = 100;

const jsonLine = (entry: TimelineEntry): string => JSON.stringify(entry);

/** Commands, and those that rules sent, if no kind is named. */
function kindsOf(given = "command,rule"): ReadonlySet<TimelineKind> {
  if (given === "all") return new Set(timelineKinds);
  const kinds = given.split(",").map((word) => timelineKinds.find((kind) => kind === word.trim()));
  if (kinds.every((kind) => kind !== undefined)) return new Set(kinds);
  throw usageFailure(
    msg`--kind must be "all", or some of ${timelineKinds.join(", ")} with commas between them`,
  );
}

function nothingIn(directory: string, kind: string | undefined, isFiltered: boolean): Text {
  if (kind === undefined)
    return isFiltered ? msg`no commands that match in ${directory}` : msg`no commands yet in ${directory}`;
  return isFiltered ? msg`nothing that matches in ${directory}` : msg`nothing yet in ${directory}`;
}

/** Moves the journal between files and the stream of a cluster. */
async function move(
  context: ProcessContext,
  what: string,
  folder: string | undefined,
  options: CommonOptions,
): Promise<void> {
  const isMeant = what === "import" ? folder === undefined : what === "export" && folder !== undefined;
  if (!isMeant) throw usageFailure(msg`expected \`journal export DIR\`, \`journal import\`, or neither`);
  const { exportJournal, importJournal } = await features.cluster.journalMoves();
  const configuration = await readConfiguration(options, context);
  const moving = {
    configuration,
    account: options.account,
    log: loggerFor(configuration, context),
    stop: endOfUse(context),
    say: (text: Text) => context.out(`${context.speech.tell(text)}\n`),
  };
  await (folder === undefined ? importJournal(moving) : exportJournal(moving, folder));
}

/**
 * `greenhouse2mqtt journal`: past commands, and with `--kind` other events, as a table or as JSON lines; `--follow`
 * goes on with new ones.
 */
export async function journal(
  context: ProcessContext,
  what: string | undefined,
  folder: string | undefined,
  options: JournalOptions,
): Promise<void> {
  await (what === undefined ? show(context, options) : move(context, what, folder, options));
}

/** The topic id of a controller that a record names by its code or by that id. */
export const idIn =
  (controllers: Readonly<Record<string, { readonly id?: string | undefined }>>) =>
  (one: string): string => {
    if (Object.hasOwn(controllers, one)) return controllers[one]?.id ?? controllerTopicId(one);
    return topicIdOfEither(one);
  };

/** Names the controller as topics do. */
const withId = ({ controllers }: Configuration) => {
  const idOf = idIn(controllers);
  return (entry: TimelineEntry): TimelineEntry => withControllerId(entry, idOf);
};

async function show(context: ProcessContext, options: JournalOptions): Promise<void> {
  const configuration = await readConfiguration(options, context);
  const { tell } = context.speech;
  const directory = journalDirectory(configuration.data_dir);
  const sinceMs = options.since === undefined ? undefined : parseSince(options.since, systemClock.now());
  if (sinceMs === null) {
    throw usageFailure(msg`--since must be an ISO time or a duration such as "2h"`);
  }
  const { controller } = options;
  const controllers =
    controller === undefined ? undefined : new Set([controller, codeOf(configuration, controller)]);
  const filter = { kinds: kindsOf(options.kind), controllers, sinceMs };
  // With a time, everything since then is shown.
  const limit = options.limit ?? (sinceMs === undefined ? defaultLimit : Infinity);
  const problem = await listingProblem(directory);
  if (problem !== null) throw problem;
  const { entries: past } = await newestEntries(directory, { ...filter, limit });
  const shown = withId(configuration);
  if (options.csv === true) {
    context.out(timelineCsv(past.map(shown).toReversed()));
    return;
  }
  const isFiltered = controllers !== undefined || sinceMs !== undefined || options.kind !== undefined;
  const { json: isJson = false, follow: grows = false } = options;
  const { text, line } = isJson
    ? { text: past.map(jsonLine).join("\n"), line: jsonLine }
    : journalTable(past.map(shown), { grows, tell });
  if (!grows) {
    if (past.length > 0) context.out(`${text}\n`);
    else if (!isJson) context.out(`${tell(nothingIn(directory, options.kind, isFiltered))}\n`);
    return;
  }
  if (text !== "") context.out(`${text}\n`);
  const end = endOfUse(context);
  const after = past.at(-1)?.seq ?? 0;
  const timeline = new Timeline(await readHistory(directory).catch(ignored));
  for await (const record of followRecords(directory, { clock: systemClock, after }, end))
    for (const entry of timeline.entries(record))
      if (isWanted(entry, filter)) context.out(`${line(isJson ? entry : shown(entry))}\n`);
}
