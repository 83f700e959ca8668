import { effect, signal } from "@preact/signals";
import { type ComponentChildren, render } from "preact";
import { AlarmsView } from "./alarms.js";
import { ControllerPage } from "./controller.js";
import { DiagnosticsView } from "./diagnostics.js";
import { JournalView } from "./journal.js";
import { alarms, bridge, connect, entered, look, now, post, session, silentSince } from "./live.js";
import { LogView } from "./log.js";
import { OverviewView } from "./overview.js";
import { Alert, Field, Icon, type IconName, Loading } from "./parts.js";
import "./style.css";
import { errorSentence, type Sentence } from "./sentences.js";
import { isWord, type Language, language, speak, t, timeText } from "./words.js";

const route = signal(location.hash);
addEventListener("hashchange", () => {
  route.value = location.hash;
  scrollTo(0, 0);
});

const places = ["overview", "journal", "alarms", "diagnostics", "log"] as const;

function Navigation({ at }: { readonly at: string }) {
  const active = Object.values(alarms.value ?? {}).filter(({ state }) => state === "active").length;
  return (
    <nav aria-label={t("title")}>
      {places.map((place) => (
        <a
          key={place}
          href={place === "overview" ? "#/" : `#/${place}`}
          aria-current={at === place ? "page" : undefined}
        >
          <Icon name={place satisfies IconName} />
          <span>{t(place)}</span>
          {place === "alarms" && active > 0 ? <b class="count">{active}</b> : null}
        </a>
      ))}
    </nav>
  );
}

/** What holds for everything on the page. */
function Notices() {
  const facts = bridge.value;
  const silent = silentSince.value;
  const platform = `notice_${facts?.platform}`;
  const lines: readonly (readonly [string, string])[] = [
    ...(silent === null ? [] : [["bad", t("silent", { time: timeText(silent, now.value) })] as const]),
    ...(isWord(platform) ? [["bad", t(platform)] as const] : []),
    ...(facts !== null && facts.broker !== "online" ? [["warn", t("broker_away")] as const] : []),
    ...(facts?.read_only ? [["plain", t("read_only")] as const] : []),
    ...(facts?.dry_run ? [["plain", t("dry_run")] as const] : []),
  ];
  return (
    <div class="notices" role="status">
      {lines.map(([kind, text]) => (
        <p key={text} class={`notice ${kind}`}>
          {text}
        </p>
      ))}
    </div>
  );
}

const speeds = [1, 10, 60, 300, 1_000];

function Demo() {
  const demo = bridge.value?.demo;
  if (!demo) return null;
  const set = (speed: number) => void post("api/demo", { speed });
  return (
    <div class="demo">
      <span>{t("demo", { time: demo.time })}</span>
      <label>
        {t("speed")}{" "}
        <select value={String(demo.speed)} onChange={({ currentTarget }) => set(Number(currentTarget.value))}>
          {[...new Set([...speeds, demo.speed])].map((speed) => (
            <option key={speed} value={String(speed)} selected={speed === demo.speed}>
              {speed} ×
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

async function leave(): Promise<void> {
  await post("api/logout", {});
  location.reload();
}

function Header({ at }: { readonly at: string }) {
  const who = session.value;
  const other: Language = language.value === "en" ? "zh" : "en";
  return (
    <header>
      <a class="brand" href="#/">
        <img src="./icon.svg" alt="" width="28" height="28" />
        {t("title")}
      </a>
      <Navigation at={at} />
      <div class="who">
        <button type="button" class="link" lang={other} onClick={() => speak(other)}>
          {other === "zh" ? "中文" : "English"}
        </button>
        {who?.user ? <span class="user">{who.user}</span> : null}
        {who?.via?.startsWith("page:") ? (
          <button type="button" class="link" onClick={() => void leave()}>
            {t("log_out")}
          </button>
        ) : null}
      </div>
    </header>
  );
}

function Login() {
  const said = signal<Sentence | null>(null);
  const submit = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const body = { username: data.get("username"), password: data.get("password") };
    const { status, body: answer } = await post("api/login", body);
    if (status === 204) entered();
    else if (status === 401 || status === 429)
      said.value = { text: t(status === 401 ? "wrong_login" : "too_many") };
    else said.value = errorSentence(answer);
  };
  return (
    <main class="login" id="content">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <h1>
          <img src="./icon.svg" alt="" width="36" height="36" /> {t("title")}
        </h1>
        <Field label={t("name")} name="username" autocomplete="username" required />
        <Field
          {...{ label: t("password"), name: "password", type: "password", required: true }}
          autocomplete="current-password"
        />
        <button type="submit" class="primary">
          {t("log_in")}
        </button>
        <Alert said={said} />
      </form>
    </main>
  );
}

/** Where a fragment leads, and which views are looked at there. */
function placeOf(hash: string): {
  readonly at: string;
  readonly views: readonly string[];
  readonly show: ComponentChildren;
} {
  const [kind = "", ...rest] = hash.replace(/^#\//, "").split("/");
  const id = decodeURIComponent(rest.join("/"));
  if (kind === "controller" && id !== "")
    return { at: "controller", views: [`controller/${id}`], show: <ControllerPage key={id} id={id} /> };
  if (kind === "journal") return { at: kind, views: ["journal", "overview"], show: <JournalView /> };
  if (kind === "alarms") return { at: kind, views: [], show: <AlarmsView /> };
  if (kind === "diagnostics") return { at: kind, views: [], show: <DiagnosticsView /> };
  if (kind === "log") return { at: kind, views: ["log"], show: <LogView /> };
  return { at: "overview", views: ["overview"], show: <OverviewView /> };
}

function Page() {
  const who = session.value;
  if (who === null) return <Loading />;
  if (who.role === null) return <Login />;
  const { at, show } = placeOf(route.value);
  return (
    <>
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("content")?.focus();
        }}
      >
        {t("skip")}
      </a>
      <Header at={at} />
      <div class={silentSince.value === null ? "heard" : "heard silent"}>
        <Notices />
        <Demo />
        <main id="content" tabIndex={-1}>
          {show}
        </main>
      </div>
    </>
  );
}

effect(() => look(...placeOf(route.value).views));
effect(() => {
  document.documentElement.lang = language.value === "zh" ? "zh-Hans" : "en";
  document.title = t("title");
});
connect();
const root = document.getElementById("page");
if (root) render(<Page />, root);
