import { signal } from "@preact/signals";
import { now, post, view } from "./live.js";
import { Alert, Badge, Choice, Field, Loading, roleReason, Steady } from "./parts.js";
import type { JournalPage } from "./protocol.js";
import { errorSentence, type Sentence } from "./sentences.js";
import { t, timeText } from "./words.js";

type Facts = Readonly<Record<string, unknown>>;
type LogLine = Readonly<{ at: string; level: string; message: string; facts: Facts }>;

const levels = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
type Level = (typeof levels)[number];

const least = signal<Level>("trace");
const wanted = signal("");
const said = signal<Sentence | null>(null);

const factsText = (facts: LogLine["facts"]) =>
  Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("  ");

class Line extends Steady<{ readonly line: LogLine }> {
  override render({ line: { at, level, message, facts } }: { readonly line: LogLine }) {
    return (
      <li>
        <time dateTime={at}>{timeText(at, now.peek())}</time>
        <Badge kind={["error", "fatal"].includes(level) ? "bad" : level === "warn" ? "warn" : "plain"}>
          {level}
        </Badge>
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

/** The newest lines of the log, the newest first. */
export function LogView() {
  const page = view<JournalPage<LogLine>>("log").value;
  const options = levels.map((level) => [level, level] as const);
  const text = wanted.value.trim().toLowerCase();
  const shown = (page?.records ?? []).filter(
    (line) =>
      levels.findIndex((level) => level === line.level) >= levels.indexOf(least.value) &&
      (text === "" || `${line.message} ${factsText(line.facts)}`.toLowerCase().includes(text)),
  );
  return (
    <>
      <div class="bar">
        <h1>{t("log")}</h1>
        <Choice
          label={t("level")}
          value={least.value}
          options={options}
          onChoose={(next) => (least.value = next)}
        />
        <Field label={t("filter")} type="search" bound={wanted} />
        {roleReason() === null ? (
          <span class="buttons" role="group" aria-label={t("level_set")}>
            <span class="quiet">{t("level_set")}</span>
            {(["debug", "info", "warn"] as const).map((level) => (
              <button key={level} type="button" onClick={() => void setLevel(level)}>
                {level}
              </button>
            ))}
          </span>
        ) : (
          <span class="why">{roleReason()}</span>
        )}
      </div>
      <Alert said={said} />
      {page === null ? <Loading /> : null}
      {page !== null && shown.length === 0 ? <p class="quiet">{t("none_found")}</p> : null}
      <ol class="log">
        {shown.map((line, at) => (
          <Line key={`${line.at} ${shown.length - at}`} line={line} />
        ))}
      </ol>
    </>
  );
}
