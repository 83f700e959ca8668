import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { outcomes } from "../greenhouse/command/outcomes.js";
import { address, get, link, withoutEmpty, now, view } from "./live.js";
import { Button, Choice, Field } from "./inputs.js";
import { Age, Badge, Columns, Head, namesOf, Listed, Code, save, Says } from "./parts.js";
import type { JournalPage, Overview, TimelineEntry } from "./protocol.js";
import { raisedSentence, resultSentences, whoText } from "./sentences.js";
import { timelineKinds, whatText } from "./timeline.js";
import { durationText, t, timeText, codeText } from "./words.js";

type Page = JournalPage<TimelineEntry>;

/** Without log-ins, which are many and seldom wanted. */
const usualKinds = timelineKinds.filter((kind) => kind !== "login");

const filter = {
  controller: signal(""),
  actuator: signal(""),
  by: signal(""),
  kind: signal<"" | "all" | (typeof timelineKinds)[number]>(""),
  outcome: signal(""),
  since: signal(""),
  /** In the browser's time; used if `since` says so. */
  from: signal(""),
  to: signal(""),
};
/** Instead of a duration: from one moment to another. */
const chosenTime = "chosen";
/** Null while loading. */
const found = signal<Page | null>(null);
const live = view<Page>("journal");
const overview = view<Overview>("overview");

/** The moment of a date field as ISO time; empty for none. */
const isoOf = (moment: string): string =>
  Number.isNaN(Date.parse(moment)) ? "" : new Date(moment).toISOString();

function queryOfFilter(): Readonly<Record<string, string>> {
  const { controller, actuator, by, kind, outcome, since, from, to } = filter;
  const isChosen = since.value === chosenTime;
  return withoutEmpty({
    controller: controller.value,
    actuator: actuator.value,
    by: by.value.trim(),
    kind: kind.value === "" ? usualKinds.join(",") : kind.value === "all" ? "" : kind.value,
    outcome: outcome.value,
    since: isChosen ? isoOf(from.value) : since.value,
    until: isChosen ? isoOf(to.value) : "",
  });
}

const isFiltered = (): boolean => Object.keys(queryOfFilter()).length > 1 || filter.kind.value !== "";

const path = (more: Readonly<Record<string, string>> = {}): string =>
  `api/journal?${new URLSearchParams(withoutEmpty({ ...queryOfFilter(), ...more })).toString()}`;

/** Loads the newest records that fit the filter; with `before` the next ones, which are appended. */
async function load(before = ""): Promise<void> {
  const earlier = before === "" ? [] : (found.value?.records ?? []);
  if (before === "") found.value = null;
  const wanted = path();
  const { body } = await get<Page>(path({ before }));
  if (body && wanted === path())
    found.value = { records: [...earlier, ...body.records], next: body.next ?? null };
}

/** Exports all records that fit the filter, page by page. */
async function exportRecords(kind: "csv" | "json"): Promise<void> {
  const accept = kind === "csv" ? "text/csv" : "application/json";
  const parts: string[] = [];
  let before = "";
  do {
    const answer = await fetch(address(path({ limit: "1000", before })), { headers: { accept } });
    if (!answer.ok) return;
    const text = await answer.text();
    // Further pages without their header line.
    if (kind === "csv") parts.push(before === "" ? text : text.slice(text.indexOf("\r\n") + 2));
    else parts.push(...(JSON.parse(text) as Page).records.map((record) => JSON.stringify(record)));
    before = /before=(\d+)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1] ?? "";
  } while (before !== "");
  save(`journal.${kind}`, accept, kind === "csv" ? parts.join("") : `[${parts.join(",\n")}]\n`);
}

/** New records, then the requested ones, each once. A time span in the past gets no new ones. */
function shownRecords({ records }: Page): readonly TimelineEntry[] {
  const { controller, actuator, kind, outcome, until, by = "" } = queryOfFilter();
  const newest = records[0]?.seq ?? 0;
  const fits = (wanted: string | undefined, ...own: readonly (string | null | undefined)[]) =>
    wanted === undefined || own.includes(wanted);
  const added = (live.value?.records ?? []).filter(
    ({ seq, controller: code, actuator: moved, result, kind: own, by: who, user }) =>
      seq > newest &&
      until === undefined &&
      fits(controller, code, result?.controller) &&
      fits(actuator, moved, result?.actuator) &&
      (kind === undefined || kind.split(",").includes(own)) &&
      fits(outcome, result?.outcome) &&
      (result?.by ?? who ?? user ?? "").toLowerCase().includes(by.toLowerCase()),
  );
  return [...added, ...records];
}

