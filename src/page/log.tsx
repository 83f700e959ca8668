import { signal } from "@preact/signals";
import { now, view } from "./live.js";
import { actReason, Asking, Choice, Field, ownReason } from "./inputs.js";
import { Code, Head, Listed } from "./parts.js";
import type { JournalPage } from "./protocol.js";
import { t, timeText } from "./words.js";

type Facts = Readonly<Record<string, unknown>>;
type LogLine = Readonly<{ at: string; level: Level; message: string; facts: Facts }>;

const levels = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
type Level = (typeof levels)[number];

const least = signal<Level>("trace");
const wanted = signal("");

const factsText = (facts: Facts) =>
  Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("  ");

const Line = ({ line: { at, level, message, facts } }: Readonly<{ line: LogLine }>) => (
  <li>
    <time dateTime={at}>{timeText(at, now.peek())}</time>
    <Code of={level} />
    <span lang="en">
      {message} <small>{factsText(facts)}</small>
    </span>
  </li>
);

/** The newest lines of the log, the newest first. */
export function LogView() {
  const page = view<JournalPage<LogLine>>("log").value;
  const why = actReason();
  const askFor = (level: Level) => <Asking key={level} label={level} name="log_level" fields={{ level }} />;
  const text = wanted.value.trim().toLowerCase();
  const shown = (page?.records ?? []).filter(
    (line) =>
      levels.indexOf(line.level) >= levels.indexOf(least.value) &&
      `${line.message} ${factsText(line.facts)}`.toLowerCase().includes(text),
  );
  return (
    <>
      <Head name={t("log")}>
        <Choice label={t("level")} bound={least} options={levels.map((level) => [level, level])} />
        <Field label={t("filter")} type="search" bound={wanted} />
        <span class="buttons" role="group" aria-label={t("level_set")}>
          <span class="quiet">{t("level_set")}</span>
          {why === null ? levels.slice(1, 4).map(askFor) : <span class="why">{ownReason()}</span>}
        </span>
      </Head>
      <Listed of={page && shown} none="none_found">
        <ol class="log">
          {shown.map((line, at) => (
            <Line key={`${line.at} ${shown.length - at}`} line={line} />
          ))}
        </ol>
      </Listed>
    </>
  );
}
