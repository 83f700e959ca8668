import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { outcomes } from "../greenhouse/command/outcomes.js";
import { address, get, withoutEmpty, now, view } from "./live.js";
import { Button, Choice } from "./inputs.js";
import { Age, Badge, Columns, Head, namesOf, Listed, Code, save, Says } from "./parts.js";
import type { JournalPage, Overview, TimelineEntry } from "./protocol.js";
import { resultSentences, whoText } from "./sentences.js";
import { timelineKinds, whatText } from "./timeline.js";
import { durationText, t, timeText, codeText } from "./words.js";

type Page = JournalPage<TimelineEntry>;

const filter = { controller: signal(""), kind: signal(""), outcome: signal(""), since: signal("") };
/** Null while it is being asked for. */
const found = signal<Page | null>(null);
const live = view<Page>("journal");
const overview = view<Overview>("overview");

function path(more: Readonly<Record<string, string>> = {}): string {
  const { controller, kind, outcome, since } = filter;
  const all = {
    controller: controller.value,
    kind: kind.value,
    outcome: outcome.value,
    since: since.value,
    ...more,
  };
  return `api/journal?${new URLSearchParams(withoutEmpty(all)).toString()}`;
}

/** The newest that fit the filter; with `before` those that come next, below what is there. */
async function load(before = ""): Promise<void> {
  const earlier = before === "" ? [] : (found.value?.records ?? []);
  if (before === "") found.value = null;
  const asked = path();
  const { body } = await get<Page>(path({ before }));
  if (body && asked === path())
    found.value = { records: [...earlier, ...body.records], next: body.next ?? null };
}

/** All that fits the filter, a page after the other. */
async function exportRecords(kind: "csv" | "json"): Promise<void> {
  const accept = kind === "csv" ? "text/csv" : "application/json";
  const parts: string[] = [];
  let before = "";
  do {
    const answer = await fetch(address(path({ limit: "1000", before })), { headers: { accept } });
    if (!answer.ok) return;
    const text = await answer.text();
    // Of a later page the head line is not wanted again.
    if (kind === "csv") parts.push(before === "" ? text : text.slice(text.indexOf("\r\n") + 2));
    else parts.push(...(JSON.parse(text) as Page).records.map((record) => JSON.stringify(record)));
    before = /before=(\d+)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1] ?? "";
  } while (before !== "");
  save(`journal.${kind}`, accept, kind === "csv" ? parts.join("") : `[${parts.join(",\n")}]\n`);
}

/** What is new, then what was asked for; each record once. */
function shownRecords({ records }: Page): readonly TimelineEntry[] {
  const { controller, kind, outcome } = filter;
  const newest = records[0]?.seq ?? 0;
  const added = (live.value?.records ?? []).filter(
    ({ seq, controller: code, result, kind: own }) =>
      seq > newest &&
      ["", code, result?.controller].includes(controller.value) &&
      ["", own].includes(kind.value) &&
      ["", result?.outcome].includes(outcome.value),
  );
  return [...added, ...records];
}

/** The same at the same moment, as where all of a controller is locked: one row. */
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
        {kind === "alarm" && record.what && type === "alarm_raised" ? (
          <span class="message" lang="en">
            {record.what}
          </span>
        ) : null}
        {kind === "lock" && record.what ? <span class="sentence">{record.what}</span> : null}
        {kind === "login" && record.address ? <small>{record.address}</small> : null}
      </td>
    </tr>
  );
}

function Filters() {
  const names = Object.entries(overview.value?.controllers ?? {});
  const all = ["", t("any")] as const;
  const last = (span: string) => [span, t("last", { time: durationText(span) })] as const;
  return (
    <Head name={t("journal")}>
      <Choice
        label={t("controller")}
        bound={filter.controller}
        options={[all, ...names.map(([id, { name }]) => [id, `${name} (${id})`] as const)]}
      />
      <Choice
        label={t("kind")}
        bound={filter.kind}
        options={[all, ...timelineKinds.map((one) => [one, codeText(one)] as const)]}
      />
      <Choice
        label={t("outcome")}
        bound={filter.outcome}
        options={[all, ...outcomes.map((one) => [one, codeText(one)] as const)]}
      />
      <Choice label={t("when")} bound={filter.since} options={[all, ...["1h", "24h", "7d"].map(last)]} />
      <span class="buttons">
        {(["csv", "json"] as const).map((kind) => (
          <Button key={kind} act={() => exportRecords(kind)}>
            {t("export", { kind: kind.toUpperCase() })}
          </Button>
        ))}
      </span>
    </Head>
  );
}

/** What happened in the house, the newest first: who commanded what, what rules did, locks, alarms and log-ins. */
export function JournalView() {
  const asked = path();
  useEffect(() => void load(), [asked]);
  const page = found.value;
  const records = page && shownRecords(page);
  return (
    <>
      <Filters />
      <Listed of={records} none={asked.endsWith("?") ? "no_records" : "none_found"}>
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
