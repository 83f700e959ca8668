import { nullIfFailed } from "../runtime/failures.js";
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { address, bridge, post, request, useAnswer } from "./live.js";
import { Acting, Alert, Asking, Button } from "./inputs.js";
import { Age, Code, Head, Listed, Loading, save, Says, Section, Told } from "./parts.js";
import { errorSentence, type Finding, findingText, type Sentence, topicText } from "./sentences.js";
import type { ApiError, SeenAddresses, SettingsAttempt } from "./protocol.js";
import { language, lengthText, numberText, t, codeText, type Word } from "./words.js";

type Fact = string | number | null | undefined;
type Facts<Key extends string> = Readonly<Record<Key, Fact>>;
type Times = "last_contact_business" | "last_contact_realtime" | "oldest_reading_at";
type Late = Facts<"controller" | "what" | "since">;
type Unreadable = Facts<"operation" | "problem" | "count">;

/** The part of the answer of `api/health` that is shown. */
interface HealthFacts extends Facts<Times | "oldest_reading" | "requests_left"> {
  readonly uptime_s: number;
  readonly rss_mb: number;
  readonly broker: Facts<"state">;
  readonly platform: Facts<"state">;
  readonly calls_per_hour: Facts<"total" | "budget">;
  readonly effective_intervals: Readonly<Record<string, number>>;
  readonly journal: Readonly<{ available: boolean; reason?: Fact }>;
  readonly overdue: readonly Late[];
  readonly unreadable: readonly Unreadable[];
}

function factText(value: Fact): ComponentChildren {
  if (typeof value === "number") return numberText(value);
  if (!value) return "–";
  return /^\d{4}-\d\d-\d\dT/.test(value) ? <Age at={value} /> : codeText(value);
}

const intervalText = ([key, seconds]: readonly [string, number]): string =>
  `${codeText(key.replace(/_s$/, ""))} ${lengthText(seconds)}`;

