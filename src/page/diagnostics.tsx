import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { address, bridge, get, post } from "./live.js";
import { Acting, Age, Badge, Icon, Loading, save, Says } from "./parts.js";
import { type Finding, findingText } from "./sentences.js";
import { lengthText, numberText, t, told } from "./words.js";

type Facts = Readonly<Record<string, unknown>>;

const isFacts = (value: unknown): value is Facts =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const factsIn = (facts: Facts, key: string): Facts => {
  const value = facts[key];
  return isFacts(value) ? value : {};
};

function shown(value: unknown): ComponentChildren {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "number") return numberText(value);
  if (typeof value === "string") return /^\d{4}-\d\d-\d\dT/.test(value) ? <Age at={value} /> : told(value);
  return Object.entries(value as Facts)
    .map(([key, one]) => `${told(key.replace(/_s$/, ""))} ${lengthText(Number(one))}`)
    .join(", ");
}

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

function Health({ health }: { readonly health: Facts }) {
  const [broker, platform, journal] = ["broker", "platform", "journal"].map((key) => factsIn(health, key));
  const calls = factsIn(health, "calls_per_hour");
  return (
    <dl class="facts">
      <Fact name={t("version")}>{bridge.value?.version ?? "–"}</Fact>
      <Fact name={t("uptime")}>{lengthText(Number(health["uptime_s"]))}</Fact>
      <Fact name={t("memory")}>{shown(health["rss_mb"])} MB</Fact>
      <Fact name={t("broker")}>{shown(broker?.["state"])}</Fact>
      <Fact name={t("platform")}>{shown(platform?.["state"])}</Fact>
      <Fact name={t("last_business")}>{shown(health["last_contact_business"])}</Fact>
      <Fact name={t("last_realtime")}>{shown(health["last_contact_realtime"])}</Fact>
      <Fact name={t("requests_left")}>{shown(health["requests_left"])}</Fact>
      <Fact name={t("calls")}>
        {shown(calls["total"])} / {shown(calls["budget"])}
      </Fact>
      <Fact name={t("intervals")}>{shown(health["effective_intervals"])}</Fact>
      <Fact name={t("oldest")}>
        {shown(health["oldest_reading_at"])} {shown(health["oldest_reading"])}
      </Fact>
      <Fact name={t("journal_state")}>
        {journal?.["available"] === true ? (
          t("available")
        ) : (
          <span lang="en">{shown(journal?.["reason"])}</span>
        )}
      </Fact>
    </dl>
  );
}

/** What is late, or could not be read. */
function Lists({ health }: { readonly health: Facts }) {
  const listed = (key: string): readonly Facts[] => {
    const value = health[key];
    return Array.isArray(value) ? value.filter(isFacts) : [];
  };
  const late = ({ controller, what, since }: Facts) => (
    <>
      {[controller, ...String(what).split("/").map(told)].filter(Boolean).join(" / ")} {shown(since)}
    </>
  );
  const unreadable = ({ operation, problem, count }: Facts) => (
    <>
      {String(operation)} · {t("times", { count: Number(count) })} <small lang="en">{String(problem)}</small>
    </>
  );
  return (
    <>
      {(
        [
          ["overdue", late],
          ["unreadable", unreadable],
        ] as const
      ).map(([key, text]) => (
        <section key={key}>
          <h2>{t(key)}</h2>
          {listed(key).length === 0 ? <p class="quiet">{t("none")}</p> : null}
          <ul class="plain">
            {listed(key).map((facts, at) => (
              <li key={at}>{text(facts)}</li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

const kinds = { ok: "good", warning: "warn", failed: "bad", skipped: "plain" } as const;

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
      <Badge kind={kinds[finding.status]}>{told(finding.status)}</Badge>
      <span>
        <strong>{title}</strong> <Says of={sentences} />
      </span>
    </li>
  );
}

function Doctor() {
  const findings = useSignal<readonly Finding[]>([]);
  const isRunning = useSignal(false);
  const run = async () => {
    findings.value = [];
    isRunning.value = true;
    await follow((finding) => (findings.value = [...findings.value, finding])).catch(() => undefined);
    isRunning.value = false;
  };
  return (
    <section>
      <h2>{t("doctor")}</h2>
      <p class="quiet">{t("doctor_what")}</p>
      <Acting
        label={isRunning.value ? t("doctor_running") : t("doctor_run")}
        isBusy={isRunning.value}
        act={run}
      />
      <ul class="findings" aria-live="polite">
        {findings.value.map((finding, at) => (
          <Found key={at} finding={finding} />
        ))}
      </ul>
    </section>
  );
}

function Bundle() {
  const isBusy = useSignal(false);
  const load = async () => {
    isBusy.value = true;
    const { status, body } = await post<{ readonly data?: unknown }>("api/requests/bundle", {});
    isBusy.value = false;
    if (status === 200)
      save("greenhouse2mqtt-bundle.json", "application/json", JSON.stringify(body?.data, null, 2));
  };
  return (
    <section>
      <h2>{t("bundle")}</h2>
      <p class="quiet">{t("bundle_what")}</p>
      <Acting label={t("download")} isBusy={isBusy.value} act={load} />
    </section>
  );
}

/** One page that answers "what is wrong with the bridge". */
export function DiagnosticsView() {
  const health = useSignal<Facts | null>(null);
  useEffect(() => {
    const load = async () => {
      const { status, body } = await get<Facts>("api/health");
      if (status === 200) health.value = body;
    };
    void load();
    const timer = setInterval(() => void load(), 10_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <div class="bar">
        <h1>
          <Icon name="diagnostics" /> {t("diagnostics")}
        </h1>
      </div>
      {health.value === null ? <Loading /> : <Health health={health.value} />}
      {health.value === null ? null : <Lists health={health.value} />}
      <Doctor />
      <Bundle />
    </>
  );
}
