import { signal } from "@preact/signals";
import { type LogLevel, logLevels } from "../runtime/log-levels.js";
import { bridge, now, view } from "./live.js";
import { actReason, Asking, Choice, Field, ownReason } from "./inputs.js";
import { Code, Head, Listed, Told } from "./parts.js";
import type { JournalPage } from "./protocol.js";
import { t, timeText } from "./words.js";

type Facts = Readonly<Record<string, unknown>>;
type LogLine = Readonly<{
  at: string;
  level: LogLevel;
  message: string;
  sentence: string | null;
  facts: Facts;
}>;

const least = signal<LogLevel>("trace");
const wanted = signal("");

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const wordsOf = (facts: Facts) => Object.entries(facts).filter(([, value]) => value !== null);

const factsText = (facts: Facts) =>
  wordsOf(facts)
    .map(([key, value]) => `${key} ${textOf(value)}`)
    .join(" ");

/** The facts of a line, shown when it is opened. */
const Behind = ({ of }: Readonly<{ of: Facts }>) => (
  <dl class="facts">
    {wordsOf(of).map(([key, value]) => (
      <div key={key}>
        <dt>{key}</dt>
        <dd>{textOf(value)}</dd>
      </div>
    ))}
  </dl>
);

const Line = ({ line: { at, level, message, sentence, facts } }: Readonly<{ line: LogLine }>) => (
  <li>
    <time dateTime={at}>{timeText(at, now.peek())}</time>
    <Code of={level} />
    {wordsOf(facts).length === 0 ? (
      <Told text={sentence ?? message} />
    ) : (
      <details>
        <summary>
          <Told text={sentence ?? message} />
        </summary>
        <Behind of={facts} />
      </details>
    )}
  </li>
);

/** The newest lines of the log, the newest first. */
export function LogView() {
  const page = view<JournalPage<LogLine>>("log").value;
  const why = actReason();
  const isOn = bridge.value?.log_level ?? null;
  const askFor = (level: LogLevel) => (
    <Asking key={level} label={level} name="log_level" fields={{ level }} isOn={level === isOn} />
  );
  const settable = logLevels.filter((level) => ["debug", "info", "warn", isOn].includes(level));
  const text = wanted.value.trim().toLowerCase();
  const shown = (page?.records ?? []).filter(
    (line) =>
      logLevels.indexOf(line.level) >= logLevels.indexOf(least.value) &&
      `${line.sentence ?? ""} ${line.message} ${factsText(line.facts)}`.toLowerCase().includes(text),
  );
  return (
    <>
      <Head name={t("log")}>
        <Choice
          label={t("level")}
          bound={least}
          options={logLevels.map((level) => [level, level === "trace" ? t("any") : level])}
        />
        <Field label={t("filter")} type="search" bound={wanted} />
        <span class="buttons" role="group" aria-label={t("level_set")}>
          <span class="quiet">{t("level_set")}</span>
          {why === null ? (
            settable.map(askFor)
          ) : (
            <>
              {isOn === null ? null : <strong>{isOn}</strong>} <span class="why">{ownReason()}</span>
            </>
          )}
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
