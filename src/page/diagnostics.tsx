import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { address, bridge, post } from "./live.js";
import { Acting } from "./inputs.js";
import { Age, Code, Head, Listed, Loading, save, Says, Section, useAnswer } from "./parts.js";
import { type Finding, findingText, topicText } from "./sentences.js";
import { lengthText, numberText, t, told, type Word } from "./words.js";

type Facts = Readonly<Record<string, unknown>>;

const isFacts = (value: unknown): value is Facts =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const factsIn = (facts: Facts, key: string): Facts => {
  const value = facts[key];
  return isFacts(value) ? value : {};
};

const listIn = (facts: Facts, key: string): readonly Facts[] => {
  const value = facts[key];
  return Array.isArray(value) ? value.filter(isFacts) : [];
};

function shown(value: unknown): ComponentChildren {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "number") return numberText(value);
  if (typeof value === "string") return /^\d{4}-\d\d-\d\dT/.test(value) ? <Age at={value} /> : told(value);
  return Object.entries(value as Facts)
    .map(([key, one]) => `${told(key.replace(/_s$/, ""))} ${lengthText(Number(one))}`)
    .join(", ");
}

function Health({ health }: { readonly health: Facts }) {
  const [broker, platform, journal] = ["broker", "platform", "journal"].map((key) => factsIn(health, key));
  const calls = factsIn(health, "calls_per_hour");
  const facts = [
    ["version", bridge.value?.version],
    ["uptime", lengthText(Number(health["uptime_s"]))],
    ["memory", `${numberText(Number(health["rss_mb"]))} MB`],
    ["broker", shown(broker?.["state"])],
    ["platform", shown(platform?.["state"])],
    ["last_business", shown(health["last_contact_business"])],
    ["last_realtime", shown(health["last_contact_realtime"])],
    ["requests_left", shown(health["requests_left"])],
    ["calls", [shown(calls["total"]), " / ", shown(calls["budget"])]],
    ["intervals", shown(health["effective_intervals"])],
    ["oldest", [shown(health["oldest_reading_at"]), " ", shown(health["oldest_reading"])]],
    [
      "journal",
      journal?.["available"] === true ? t("available") : <span lang="en">{shown(journal?.["reason"])}</span>,
    ],
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
      <ul class="plain">
        {rows.map((row, at) => (
          <li key={at}>{row}</li>
        ))}
      </ul>
    </Listed>
  </Section>
);

const late = ({ controller, what, since }: Facts) => (
  <>
    {[controller, topicText(String(what))].filter(Boolean).join(" / ")} {shown(since)}
  </>
);

const unreadable = ({ operation, problem, count }: Facts) => (
  <>
    {String(operation)} · {t("times", { count: Number(count) })} <small lang="en">{String(problem)}</small>
  </>
);

/** Reads the lines of an answer as they come. */
async function follow(each: (finding: Finding) => void): Promise<void> {
  const headers = { "content-type": "application/json" };
  const { body } = await fetch(address("api/doctor"), { method: "POST", headers, body: "{}" });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    const lines = `${rest}${part.value}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) each(JSON.parse(line) as Finding);
  }
}

function Found({ finding }: { readonly finding: Finding }) {
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

function Doctor() {
  const findings = useSignal<readonly Finding[]>([]);
  const run = async () => {
    findings.value = [];
    await follow((finding) => (findings.value = [...findings.value, finding])).catch(() => undefined);
  };
  return (
    <Section name={t("doctor")}>
      <p class="quiet">{t("doctor_what")}</p>
      <Acting label={t("doctor_run")} busyLabel={t("doctor_running")} act={run} />
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
    const { status, body } = await post<{ readonly data?: unknown }>("api/requests/bundle", {
      redact: true,
    });
    if (status === 200)
      save("greenhouse2mqtt-bundle.json", "application/json", JSON.stringify(body?.data, null, 2));
  };
  return (
    <Section name={t("bundle")}>
      <p class="quiet">{t("bundle_what")}</p>
      <Acting label={t("download")} act={load} />
    </Section>
  );
}

/** One page that answers "what is wrong with the bridge". */
export function DiagnosticsView() {
  const health = useAnswer<Facts>("api/health", 10_000).value;
  return (
    <>
      <Head name={t("diagnostics")} />
      {health === null ? (
        <Loading />
      ) : (
        <>
          <Health health={health} />
          <List name="overdue" rows={listIn(health, "overdue").map(late)} />
          <List name="unreadable" rows={listIn(health, "unreadable").map(unreadable)} />
        </>
      )}
      <Doctor />
      <Bundle />
    </>
  );
}
