import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type CommandResult, outcomes } from "../greenhouse/command/outcomes.js";
import { address, get, given, now, view } from "./live.js";
import { Button, Choice } from "./inputs.js";
import { Age, Columns, Head, known, Listed, Code, save, Says } from "./parts.js";
import type { JournalPage, Overview } from "./protocol.js";
import { resultSentences, whoText } from "./sentences.js";
import { commandText, durationText, t, timeText, told } from "./words.js";

interface JournalRecord {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly controller: string | null;
  readonly actuator: string | null;
  readonly target?: "actuator" | "parameter" | "address";
  readonly result?: CommandResult;
  readonly count?: number;
  readonly value?: string;
}

type Page = JournalPage<JournalRecord>;

const filter = { controller: signal(""), outcome: signal(""), since: signal("") };
/** Null while it is being asked for. */
const found = signal<Page | null>(null);
const live = view<Page>("journal");
const overview = view<Overview>("overview");

function path(more: Readonly<Record<string, string>> = {}): string {
  const { controller, outcome, since } = filter;
  const all = { controller: controller.value, outcome: outcome.value, since: since.value, ...more };
  return `api/journal?${new URLSearchParams(given(all)).toString()}`;
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
async function exported(kind: "csv" | "json"): Promise<void> {
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
function shownRecords({ records }: Page): readonly JournalRecord[] {
  const { controller, outcome } = filter;
  const newest = records[0]?.seq ?? 0;
  const added = (live.value?.records ?? []).filter(
    ({ seq, controller: code, result }) =>
      seq > newest &&
      ["", code, result?.controller].includes(controller.value) &&
      ["", result?.outcome].includes(outcome.value),
  );
  return [...added, ...records];
}

function Row({ record }: Readonly<{ record: JournalRecord }>) {
  const { result, at, type, target, value, count } = record;
  const { controller, actuator } = result ?? record;
  const named = controller ? known(controller) : null;
  const moved = actuator ? named?.[target === "parameter" ? "parameters" : "actuators"][actuator] : null;
  return (
    <tr>
      <td class="when">
        <span>{timeText(at, now.peek())}</span> <Age at={at} />
      </td>
      <td>{result?.by ? whoText(result.by) : "–"}</td>
      <td class="where" title={`${controller ?? "–"} / ${actuator ?? "–"}`}>
        {named?.name ?? controller ?? "–"} / {moved?.name ?? actuator ?? "–"}
      </td>
      <td class="what">{result ? commandText(result.command) : told(type)}</td>
      <td class="end">
        {result ? <Code of={result.outcome} /> : (value ?? count ?? "")}{" "}
        {result?.message ? <Says of={resultSentences(result)} /> : null}
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
        label={t("outcome")}
        bound={filter.outcome}
        options={[all, ...outcomes.map((one) => [one, told(one)] as const)]}
      />
      <Choice label={t("when")} bound={filter.since} options={[all, ...["1h", "24h", "7d"].map(last)]} />
      <span class="buttons">
        {(["csv", "json"] as const).map((kind) => (
          <Button key={kind} act={() => exported(kind)}>
            {t("export", { kind: kind.toUpperCase() })}
          </Button>
        ))}
      </span>
    </Head>
  );
}

/** Who commanded what, the newest first, and how it ended. */
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
            {records?.map((record) => (
              <Row key={record.seq} record={record} />
            ))}
          </tbody>
        </table>
      </Listed>
      {page?.next ? <Button act={() => load(String(page.next))}>{t("more")}</Button> : null}
    </>
  );
}
