import { signal } from "@preact/signals";
import { now, post, view } from "./live.js";
import { Alert, Button, Choice, Field, roleReason } from "./inputs.js";
import { Code, Head, Listed, Steady } from "./parts.js";
import type { JournalPage } from "./protocol.js";
import { errorSentence, type Sentence } from "./sentences.js";
import { t, timeText } from "./words.js";

type Facts = Readonly<Record<string, unknown>>;
type LogLine = Readonly<{ at: string; level: string; message: string; facts: Facts }>;
type LineProps = Readonly<{ line: LogLine }>;

const levels = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
type Level = (typeof levels)[number];

const least = signal<Level>("trace");
const wanted = signal("");
const said = signal<Sentence | null>(null);

const factsText = (facts: Facts) =>
  Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("  ");

class Line extends Steady<LineProps> {
  override render({ line: { at, level, message, facts } }: LineProps) {
    return (
      <li>
        <time dateTime={at}>{timeText(at, now.peek())}</time>
        <Code of={level} />
        <span lang="en">
          {message} <small>{factsText(facts)}</small>
        </span>
      </li>
    );
  }
}

async function setLevel(level: Level): Promise<void> {
  const { status, body } = await post("api/requests/log_level", { level });
  said.value = status === 200 ? null : errorSentence(body);
}

const LevelChoice = () => (
  <span class="buttons" role="group" aria-label={t("level_set")}>
    <span class="quiet">{t("level_set")}</span>
    {(["debug", "info", "warn"] as const).map((level) => (
      <Button key={level} act={() => setLevel(level)}>
        {level}
      </Button>
    ))}
  </span>
);

/** The newest lines of the log, the newest first. */
export function LogView() {
  const page = view<JournalPage<LogLine>>("log").value;
  const text = wanted.value.trim().toLowerCase();
  const shown = (page?.records ?? []).filter(
    (line) =>
      levels.findIndex((level) => level === line.level) >= levels.indexOf(least.value) &&
      (text === "" || `${line.message} ${factsText(line.facts)}`.toLowerCase().includes(text)),
  );
  return (
    <>
      <Head name={t("log")}>
        <Choice label={t("level")} bound={least} options={levels.map((level) => [level, level])} />
        <Field label={t("filter")} type="search" bound={wanted} />
        {roleReason() === null ? <LevelChoice /> : <span class="why">{roleReason()}</span>}
      </Head>
      <Alert said={said} />
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