function Health({ health }: { readonly health: HealthFacts }) {
  const { calls_per_hour: calls, journal } = health;
  const facts = [
    ["version", bridge.value?.version],
    ["uptime", lengthText(health.uptime_s)],
    ["memory", `${numberText(health.rss_mb)} MB`],
    ["broker", factText(health.broker.state)],
    ["platform", factText(health.platform.state)],
    ["last_business", factText(health.last_contact_business)],
    ["last_realtime", factText(health.last_contact_realtime)],
    ["requests_left", health.requests_left === null ? t("no_limit") : factText(health.requests_left)],
    ["calls", [factText(calls.total), " / ", calls.budget === null ? t("no_limit") : factText(calls.budget)]],
    ["intervals", Object.entries(health.effective_intervals).map(intervalText).join(", ")],
    ["oldest", [factText(health.oldest_reading_at), " ", factText(health.oldest_reading)]],
    ["journal", journal.available ? t("available") : <Told text={journal.reason} />],
  ] as const;
  return (
    <dl class="facts">
      {facts.map(([word, value]) => (
        <div key={word}>
          <dt>{t(word)}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

type ListProps = Readonly<{ name: Word; rows: readonly ComponentChildren[] }>;

const List = ({ name, rows }: ListProps) => (
  <Section name={t(name)}>
    <Listed of={rows} none="none">
      <ul>
        {rows.map((row, at) => (
          <li key={at}>{row}</li>
        ))}
      </ul>
    </Listed>
  </Section>
);

const late = ({ controller, what, since }: Late) => (
  <>
    {[controller, topicText(String(what))].filter(Boolean).join(" / ")} {factText(since)}
  </>
);

const unreadable = ({ operation, problem, count }: Unreadable) => (
  <>
    {operation} × {count}{" "}
    <small>
      <Told text={problem} />
    </small>
  </>
);

/** What each line of an answer is. */
interface Lines {
  readonly "api/doctor": Finding;
  readonly "api/discover": DiscoverStep;
  readonly "api/settings/try": SettingsAttempt;
}

/** Reads the lines of an answer as they come. Returns why there are none; null if they came. */
export async function follow<Path extends keyof Lines>(
  path: Path,
  each: (line: Lines[Path]) => void,
  fields: object = {},
): Promise<Sentence | null> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ ...fields, language: language.value });
  const answer = await fetch(address(path), { method: "POST", headers, body });
  if (answer.status !== 200) return errorSentence((await answer.json()) as ApiError);
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    const lines = `${rest}${part.value}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) each(JSON.parse(line) as Lines[Path]);
  }
  return null;
}

export function Found({ finding }: { readonly finding: Finding }) {
  const { title, sentences } = findingText(finding);
  return (
    <li>
      <Code of={finding.status} />
      <span>
        <strong>{title}</strong> <Says of={sentences} />
      </span>
    </li>
  );
}

/** Stops commands for this run; the notice at the top of the page allows them again. */
const ReadOnly = () =>
  bridge.value?.read_only ? null : (
    <Section name={t("commands")}>
      <p class="quiet">{t("read_only_switch")}</p>
      <Asking label={t("take_no_commands")} name="read_only" fields={{ read_only: true }} />
    </Section>
  );

function Doctor() {
  const findings = useSignal<readonly Finding[]>([]);
  const said = useSignal<Sentence | null>(null);
  const run = async () => {
    findings.value = [];
    said.value = null;
    const told = follow("api/doctor", (line) => (findings.value = [...findings.value, line]));
    said.value = await told.catch(nullIfFailed);
  };
  return (
    <Section name={t("doctor")}>
      <p class="quiet">{t("doctor_what")}</p>
      <Acting label={t("doctor_run")} busyLabel={t("doctor_running")} act={run} />
      <Alert said={said} />
      <ul class="findings" aria-live="polite">
        {findings.value.map((finding, at) => (
          <Found key={at} finding={finding} />
        ))}
      </ul>
    </Section>
  );
}

function Bundle() {
  const load = async () => {
    const { status, body } = await post<{ data?: unknown }>("api/requests/bundle", { redact: true });
    const text = JSON.stringify(body?.data, null, 2);
    if (status === 200) save("greenhouse2mqtt-bundle.json", "application/json", text);
  };
  return (
    <Section name={t("bundle")}>
      <p class="quiet">{t("bundle_what")}</p>
      <Acting label={t("download")} act={load} />
    </Section>
  );
}

/** The lines are shown beside the button, since browsers give the clipboard only to https pages. */
function Lines({ yaml }: { readonly yaml: string }) {
  const isCopied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(yaml);
    isCopied.value = true;
  };
  const mayCopy = (navigator.clipboard as Clipboard | undefined) !== undefined;
  return (
    <>
      {mayCopy ? <Button act={copy}>{t(isCopied.value ? "seen_copied" : "seen_copy")}</Button> : null}
      <details>
        <summary>YAML</summary>
        <pre lang="en" tabIndex={0}>
          {yaml}
        </pre>
      </details>
    </>
  );
}

const Seen = ({ seen: { addresses, yaml } }: { readonly seen: SeenAddresses }) => (
  <Section name={t("seen")}>
    <p class="quiet">{t("seen_what")}</p>
    <ul>
      {addresses.map(({ controller, address, values, looks_like: kind, last_at: at }) => (
        <li key={`${controller} ${address}`}>
          {controller} / {address}: {values.slice(-4).join(" → ")}
          {kind === null ? null : <> {t("looks_like", { kind: codeText(kind) })}</>} <Age at={at} />
        </li>
      ))}
    </ul>
    <Lines yaml={String(yaml)} />
  </Section>
);

export type DiscoverStep = Readonly<
  Partial<{
    done: number;
    total: number;
    yaml: string;
    /** The same as values by key. */
    changes: Readonly<Record<string, unknown>>;
    notes: readonly string[];
    problem: string;
  }>
>;

/** What the account has and the configuration does not. */
function Discover() {
  const step = useSignal<DiscoverStep>({});
  const said = useSignal<Sentence | null>(null);
  const run = async () => {
    step.value = {};
    said.value = await follow("api/discover", (line) => (step.value = line)).catch(() => null);
  };
  const { done, total, yaml, notes = [], problem } = step.value;
  return (
    <Section name={t("discover")}>
      <p class="quiet">{t("discover_what")}</p>
      <Acting
        label={t("setup_search")}
        busyLabel={done === undefined ? t("doctor_running") : t("discover_at", { done, total })}
        act={run}
      />
      <Alert said={said} />
      {[...notes, ...(problem === undefined ? [] : [problem])].map((note) => (
        <p key={note} class="quiet">
          <Told text={note} />
        </p>
      ))}
      {yaml ? <Lines yaml={yaml} /> : null}
    </Section>
  );
}

type Tested = Readonly<Record<string, { ok: boolean; service: string; problem: string | null }>>;

/** Tests the ways for messages and shows each result. */
export function MessageTest() {
  const results = useSignal<Tested>({});
  const said = useSignal<Sentence | null>(null);
  const test = async () => {
    results.value = {};
    const { status, body } = await request<{ data?: Tested } & Partial<ApiError>>("notify_test", {});
    if (status === 200) results.value = body?.data ?? {};
    said.value = status === 200 ? null : errorSentence(body);
  };
  return (
    <>
      <Acting label={t("notify_test")} busyLabel={t("notify_testing")} act={test} />
      <Alert said={said} />
      <ul class="findings" aria-live="polite">
        {Object.entries(results.value).map(([way, { ok, service, problem }]) => (
          <li key={way}>
            <Code of={ok ? "ok" : "failed"} />
            <span>
              <strong>
                {way} ({service})
              </strong>{" "}
              {problem === null ? t("notify_sent") : <Told text={problem} />}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

const Messages = () => (
  <Section name={t("notify")}>
    <p class="quiet">{t("notify_what")}</p>
    <MessageTest />
  </Section>
);

/** One page that answers "what is wrong with the bridge". */
export function DiagnosticsView() {
  const health = useAnswer<HealthFacts>("api/health", 10_000).value;
  const seen = useAnswer<SeenAddresses>("api/addresses", 10_000).value;
  return (
    <>
      <Head name={t("diagnostics")} />
      {health === null ? (
        <Loading />
      ) : (
        <>
          <Health health={health} />
          <List name="overdue" rows={health.overdue.map(late)} />
          <List name="unreadable" rows={health.unreadable.map(unreadable)} />
        </>
      )}
      {seen === null || seen.addresses.length === 0 ? null : <Seen seen={seen} />}
      <Doctor />
      {bridge.value?.demo ? null : <Discover />}
      <ReadOnly />
      <Messages />
      <Bundle />
    </>
  );
}
