import { msg, row, textOf } from "../language/text.js";
import { type HistoryPoint, PlatformError } from "../greenhouse/ports.js";
import type { PlatformClient } from "../platform/client.js";
import { historyIn } from "../platform/decode/history.js";
import { timeReader } from "../platform/time.js";
import { zoneOffset } from "../runtime/zone.js";
import { systemClock } from "../runtime/clock.js";
import { csvText } from "../runtime/csv.js";
import { parseSince } from "../runtime/duration.js";
import { widthOf, pad } from "../runtime/text-table.js";
import { commentText } from "../saving/yaml-text.js";
import { readConfiguration, withPlatform } from "../terminal/common.js";
import { codeOf } from "../terminal/common.js";
import { keyAndValue, listedCode } from "./read.js";
import { CommandFailure, usageFailure } from "../runtime/ending.js";
import type { CommonOptions, ProcessContext } from "../terminal/context.js";

interface HistoryOptions extends CommonOptions {
  readonly since?: string;
  readonly csv?: boolean;
}

const operation = "weather-data/list";

/**
 * `greenhouse2mqtt history CONTROLLER`: past readings, if the platform has them; a table on a terminal, JSON lines in a
 * pipe, or CSV.
 */
export async function history(
  context: ProcessContext,
  controller: string,
  parameters: readonly string[],
  options: HistoryOptions,
): Promise<void> {
  const query = Object.fromEntries(parameters.map(keyAndValue));
  const now = systemClock.now();
  const since = options.since === undefined ? null : parseSince(options.since, now);
  if (options.since !== undefined && since === null)
    throw usageFailure(msg`--since must be an ISO time or a duration such as "24h"`);
  const configuration = await readConfiguration(options, context);
  const [code, answer] = await withPlatform(configuration, context, async (platform) => {
    const listed = await listedCode(platform, codeOf(configuration, controller), context.stop);
    return [listed, await ask(platform, listed, query, context.stop)];
  });
  const readTime = timeReader(zoneOffset(configuration.platform.time_zone));
  const { points, truncated } = historyIn(answer, readTime, now, code);
  const wanted = points.filter(({ at }) => since === null || at >= since);
  if (truncated)
    context.err.write(
      `${context.speech.tell(msg`the answer holds more than can be shown; ask for a shorter time`)}\n`,
    );
  if (points.length === 0)
    throw new CommandFailure(
      msg`${operation} gives no past readings of ${commentText(code)} that could be read; \`greenhouse2mqtt get ${operation} deviceCode=${commentText(code)}\` shows the answer as it came`,
    );
  if (wanted.length === 0)
    throw new CommandFailure(
      msg`nothing since then; the newest reading is of ${isoTime(points.at(-1)?.at ?? 0)}`,
    );
  const { header, rows } = tableOf(wanted);
  if (options.csv === true) context.out(csvText([header, ...rows]));
  else if (context.isTerminal) context.out(plainTable([header, ...rows]));
  else
    for (const row of rows)
      context.out(`${JSON.stringify(Object.fromEntries(header.map((name, at) => [name, row[at]])))}\n`);
}

/** The interface does not describe the parameters, so the user's are passed on. */
async function ask(
  platform: PlatformClient,
  code: string,
  query: Readonly<Record<string, string>>,
  stop: AbortSignal,
): Promise<unknown> {
  try {
    return await platform.get(operation, { deviceCode: code, ...query }, stop);
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    if (error.facts.kind === "invalid_request") throw usageFailure(textOf(error));
    if (!error.message.includes("larger than")) throw error;
    throw new CommandFailure(
      row`${textOf(error)}\n${msg`ask for less: \`greenhouse2mqtt history ${commentText(code)} startTime=2026-01-01 endTime=2026-01-02\`, with the platform's own names for the time, or pageSize=500`}`,
    );
  }
}

/** A row for each time, a column for each name; of several values at one time, the last. */
export function tableOf(points: readonly HistoryPoint[]) {
  const names = [...new Set(points.map(({ name }) => name))];
  const byTime = new Map<number, Map<string, number | string>>();
  for (const { at, name, value } of points)
    byTime.set(at, (byTime.get(at) ?? new Map<string, number | string>()).set(name, value));
  const rows = [...byTime].map(([at, values]) => [
    isoTime(at),
    ...names.map((name) => values.get(name) ?? null),
  ]);
  return { header: ["at", ...names], rows };
}

const isoTime = (at: number): string => new Date(at).toISOString();

/** A table with columns as wide as their content. */
function plainTable(rows: readonly (readonly (string | number | null)[])[]): string {
  const texts = rows.map((row) => row.map((cell) => commentText(String(cell ?? ""), 24)));
  const widths = (texts[0] ?? []).map((_, at) => Math.max(...texts.map((row) => widthOf(row[at] ?? ""))));
  return texts
    .map(
      (row) =>
        `${row
          .map((cell, at) => pad(cell, widths[at] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}
