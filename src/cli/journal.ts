import { journalDirectory } from "../journal/open.js";
import { followRecords, newestRecords } from "../journal/reader.js";
import { commandOutcomes, type JournalRecord } from "../journal/records.js";
import { listingProblem } from "../journal/segments.js";
import { journalTable } from "../journal/table.js";
import { systemClock } from "../runtime/clock.js";
import { parseSince } from "../runtime/duration.js";
import { codeOf } from "./read.js";
import { readConfiguration } from "./errands.js";
import {
  CommandFailure,
  type CommonOptions,
  endOfUse,
  exitCodes,
  type Surroundings,
} from "./surroundings.js";

interface JournalOptions extends CommonOptions {
  readonly controller?: string;
  readonly since?: string;
  readonly limit?: number;
  readonly json?: boolean;
  readonly follow?: boolean;
}

const defaultLimit = 100;

const jsonLine = (record: JournalRecord): string => JSON.stringify(record);

/** `greenhouse2mqtt journal`: past commands as a table or as JSON lines; `--follow` goes on with new ones. */
export async function journal(around: Surroundings, options: JournalOptions): Promise<void> {
  const configuration = await readConfiguration(options, around);
  const directory = journalDirectory(configuration.data_dir);
  const sinceMs = options.since === undefined ? undefined : parseSince(options.since, systemClock.now());
  if (sinceMs === null) {
    throw new CommandFailure('--since must be an ISO time or a duration such as "2h"', exitCodes.usage);
  }
  const { controller } = options;
  const controllers =
    controller === undefined ? undefined : new Set([controller, codeOf(configuration, controller)]);
  const filter = { types: commandOutcomes, controllers, sinceMs };
  // Who names a time means all since then.
  const limit = options.limit ?? (sinceMs === undefined ? defaultLimit : Infinity);
  const problem = await listingProblem(directory);
  if (problem !== null) throw problem;
  const past = await newestRecords(directory, { ...filter, limit });
  const isFiltered = controllers !== undefined || sinceMs !== undefined;
  const { json: isJson = false, follow: grows = false } = options;
  const { text, line } = isJson
    ? { text: past.map(jsonLine).join("\n"), line: jsonLine }
    : journalTable(past, { grows });
  if (!grows) {
    if (past.length > 0) around.out(`${text}\n`);
    else if (!isJson) around.out(`no commands${isFiltered ? " that match" : " yet"} in ${directory}\n`);
    return;
  }
  if (text !== "") around.out(`${text}\n`);
  const end = endOfUse(around);
  const after = past.at(-1)?.seq ?? 0;
  for await (const record of followRecords(directory, { clock: systemClock, after, filter }, end)) {
    around.out(`${line(record)}\n`);
  }
}
