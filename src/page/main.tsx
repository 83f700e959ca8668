import { languageName, languages } from "../greenhouse/labels.js";
import { ignored } from "../runtime/failures.js";
import { effect, signal, useSignal } from "@preact/signals";
import { type ComponentType, render } from "preact";
import { useEffect } from "preact/hooks";
import { AlarmsView } from "./alarms.js";
import { ControllerPage } from "./controller.js";
import { DiagnosticsView } from "./diagnostics.js";
import {
  account,
  accountIn,
  alarms,
  bridge,
  connect,
  onLogin,
  isAccountMissing,
  isFleet,
  isOpening,
  isOperator,
  link,
  look,
  notLive,
  notReached,
  now,
  post,
  restartedAt,
  session,
  silentSince,
  viewIn,
} from "./live.js";
import { LogView } from "./log.js";
import { OverviewView } from "./overview.js";
import { Acting, Alert, Asking, Button, Choice, Field, saveSettings } from "./inputs.js";
import { Head, Icon, Loading, Told } from "./parts.js";
import "./style.css";
import { accountStateText, errorSentence, type Sentence } from "./sentences.js";
import { clockText, isWord, language, speak, t, timeText } from "./words.js";

const route = signal(location.hash);
addEventListener("hashchange", () => {
  if (accountIn(location.hash) !== account) {
    location.reload();
    return;
  }
  route.value = location.hash;
  scrollTo(0, 0);
});

/** The views besides a controller's, each with the data that it needs. */
const places = [
  { at: "overview", views: ["overview", "groups"], Show: OverviewView },
  { at: "journal", views: ["journal", "overview"], Show: () => <LatePage of="journal" /> },
  { at: "alarms", views: [], Show: AlarmsView },
  { at: "diagnostics", views: [], Show: DiagnosticsView },
  { at: "log", views: ["log"], Show: LogView },
  { at: "settings", views: [], Show: () => <LatePage of="settings" /> },
] as const;

/** Whether this visitor sees the view: settings are for an admin. */
const isShown = (at: string): boolean => at !== "settings" || session.value?.settings === true;

/** The view of a fragment. */
function placeOf(hash: string) {
  const [kind, ...rest] = viewIn(hash).split("/");
  const id = decodeURIComponent(rest.join("/"));
  if (kind === "controller" && id !== "")
    return { at: kind, views: [`controller/${id}`], show: <ControllerPage key={id} id={id} /> };
  if (kind === "wall") return { at: kind, views: ["overview"], show: <LatePage of="wall" /> };
  const { at, views, Show } = places.find((one) => one.at === kind && isShown(one.at)) ?? places[0];
  return { at, views, show: <Show /> };
}

function Navigation({ at }: { readonly at: string }) {
  const active = Object.values(alarms.value ?? {}).filter(({ state }) => state === "active").length;
  return (
    <nav aria-label={t("title")}>
      {places
        .filter((one) => isShown(one.at))
        .map(({ at: place }) => (
          <a key={place} href={link(place)} aria-current={at === place ? "page" : undefined}>
            <Icon name={place} />
            {t(place)}
            {place === "alarms" && active > 0 ? <b class="count">{active}</b> : null}
          </a>
        ))}
    </nav>
  );
}

/** All commands are refused; an operator can allow them until the next start, an admin for good. */
function ReadOnly() {
  const said = useSignal<Sentence | null>(null);
  const take = async () => (said.value = await saveSettings({ "commands.read_only": false }));
  return (
    <div class="notice plain bar">
      <p>{t("read_only")}</p>
      {isOperator.value ? (
        <Asking label={t("take_commands")} name="read_only" fields={{ read_only: false }} />
      ) : null}
      {session.value?.settings ? <Acting label={t("take_commands_always")} act={take} /> : null}
      <Alert said={said} />
    </div>
  );
}

/** Nobody is logged in, shown once for the whole page; perhaps somebody can become the first operator. */
function Nobody() {
  const isOpen = useSignal(false);
  if (!session.value?.first_operator && !isOpening.value) return <p class="notice plain">{t("anonymous")}</p>;
  return (
    <div class="notice warn">
      <div class="bar">
        <p>{t("first_none")}</p>
        {isOpen.value ? null : (
          <Button class="primary" act={() => (isOpen.value = true)}>
            {t("first_make")}
          </Button>
        )}
      </div>
      {isOpen.value ? <LatePage of="first" /> : null}
    </div>
  );
}

/** Why there is no live connection; other causes than a proxy exist. */
const notLiveText = (): string | null =>
  notLive.value === null
    ? null
    : notLive.value.error === "upgrade_required"
      ? t("no_upgrade")
      : errorSentence(notLive.value).text;

/** Notices for the whole page. */
function Notices() {
  const facts = bridge.value;
  const silent = silentSince.value;
  const platform = `notice_${facts?.platform}`;
  const restarted = restartedAt.value;
  const lines = [
    ["bad", silent === null ? null : t("silent", { time: timeText(silent, now.value) })],
    ["bad", notLiveText()],
    ["bad", isWord(platform) ? t(platform) : null],
    ["warn", facts !== null && facts.broker !== "online" ? t("broker_away") : null],
    ["plain", restarted === null ? null : t("restarted", { time: timeText(restarted, now.value) })],
    ["plain", facts?.dry_run ? t("dry_run") : null],
  ] as const;
  return (
    <div class="notices" role="status">
      {lines.map(([kind, text]) => (text === null ? null : <p class={`notice ${kind}`}>{text}</p>))}
      {facts?.read_only ? <ReadOnly /> : null}
      {session.value?.user && !isOpening.value ? null : <Nobody />}
    </div>
  );
}

