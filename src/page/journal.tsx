import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { outcomeWords } from "./codes.js";
import { address, get, now, session, view } from "./live.js";
import { Age, Choice, Loading, Outcome, save, Says, Steady } from "./parts.js";
import type { JournalPage, Overview } from "./protocol.js";
import { resultSentences, whoText } from "./sentences.js";
import { commandText, t, timeText, told } from "./words.js";

interface JournalRecord {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly controller: string | null;
  readonly actuator: string | null;
  readonly result?: CommandResult;
  readonly count?: number;
  readonly value?: string;
}

type Page = JournalPage<JournalRecord>;

const filter = signal<{ readonly controller: string; readonly outcome: string; readonly since: string }>({
  ...{ controller: "", outcome: "", since: "" },
});
/** Null while it is being asked for. */
const found = signal<Page | null>(null);
const live = view<Page>("journal");
const overview = view<Overview>("overview");

function path(more: Readonly<Record<string, string>>): string {
  const given = Object.entries({ ...filter.value, ...more }).filter(([, value]) => value !== "");
  return `api/journal?${new URLSearchParams(given).toString()}`;
}

async function load(before: number | null): Promise<void> {
  const earlier = before === null ? [] : (found.value?.records ?? []);
  if (before === null) found.value = null;
  const asked = filter.value;
  const { body } = await get<Page>(path(before === null ? {} : { before: String(before) }));
  if (body && asked === filter.value)
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
  const { controller, outcome } = filter.value;
  const newest = records[0]?.seq ?? 0;
  const added = (live.value?.records ?? []).filter(
    ({ seq, controller: code, result }) =>
      seq > newest &&
      (controller === "" || [code, result?.controller].includes(controller)) &&
      (outcome === "" || result?.outcome === outcome),
  );
  return [...added, ...records];
}

type RowProps = Readonly<{ record: JournalRecord; name: string | undefined }>;

class Row extends Steady<RowProps> {
  override render({ record, name }: RowProps) {
    const { result, at, type } = record;
    const controller = result?.controller ?? record.controller;
    return (
      <tr>
        <td class="when">
          <span>{timeText(at, now.peek())}</span> <Age at={at} />
        </td>
        <td class="where">
          {name ?? controller ?? "–"} / {result?.actuator ?? record.actuator ?? "–"}
        </td>
        <td class="what">{result ? commandText(result.command) : told(type)}</td>
        <td class="end">
          {result ? <Outcome of={result.outcome} /> : (record.value ?? record.count ?? "")}{" "}
          {result?.message ? <Says of={resultSentences(result)} /> : null}
        </td>
        <td class="by">{result?.by ? whoText(result.by) : "–"}</td>
      </tr>
    );
  }
}

function Filters() {
  const names = Object.entries(overview.value?.controllers ?? {});
  const { controller, outcome, since } = filter.value;
  const set = (change: Partial<typeof filter.value>) => (filter.value = { ...filter.value, ...change });
  return (
    <div class="bar">
      <h1>{t("journal")}</h1>
      <Choice
        label={t("controller")}
        value={controller}
        options={[["", t("any")], ...names.map(([id, { name }]) => [id, `${name} (${id})`] as const)]}
        onChoose={(next) => set({ controller: next })}
      />
      <Choice
        label={t("outcome")}
        value={outcome}
        options={[["", t("any")], ...outcomeWords.map((one) => [one, told(one)] as const)]}
        onChoose={(next) => set({ outcome: next })}
      />
      <Choice
        label={t("when")}
        value={since}
        options={[
          ["", t("all_time")],
          ["1h", t("last_hour")],
          ["24h", t("last_day")],
          ["7d", t("last_week")],
        ]}
        onChoose={(next) => set({ since: next })}
      />
      <span class="buttons">
        {(["csv", "json"] as const).map((kind) => (
          <button key={kind} type="button" onClick={() => void exported(kind)}>
            {t(`export_${kind}`)}
          </button>
        ))}
      </span>
    </div>
  );
}

const nameOf = ({ result, controller }: JournalRecord): string | undefined =>
  overview.value?.controllers[result?.controller ?? controller ?? ""]?.name;

export function JournalView() {
  const asked = filter.value;
  const who = session.value?.user;
  useEffect(() => void load(null), [asked, who]);
  const page = found.value;
  const records = page === null ? [] : shownRecords(page);
  return (
    <>
      <Filters />
      {page === null ? <Loading /> : null}
      {page !== null && records.length === 0 ? <p class="quiet">{t("no_records")}</p> : null}
      {records.length > 0 ? (
        <table class="list">
          <thead>
            <tr>
              {(["when", "controller", "what", "outcome", "who"] as const).map((word) => (
                <th key={word} scope="col">
                  {t(word)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {records.map((record) => (
              <Row key={record.seq} record={record} name={nameOf(record)} />
            ))}
          </tbody>
        </table>
      ) : null}
      {page?.next ? (
        <button type="button" onClick={() => void load(page.next)}>
          {t("more")}
        </button>
      ) : null}
    </>
  );
}