/** Equal records of one moment, as when a whole controller is locked, in one row. */
type Group = readonly [first: TimelineEntry, ...more: TimelineEntry[]];

function group(records: readonly TimelineEntry[]): readonly Group[] {
  const groups: [TimelineEntry, ...TimelineEntry[]][] = [];
  for (const record of records) {
    const last = groups.at(-1);
    const isSame =
      last !== undefined &&
      record.result === undefined &&
      last[0].result === undefined &&
      record.type === last[0].type &&
      record.controller === last[0].controller &&
      record.what === last[0].what &&
      record.actuator !== null &&
      record.at.slice(0, 19) === last[0].at.slice(0, 19);
    if (isSame) last.push(record);
    else groups.push([record]);
  }
  return groups;
}

const looks: Readonly<Record<string, string>> = { alarm: "bad", guard: "warn", lock: "warn", rule: "busy" };

const isGoodNews = (type: string) => /_clear|cleared|unlocked|_ended/.test(type);

function Row({ group: [record, ...more] }: Readonly<{ group: Group }>) {
  const { result, at, type, kind, target } = record;
  const { controller, actuator } = result ?? record;
  const named = controller ? namesOf(controller) : null;
  const moved = actuator ? named?.[target === "parameter" ? "parameters" : "actuators"][actuator] : null;
  const by = result?.by ?? record.by ?? record.user;
  const name = moved?.name ?? actuator ?? "";
  const names = more.length === 0 ? name : t("and_more", { name, count: more.length });
  const where = [named?.name ?? controller, names].filter(Boolean).join(" / ");
  return (
    <tr>
      <td class="when">
        <span>{timeText(at, now.peek())}</span> <Age at={at} />
      </td>
      <td>{by ? whoText(by) : "–"}</td>
      <td class="where" title={`${controller ?? "–"} / ${actuator ?? "–"}`}>
        {where || "–"}
      </td>
      <td class="what">{whatText(record)}</td>
      <td class="end">
        {result ? (
          <Code of={result.outcome} />
        ) : (
          <Badge kind={isGoodNews(type) ? "good" : (looks[kind] ?? "plain")}>{codeText(kind)}</Badge>
        )}{" "}
        {result?.message ? <Says of={resultSentences(result)} /> : null}
        {type === "alarm_raised" && record.what ? <Says of={[raisedSentence(record)]} /> : null}
        {kind === "lock" && record.what ? <span class="sentence">{record.what}</span> : null}
        {kind === "login" && record.address ? <small>{record.address}</small> : null}
      </td>
    </tr>
  );
}

type Options = readonly (readonly [string, string])[];

/** The choices for the chosen controller. */
function actuatorOptions(): Options {
  const named = filter.controller.value === "" ? null : namesOf(filter.controller.value);
  return Object.entries({ ...named?.actuators, ...named?.parameters }).map(([id, { name }]) => [id, name]);
}

