import { isLanguage, languageName, languages } from "../greenhouse/labels.js";
import { kinds as kindNames, setup as words } from "./locales/setup.js";
import { type Signal, signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { type ActuatorKind, actuatorKinds, alikeKinds } from "../greenhouse/actuator-kinds.js";
import { Alert, Button, Choice, Field } from "./inputs.js";
import { address, get, post } from "./live.js";
import type { ApiError, Session } from "./protocol.js";
import { Loading, Says } from "./parts.js";
import { errorSentence, ofBridge, type Sentence } from "./sentences.js";
import {
  codeText,
  durationText,
  fill,
  isWord,
  language,
  speak,
  stateWordText,
  t as textOfPage,
  type Values,
  type Word as WordOfPage,
} from "./words.js";

/* `init --web`: asks step by step what a bridge needs; the last step writes the files. */

type Word = WordOfPage | keyof typeof words.en;
const isOwn = (word: Word): word is keyof typeof words.en => Object.hasOwn(words.en, word);

/** Texts of this view, and those of the whole page. */
const t = (word: Word, values: Values = {}): string =>
  isOwn(word) ? fill(words[language.value][word], values) : textOfPage(word, values);

interface FoundActuator {
  readonly id: string;
  readonly kind: string | null;
  readonly name: string;
  readonly address: string | null;
  readonly now: string | null;
}

interface FoundController {
  readonly code: string;
  readonly title: string;
  readonly name: string;
  readonly actuators: readonly FoundActuator[];
}

interface Tried {
  readonly ok: boolean;
  readonly areSwapped: boolean;
  readonly lines: readonly string[];
}

interface Written {
  readonly file: string;
  readonly page: string | null;
  /** The page's address as a picture for a phone's camera, if a phone can reach it. */
  readonly qr: string | null;
  /** For a backup: what was restored, and what is left to do. */
  readonly lines?: readonly string[];
}

/** Limits as numbers, and the delay, by kind. */
type Bands = Readonly<Record<string, Readonly<Record<string, number | string>>>>;

const stages = [
  "setup_code",
  "setup_platform",
  "setup_broker",
  "setup_user",
  "setup_found",
  "setup_done",
] as const;
const stage = signal(0);
/** The answers so far, under the configuration's keys. */
const answers = signal<Readonly<Record<string, unknown>>>({ language: language.peek() });
const written = signal<Written | null>(null);

/** Fields of this view by the key that sentences name. */
const fieldNames: Readonly<Record<string, Word>> = {
  "platform.business_url": "setup_business",
  "platform.realtime_url": "setup_realtime",
  "platform.token": "setup_token",
  "mqtt.url": "setup_address",
  "mqtt.username": "setup_broker_user",
  "mqtt.password": "password",
};

/** A sentence with names of fields instead of keys, and without options of the command line. */
const inFields = ({ text, ...rest }: Sentence): Sentence => ({
  ...rest,
  text: text.replace(/ ?[（(]--[\w-]+[）)]/g, "").replace(/\b(?:platform|mqtt)\.\w+/g, (key) => {
    const word = fieldNames[key];
    return word === undefined ? key : t(word);
  }),
});

const ask = <T,>(step: string, more: object = {}) =>
  post<T>(`api/setup/${step}`, { ...answers.value, ...more });

function keep(more: object): void {
  answers.value = { ...answers.value, ...more };
}

const next = () => {
  stage.value += 1;
  scrollTo(0, 0);
};

type FormProps = Readonly<{
  label: Word;
  busy?: Word;
  act: (fields: Readonly<Record<string, string>>) => Promise<Sentence | null>;
  children: ComponentChildren;
  more?: ComponentChildren;
}>;

/** A form with its submission and its message. */
function Form({ label, busy = "setup_busy", act, children, more }: FormProps) {
  const said = useSignal<Sentence | null>(null);
  const isBusy = useSignal(false);
  const submit = async (form: HTMLFormElement) => {
    isBusy.value = true;
    said.value = null;
    const fields = Object.fromEntries(
      [...new FormData(form)].map(([key, value]) => [key, typeof value === "string" ? value.trim() : ""]),
    );
    said.value = await act(fields).finally(() => (isBusy.value = false));
  };
  return (
    <form
      class="setup"
      onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      {children}
      <div class="buttons">
        <button type="submit" class="primary" disabled={isBusy.value}>
          {t(isBusy.value ? busy : label)}
        </button>
        {more}
      </div>
      <Alert said={said} />
    </form>
  );
}

/** The result of trying an answer; a failed one can be kept anyway. */
function Outcome({ of, swap }: Readonly<{ of: Signal<Tried | null>; swap?: () => void }>) {
  const tried = of.value;
  if (tried === null || tried.ok) return null;
  return (
    <div class="notice bad" role="alert">
      <ul>
        {tried.lines.map((line) => (
          <li key={line}>
            <Says of={[inFields(ofBridge(line))]} />
          </li>
        ))}
      </ul>
      <div class="buttons">
        {tried.areSwapped && swap ? <Button act={swap}>{t("setup_swap")}</Button> : null}
        <Button act={next}>{t("setup_keep")}</Button>
      </div>
    </div>
  );
}

const Code = () => (
  <Form
    label="setup_begin"
    act={async ({ code = "" }) => {
      keep({ code });
      const { status, body } = await ask("brokers");
      if (status !== 200) return errorSentence(body);
      next();
      return null;
    }}
  >
    <p>{t("setup_what")}</p>
    <Choice
      label={t("setup_language")}
      value={language.value}
      options={languages.map((one) => [one, languageName(one)] as const)}
      onChange={({ currentTarget: { value } }) => {
        if (isLanguage(value)) speak(value);
        keep({ language: value });
      }}
    />
    <Field label={t("setup_code_where")} name="code" autocomplete="one-time-code" required />
  </Form>
);

/** Restores a backup of an earlier bridge instead of asking. */
function Restore() {
  const chosen = useSignal<File | null>(null);
  const password = useSignal("");
  const said = useSignal<Sentence | null>(null);
  const isBusy = useSignal(false);
  const send = async () => {
    if (chosen.value === null) return;
    const { code } = answers.value;
    const facts = { code, password: password.value, language: language.value };
    const answer = await fetch(address("api/setup/restore"), {
      method: "POST",
      headers: {
        "content-type": "application/octet-stream",
        "x-setup": encodeURIComponent(JSON.stringify(facts)),
      },
      body: chosen.value,
    }).catch(() => null);
    const body = answer === null ? null : ((await answer.json()) as Written & Partial<ApiError>);
    if (answer?.status !== 200 || body === null) {
      said.value = errorSentence(body);
      return;
    }
    written.value = body;
    stage.value = stages.length - 1;
  };
  const press = () => {
    isBusy.value = true;
    said.value = null;
    return send().finally(() => (isBusy.value = false));
  };
  return (
    <details>
      <summary>{t("restore_instead")}</summary>
      <p class="quiet">{t("restore_what")}</p>
      <label class="field">
        <span>{t("restore_file")}</span>
        <input
          type="file"
          onChange={({ currentTarget }) => (chosen.value = currentTarget.files?.[0] ?? null)}
        />
      </label>
      <Field label={t("restore_password")} type="password" autocomplete="off" bound={password} />
      <Button disabled={chosen.value === null || isBusy.value} act={press}>
        {isBusy.value ? t("setup_busy") : t("restore_go")}
      </Button>
      <Alert said={said} />
    </details>
  );
}

/** A bare host name means https. */
const whole = (address = "") => (address === "" || address.includes("://") ? address : `https://${address}`);

/** The platform's section from the typed fields. */
function platformOf(fields: Readonly<Record<string, string>>, way: "token" | "sign_in") {
  const {
    token,
    account = "",
    account_field: key = "account",
    password = "",
    password_field: secret = "password",
  } = fields;
  const credential =
    way === "token" ? { token } : { sign_in: { body: { [key]: account, [secret]: password } } };
  const hosts = {
    business_url: whole(fields["business_url"]),
    realtime_url: whole(fields["realtime_url"]),
  };
  return { ...hosts, ...credential, ...(fields["allow_insecure"] === "on" && { allow_insecure: true }) };
}

/** Others could read the token on the way to such a host, so a person has to allow it. */
const isInsecure = (address: string): boolean =>
  /^http:\/\/(?!127\.|localhost\b|\[::1\])/.test(address.trim());

function Platform() {
  const way = useSignal<"token" | "sign_in">("token");
  const tried = useSignal<Tried | null>(null);
  const business = useSignal("");
  const realtime = useSignal("");
  const act = async (fields: Readonly<Record<string, string>>) => {
    keep({ platform: platformOf(fields, way.value) });
    const { status, body } = await ask<Tried>("platform");
    if (status !== 200 || body === null) return inFields(errorSentence(body));
    tried.value = body;
    if (body.ok) next();
    return null;
  };
  return (
    <Form label="setup_try" busy="setup_trying" act={act} more={<Back />}>
      <Restore />
      <p>{t("setup_hosts")}</p>
      <Field
        label={t("setup_business")}
        name="business_url"
        bound={business}
        placeholder="https://business.example.com"
        required
      />
      <Field
        label={t("setup_realtime")}
        name="realtime_url"
        bound={realtime}
        placeholder="https://realtime.example.com"
        required
      />
      {(isInsecure(business.value) || isInsecure(realtime.value)) && (
        <label class="notice warn">
          <input type="checkbox" name="allow_insecure" required /> {t("setup_insecure")}
        </label>
      )}
      <Choice
        label={t("setup_credential")}
        bound={way}
        options={[
          ["token", t("setup_token")],
          ["sign_in", t("setup_sign_in")],
        ]}
      />
      {way.value === "token" ? (
        <Field label={t("setup_token")} name="token" type="password" autocomplete="off" required />
      ) : (
        <>
          <p class="quiet">{t("setup_account_own")}</p>
          <Field label={t("setup_account")} name="account" autocomplete="off" required />
          <Field label={t("password")} name="password" type="password" autocomplete="off" required />
          <details>
            <summary>{t("setup_fields")}</summary>
            <Field label={t("setup_account_field")} name="account_field" value="account" required />
            <Field label={t("setup_password_field")} name="password_field" value="password" required />
          </details>
        </>
      )}
      <Outcome
        of={tried}
        swap={() => {
          [business.value, realtime.value] = [realtime.peek(), business.peek()];
          tried.value = null;
        }}
      />
    </Form>
  );
}

interface FoundBroker {
  readonly url: string;
  readonly isLocked: boolean;
}

function Broker() {
  const found = useSignal<readonly FoundBroker[] | null>(null);
  const chosen = useSignal<string>("embedded");
  const tried = useSignal<Tried | null>(null);
  useEffect(() => {
    void ask<readonly FoundBroker[]>("brokers").then(({ status, body }) => {
      found.value = status === 200 && body !== null ? body : [];
      chosen.value = found.value[0]?.url ?? "embedded";
    });
  }, []);
  if (found.value === null) return <Loading />;
  const isOther = chosen.value === "other";
  const isEmbedded = chosen.value === "embedded";
  const act = async ({
    url = chosen.value,
    username = "",
    password = "",
  }: Readonly<Record<string, string>>) => {
    const login = username === "" ? {} : { username, password };
    keep({ mqtt: isEmbedded ? {} : { url, ...login } });
    const { status, body } = await ask<Tried>("broker");
    if (status !== 200 || body === null) return inFields(errorSentence(body));
    tried.value = body;
    if (body.ok) next();
    return null;
  };
  const options = [
    ...found.value.map(({ url }) => [url, url] as const),
    ["embedded", t("setup_embedded")] as const,
    ["other", t("setup_other")] as const,
  ];
  return (
    <Form label="setup_try" busy="setup_trying" act={act} more={<Back />}>
      <p>{t("setup_broker_what")}</p>
      <Choice label={t("setup_broker")} bound={chosen} options={options} />
      {isOther ? (
        <Field label={t("setup_address")} name="url" value="mqtt://localhost:1883" required />
      ) : null}
      {isEmbedded ? null : (
        <>
          <Field label={t("setup_broker_user")} name="username" autocomplete="off" />
          <Field label={t("password")} name="password" type="password" autocomplete="off" />
        </>
      )}
      <Outcome of={tried} />
    </Form>
  );
}

/** A visitor from another computer will want the page there too. */
const isElsewhere = !/^(?:localhost|127\.|\[::1\])/.test(location.hostname);

const Ticked = ({
  name,
  checked = false,
  label,
}: Readonly<{ name: string; checked?: boolean; label: string }>) => (
  <label class="shown">
    <input type="checkbox" name={name} defaultChecked={checked} /> <span>{label}</span>
  </label>
);

/** Shows the limits, then asks whether they are wanted. */
function Alarms() {
  const bands = useSignal<Bands>({});
  useEffect(() => {
    void ask<Bands>("bands").then(({ status, body }) => {
      if (status === 200 && body !== null) bands.value = body;
    });
  }, []);
  const limitText = ([limit, value]: readonly [string, string | number]) => {
    const word = `beyond_${limit}`;
    return isWord(word) ? `${t(word)} ${value}` : durationText(String(value));
  };
  return (
    <fieldset>
      <legend>{t("setup_alarms")}</legend>
      <ul>
        {Object.entries(bands.value).map(([kind, limits]) => (
          <li key={kind}>
            <strong>{codeText(kind)}</strong> {Object.entries(limits).map(limitText).join(t("comma"))}
          </li>
        ))}
      </ul>
      <Ticked name="alarms" label={t("setup_alarms_take")} />
    </fieldset>
  );
}

function User() {
  const name = useSignal("");
  return (
    <Form
      label="setup_next"
      act={(fields) => {
        const { username = "", password = "", phones, alarms } = fields;
        keep({ user: username === "" ? null : { username, password } });
        keep({ phones: phones === "on", alarms: alarms === "on" });
        next();
        return Promise.resolve(null);
      }}
      more={<Back />}
    >
      <p>{t("setup_user_what")}</p>
      <Field label={t("user_name")} name="username" autocomplete="username" bound={name} />
      <Field
        label={t("first_password")}
        name="password"
        type="password"
        autocomplete="new-password"
        minLength={12}
        required={name.value !== ""}
      />
      {name.value === "" ? null : <Ticked name="phones" checked={isElsewhere} label={t("setup_phones")} />}
      <Alarms />
    </Form>
  );
}

function Found() {
  const found = useSignal<readonly FoundController[] | null>(null);
  const search = async () => {
    const { status, body } = await ask<{ readonly controllers: readonly FoundController[] }>("discover");
    if (status !== 200 || body === null) return inFields(errorSentence(body));
    found.value = body.controllers;
    return null;
  };
  const write = async (fields: Readonly<Record<string, string>>) => {
    const { status, body } = await ask<Written>("write", { controllers: editsOf(found.value ?? [], fields) });
    if (status !== 200 || body === null) return inFields(errorSentence(body));
    written.value = body;
    next();
    return null;
  };
  if (found.value === null)
    return (
      <>
        <Form label="setup_search" busy="setup_searching" act={search} more={<Back />}>
          <p>{t("setup_search_what")}</p>
        </Form>
        <Form label="setup_skip" act={write}>
          <p class="quiet">{t("setup_skip_what")}</p>
        </Form>
      </>
    );
  return (
    <Form label="setup_write" act={write}>
      <p>{t("setup_compare")}</p>
      {found.value.map((controller, _, all) => (
        <FoundOne key={controller.code} of={controller} isAlone={all.length === 1} />
      ))}
    </Form>
  );
}

/** The edits, under the names of the form's fields. */
function editsOf(found: readonly FoundController[], fields: Readonly<Record<string, string>>) {
  const isHidden = (key: string) => fields[`${key} shown`] === undefined;
  return Object.fromEntries(
    found.map(({ code, actuators }) => [
      code,
      {
        name: fields[`${code} name`] ?? "",
        hidden: isHidden(code),
        actuators: Object.fromEntries(
          actuators.map(({ id, kind }) => {
            const key = `${code} ${id}`;
            return [
              id,
              {
                name: fields[`${key} name`] ?? "",
                kind: fields[`${key} kind`] ?? kind,
                hidden: isHidden(key),
              },
            ];
          }),
        ),
      },
    ]),
  );
}

const isKind = (kind: string | null): kind is ActuatorKind => actuatorKinds.some((one) => one === kind);

/** Kinds with the same values on the platform as the found one; others need an editor. */
const kindChoices = (kind: string | null) =>
  alikeKinds(isKind(kind) ? kind : "custom").map((one) => [one, kindNames[language.value][one]] as const);

/** `now 10001 (closed); assumed to take …`, the comment of `discover` on an address, in the page's language. */
function nowTexts(comment: string): readonly string[] {
  const [, value, word, more = ""] = /^\S+ (\S+)(?: \((\w+)\))?(?:; (.*))?$/.exec(comment) ?? [];
  if (value === undefined) return [comment];
  const reads =
    word === undefined ? t("reads_raw", { value }) : t("reads_now", { value, word: stateWordText(word) });
  return more.startsWith("assumed") ? [reads, t("kind_assumed")] : [reads, more].filter(Boolean);
}

const Shown = ({ name, label }: Readonly<{ name: string; label: string }>) => (
  <label class="shown">
    <input type="checkbox" name={name} defaultChecked /> <span>{label}</span>
  </label>
);

type FoundProps = Readonly<{ of: FoundController; isAlone: boolean }>;

/** A found controller; of several each is folded, as correct ones need no look. */
const FoundOne = ({ of: { code, title, name, actuators }, isAlone }: FoundProps) => (
  <details open={isAlone}>
    <summary>
      <strong>{name || title}</strong> {code}
      {actuators.length > 0 ? ` · ${codeText("actuators")}: ${actuators.length}` : ""}
    </summary>
    <fieldset aria-label={code}>
      <div class="bar">
        <Field label={t("name")} name={`${code} name`} value={name} placeholder={title} />
        <Shown name={`${code} shown`} label={t("setup_mirror")} />
      </div>
      {actuators.map(({ id, kind, name: own, address, now }) => {
        const key = `${code} ${id}`;
        return (
          <div class="bar" key={id}>
            <Field
              label={[`${t("address")} ${address ?? ""}`, ...(now === null ? [] : nowTexts(now))].join(" · ")}
              name={`${key} name`}
              value={own}
            />
            <Choice label={t("kind")} name={`${key} kind`} value={kind ?? ""} options={kindChoices(kind)} />
            <Shown name={`${key} shown`} label={t("setup_use")} />
          </div>
        );
      })}
    </fieldset>
  </details>
);

const lookEveryMs = 2_000;

function Done() {
  // Once the bridge runs, this address is its page.
  useEffect(() => {
    const timer = setInterval(() => {
      void get<Session>("api/session").then(({ body }) => {
        if (body !== null && body.setup !== true) location.reload();
      });
    }, lookEveryMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="setup">
      <p>
        <strong>{t("setup_written", { file: written.value?.file ?? "" })}</strong>
      </p>
      {(written.value?.lines ?? []).map((line) => (
        <p key={line}>
          <Says of={[ofBridge(line)]} />
        </p>
      ))}
      <p>{t("setup_run")}</p>
      <pre>greenhouse2mqtt run</pre>
      <p>{t("setup_then", { url: written.value?.page ?? "" })}</p>
      {written.value?.qr ? (
        <figure class="qr">
          <img src={written.value.qr} alt={written.value.page ?? ""} width="200" height="200" />
          <figcaption>{t("setup_qr")}</figcaption>
        </figure>
      ) : null}
    </div>
  );
}

const Back = () => <Button act={() => (stage.value -= 1)}>{t("setup_back")}</Button>;

const shows = [Code, Platform, Broker, User, Found, Done];

export default function Setup() {
  const Show = shows[stage.value] ?? Done;
  return (
    <main id="content" class="steps">
      <h1>{t("setup")}</h1>
      <ol class="truth">
        {stages.map((word, at) => (
          <li
            key={word}
            class={at === stage.value ? "badge good" : "badge plain"}
            aria-current={at === stage.value ? "step" : undefined}
          >
            {at + 1} {t(word)}
          </li>
        ))}
      </ol>
      <Show />
    </main>
  );
}