function Demo() {
  const demo = bridge.value?.demo;
  if (!demo) return null;
  const options = [...new Set([1, 10, 60, 300, 1_000, demo.speed])].map(
    (speed) => [String(speed), `${speed} ×`] as const,
  );
  return (
    <section class="demo" aria-label={t("speed")}>
      <span>{t("demo", { time: demo.time })}</span>
      <Choice
        label={t("speed")}
        options={options}
        value={String(demo.speed)}
        onChange={({ currentTarget }) => void post("api/demo", { speed: Number(currentTarget.value) })}
      />
    </section>
  );
}

function Header({ at }: { readonly at: string }) {
  const who = session.value;
  const other = languages[(languages.indexOf(language.value) + 1) % languages.length] ?? "en";
  return (
    <header>
      <a class="brand" href="#/">
        <img src="./icon.svg" alt="" width="28" height="28" />
        {t("title")}
      </a>
      {isFleet.value ? null : <Navigation at={at} />}
      <div class="who">
        <Button class="link" lang={other} act={() => speak(other)}>
          {languageName(other)}
        </Button>
        {who?.user ? <span class="user">{who.user}</span> : null}
        {who?.via?.startsWith("page:") ? (
          <Button class="link" act={() => post("api/logout", {}).then(() => location.reload())}>
            {t("log_out")}
          </Button>
        ) : null}
      </div>
    </header>
  );
}

function Login() {
  const said = useSignal<Sentence | null>(null);
  const submit = async (form: HTMLFormElement) => {
    const { status, body } = await post("api/login", Object.fromEntries(new FormData(form)));
    if (status === 204) onLogin();
    else if (status === 401) said.value = { text: t("wrong_login") };
    else said.value = body?.error === "too_many_logins" ? { text: t("too_many") } : errorSentence(body);
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
        <Field label={t("user_name")} name="username" autocomplete="username" required />
        <Field
          label={t("password")}
          name="password"
          type="password"
          required
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

const late = {
  setup: () => import("./setup.js"),
  accounts: () => import("./accounts.js"),
  first: () => import("./first-operator.js"),
  journal: () => import("./journal.js"),
  wall: () => import("./wall.js"),
  settings: () => import("./settings.js"),
};

const loaded = signal<Readonly<Partial<Record<keyof typeof late, ComponentType>>>>({});

/** A view that is loaded when it is first opened. */
function LatePage({ of }: Readonly<{ of: keyof typeof late }>) {
  const Show = loaded.value[of];
  useEffect(() => {
    void late[of]().then(({ default: show }) => (loaded.value = { ...loaded.value, [of]: show }));
  }, [of]);
  return Show === undefined ? <Loading /> : <Show />;
}

/** The present account of a fleet, with the way back to all. */
const AccountName = () => (
  <nav class="account" aria-label={t("account")}>
    <a class="back" href="#/">
      <Icon name="back" />
      {t("all_accounts")}
    </a>
    <strong>{account}</strong>
  </nav>
);

/** An account that does not exist or does not run, with the reason. */
function AccountAway() {
  const { state = "", error, again } = session.value?.account ?? {};
  const why = isAccountMissing.value ? (
    <p class="notice warn">{t("account_missing")}</p>
  ) : (
    <div class="notice bad">
      <p>{t("account_away", { state: accountStateText(state) })}</p>
      {error ? (
        <p>
          <Told text={error} />
        </p>
      ) : null}
      {again ? <p>{t("account_again", { time: timeText(again, now.value) })}</p> : null}
    </div>
  );
  return (
    <>
      <Head name={account} />
      {why}
    </>
  );
}

function Shown() {
  if (isFleet.value) return <LatePage of="accounts" />;
  const isAway = isAccountMissing.value || (session.value?.account?.state ?? "running") !== "running";
  return isAway ? <AccountAway /> : placeOf(route.value).show;
}

/** An installed page without its bridge: shows since when, and no value that would look current. */
const NotReached = ({ since }: Readonly<{ since: number | null }>) => (
  <main class="login" id="content">
    <div class="setup" role="status">
      <h1>
        <img src="./icon.svg" alt="" width="36" height="36" /> {t("title")}
      </h1>
      <p>
        <strong>{t("not_reached")}</strong>
      </p>
      <p>{since === null ? t("never_seen") : t("last_seen", { time: clockText(since, Date.now()) })}</p>
      <p class="quiet">{t("not_reached_what")}</p>
    </div>
  </main>
);

function Page() {
  const who = session.value;
  if (notReached.value !== null) return <NotReached since={notReached.value.since} />;
  if (who === null && !isAccountMissing.value) return <Loading />;
  if (who?.setup) return <LatePage of="setup" />;
  if (who?.role === null) return <Login />;
  return (
    <>
      <Button class="skip" act={() => document.getElementById("content")?.focus()}>
        {t("skip")}
      </Button>
      <Header at={placeOf(route.value).at} />
      <div class={silentSince.value === null ? "heard" : "heard silent"}>
        <Notices />
        <Demo />
        {account === null ? null : <AccountName />}
        <main id="content" tabIndex={-1}>
          <Shown />
        </main>
      </div>
    </>
  );
}

effect(() => look(...placeOf(route.value).views));
effect(() => {
  document.documentElement.lang = language.value === "zh" ? "zh-Hans" : language.value;
  document.title = account === null ? t("title") : `${account} – ${t("title")}`;
});
connect();
// On plain HTTP from another computer browsers have no service worker; in a frame the page belongs to another one.
if (window === window.top && "serviceWorker" in navigator)
  void navigator.serviceWorker.register("./shell.js").catch(ignored);
const root = document.getElementById("page");
if (root) render(<Page />, root);