/** The filters; on a phone folded to one line with the choices. */
function Filters() {
  const names = Object.entries(overview.value?.controllers ?? {});
  const all = ["", t("any")] as const;
  const last = (span: string) => [span, t("last", { time: durationText(span) })] as const;
  const actuators = actuatorOptions();
  const chosen = [
    overview.value?.controllers[filter.controller.value]?.name,
    actuators.find(([id]) => id === filter.actuator.value)?.[1],
    filter.by.value,
    filter.kind.value && codeText(filter.kind.value),
    filter.outcome.value && codeText(filter.outcome.value),
    filter.since.value &&
      (filter.since.value === chosenTime ? t("when_chosen") : durationText(filter.since.value)),
  ].filter(Boolean);
  return (
    <details class="filters" open={matchMedia("(min-width: 52rem)").matches}>
      <summary>
        {t("filter")} {chosen.length > 0 ? <strong>{chosen.join(t("comma"))}</strong> : null}
      </summary>
      <div class="bar">
        <Choice
          label={t("controller")}
          value={filter.controller.value}
          onChange={({ currentTarget: { value } }) => {
            filter.controller.value = value;
            filter.actuator.value = "";
          }}
          options={[all, ...names.map(([id, { name }]) => [id, `${name} (${id})`] as const)]}
        />
        {actuators.length > 0 ? (
          <Choice label={codeText("actuators")} bound={filter.actuator} options={[all, ...actuators]} />
        ) : null}
        <Field
          label={t("who")}
          value={filter.by.value}
          onChange={({ currentTarget: { value } }) => (filter.by.value = value)}
        />
        <Choice
          label={t("kind")}
          bound={filter.kind}
          options={[
            ["", t("any_but_logins")],
            ["all", t("any")],
            ...timelineKinds.map((one) => [one, codeText(one)] as const),
          ]}
        />
        <Choice
          label={t("outcome")}
          bound={filter.outcome}
          options={[all, ...outcomes.map((one) => [one, codeText(one)] as const)]}
        />
        <Choice
          label={t("when")}
          bound={filter.since}
          options={[all, ...["1h", "24h", "7d"].map(last), [chosenTime, t("when_chosen")]]}
        />
        {filter.since.value === chosenTime ? (
          <>
            <Field label={t("from")} type="datetime-local" bound={filter.from} />
            <Field label={t("to")} type="datetime-local" bound={filter.to} />
          </>
        ) : null}
        <span class="buttons">
          {(["csv", "json"] as const).map((kind) => (
            <Button key={kind} act={() => exportRecords(kind)}>
              {t("export", { kind: kind.toUpperCase() })}
            </Button>
          ))}
        </span>
      </div>
    </details>
  );
}

export type HistoryProps = Readonly<{
  controller: string;
  actuator: string;
  /** Its last result, by which new records are noticed. */
  newest: string | undefined;
}>;

/** The history of one actuator, the newest first: who, when, and with which result. */
export function History({ controller, actuator, newest }: HistoryProps) {
  const page = useSignal<Page | null>(null);
  useEffect(() => {
    const query = new URLSearchParams({ controller, actuator, limit: "12" });
    void get<Page>(`api/journal?${query.toString()}`, true).then(({ status, body }) => {
      if (status === 200) page.value = body;
    });
  }, [controller, actuator, newest]);
  const all = () => {
    filter.controller.value = controller;
    filter.actuator.value = actuator;
    location.hash = link("journal");
  };
  return (
    <Listed of={page.value?.records ?? null} none="no_records">
      <ul class="history">
        {group(page.value?.records ?? []).map(([entry]) => {
          const { seq, at, type, kind, result } = entry;
          const who = result?.by ?? entry.by ?? entry.user;
          return (
            <li key={`${seq} ${type} ${entry.what ?? ""}`}>
              <span class="when">{timeText(at, now.peek())}</span>
              <strong>{whatText(entry)}</strong>
              {result ? <Code of={result.outcome} /> : <Badge kind="plain">{codeText(kind)}</Badge>}
              {who ? <small>{whoText(who)}</small> : null}
            </li>
          );
        })}
      </ul>
      <Button class="link" act={all}>
        {t("history_all")}
      </Button>
    </Listed>
  );
}

/** What happened, the newest first: commands, actions of rules, locks, alarms and log-ins. */
export default function JournalView() {
  const wanted = path();
  useEffect(() => void load(), [wanted]);
  const page = found.value;
  const records = page && shownRecords(page);
  return (
    <>
      <Head name={t("journal")} />
      <Filters />
      <Listed of={records} none={isFiltered() ? "none_found" : "no_records"}>
        <table class="list">
          <Columns of={["when", "who", "controller", "what", "outcome"]} />
          <tbody>
            {group(records ?? []).map((group) => (
              <Row key={`${group[0].seq} ${group[0].type} ${group[0].what ?? ""}`} group={group} />
            ))}
          </tbody>
        </table>
      </Listed>
      {page?.next ? <Button act={() => load(String(page.next))}>{t("more")}</Button> : null}
    </>
  );
}
