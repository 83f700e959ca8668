import { computed, signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type DiscoverStep, follow, Found } from "./diagnostics.js";
import { Acting, Alert, Button, Field } from "./inputs.js";
import { address, get, post, useAnswer } from "./live.js";
import { Age, saveBlob, Says } from "./parts.js";
import type {
  ApiError,
  ProgramFacts,
  SeenAddresses,
  SettingsAttempt,
  SettingsDocument,
  SettingsLogin,
} from "./protocol.js";
import { errorSentence, ofBridge, type Sentence } from "./sentences.js";
import { draft, given, mirrored, proposal, said, text, wanted } from "./settings-draft.js";
import { addedTo, type Draft, freeId, inKey, isGiven, thingsIn } from "./settings-parts.js";
import { s } from "./settings-words.js";
import { codeText, language, t } from "./words.js";

/* Other parts of the settings: test connections, add what was found, end logins, restart. */

/* Connections, which are tested before they are saved. */

const attempts = signal<readonly SettingsAttempt[]>([]);
const isTrying = signal(false);
/** The change that the tests belong to. */
const triedOf = signal<string | null>(null);
const ofNow = computed(() => JSON.stringify(wanted.value));
const hasFailed = computed(() => attempts.value.some(({ status }) => status === "failed"));

/** Whether this change failed its test and is saved anyway: a broker may be away for an hour. */
export const isSavedAllTheSame = computed(() => triedOf.value === ofNow.value && hasFailed.value);

const connections = /^(?:platform|mqtt|broker|homeassistant)(?:$|[.[])/;

async function tryOut(): Promise<void> {
  const own = ofNow.value;
  attempts.value = [];
  isTrying.value = true;
  const add = (line: SettingsAttempt) => (attempts.value = [...attempts.value, line]);
  const why = await follow("api/settings/try", add, wanted.value)
    .catch((): Sentence => ({ text: t("not_sent") }))
    .finally(() => (isTrying.value = false));
  triedOf.value = why === null ? own : null;
  if (why !== null) said.value = why;
}

/** Tests changed connections; resolves to whether they work, or failed the same test before. */
export async function mayBeSaved(): Promise<boolean> {
  const isAbout = proposal.value?.keys.some((key) => connections.test(key)) === true;
  if (!isAbout || isSavedAllTheSame.value) return true;
  await tryOut();
  return triedOf.value === ofNow.value && !hasFailed.value;
}

/** The findings about the present change; those about another one do not count. */
export function Attempts() {
  const isShown = isTrying.value || triedOf.value === ofNow.value;
  if (!isShown || attempts.value.length === 0) return null;
  return (
    <ul class="findings" aria-live="polite">
      {attempts.value.map((finding, at) => (
        <Found key={at} finding={{ ...finding, status: finding.status as never }} />
      ))}
    </ul>
  );
}

export const Tries = () => (
  <div>
    <Acting label={s("try")} busyLabel={s("trying")} act={tryOut} />
    {isSavedAllTheSame.value ? <p class="error">{s("not_reached")}</p> : null}
    <Attempts />
  </div>
);

/* What the account has and the configuration does not. */

function add(found: Draft): void {
  text.value = null;
  draft.value = addedTo(draft.value, given.value, found);
}

const isThere = (key: string): boolean => isGiven(key, given.value, draft.value);

/** Addresses that were seen while somebody moved things. */
function SeenThings() {
  const seen = useAnswer<SeenAddresses>("api/addresses", 10_000);
  const addresses = (seen.value?.addresses ?? []).filter(
    ({ code, address }) =>
      !Object.entries({ ...given.value, ...draft.value }).some(
        ([key, value]) =>
          key.startsWith(`${inKey("controllers", code)}.`) &&
          key.endsWith(".address") &&
          textOf(value) === address,
      ),
  );
  if (addresses.length === 0) return <p>{s("seen_none")}</p>;
  return (
    <ul class="found">
      {addresses.map(({ code, address, values, looks_like: kind, last_at: at }) => {
        const all = inKey(inKey("controllers", code), "actuators");
        const key = inKey(
          all,
          freeId(`${kind ?? "address"}_${address}`, (id) => isThere(inKey(all, id))),
        );
        const found = { [`${key}.address`]: address, ...(kind !== null && { [`${key}.kind`]: kind }) };
        return (
          <li key={`${code} ${address}`}>
            <span>
              {mirrored.value[code] ?? code} / {address}: {values.slice(-4).join(" → ")}
              {kind === null ? null : ` (${codeText(kind)})`} <Age at={at} />
            </span>
            <Button act={() => add(found)}>{s("add")}</Button>
          </li>
        );
      })}
    </ul>
  );
}

const textOf = (value: unknown): string =>
  String(typeof value === "object" && value !== null && "value" in value ? value.value : value);

export function FoundThings() {
  const step = useSignal<DiscoverStep>({});
  const failed = useSignal<Sentence | null>(null);
  const search = async () => {
    step.value = {};
    failed.value = await follow("api/discover", (line) => (step.value = line)).catch((): Sentence => ({
      text: t("not_sent"),
    }));
  };
  const { done, total, changes, notes = [], problem } = step.value;
  const things = changes === undefined ? [] : thingsIn(changes).filter(({ key }) => !isThere(key));
  const all = things.reduce<Draft>((before, { found }) => ({ ...before, ...found }), {});
  return (
    <details>
      <summary>{s("found")}</summary>
      <div class="body">
        <p>{s("found_what")}</p>
        <Acting
          label={t("setup_search")}
          busyLabel={done === undefined ? t("doctor_running") : t("discover_at", { done, total })}
          act={search}
        />
        <Alert said={failed} />
        {[...notes, ...(problem === undefined ? [] : [problem])].map((note) => (
          <p key={note}>
            <Says of={[ofBridge(note)]} />
          </p>
        ))}
        {changes === undefined ? null : things.length === 0 ? (
          <p>{s("found_none")}</p>
        ) : (
          <>
            <div>
              <Button act={() => add(all)}>{s("add_all", { count: things.length })}</Button>
            </div>
            <ul class="found">
              {things.map(({ key, code, name, what, found }) => (
                <li key={key}>
                  <span>
                    {mirrored.value[code] ?? code}
                    {name === "" ? "" : ` / ${name}`} <small>{what}</small>
                  </span>
                  <Button act={() => add(found)}>{s("add")}</Button>
                </li>
              ))}
            </ul>
          </>
        )}
        <p>{s("seen_moving")}</p>
        <SeenThings />
      </div>
    </details>
  );
}

/* People. */

export function Logins() {
  const logins = useSignal<readonly SettingsLogin[]>([]);
  const failed = useSignal<Sentence | null>(null);
  const look = async () => {
    const { status, body } = await get<readonly SettingsLogin[]>("api/settings/logins");
    if (status === 200 && body !== null) logins.value = body;
  };
  useEffect(() => void look(), []);
  const end = async (some: readonly SettingsLogin[]) => {
    const { status, body } = await post("api/settings/logins", { ids: some.map(({ id }) => id) });
    failed.value = status === 204 ? null : errorSentence(body);
    await look();
  };
  const others = logins.value.filter(({ own }) => !own);
  return (
    <details>
      <summary>
        {s("logins")} <small>{logins.value.length || ""}</small>
      </summary>
      <div class="body">
        <ul class="found">
          {logins.value.map((login) => (
            <li key={login.id}>
              <span>
                {login.user} <small>{login.own ? s("logged_in_here") : <Age at={login.used} />}</small>
              </span>
              {login.own ? null : <Button act={() => end([login])}>{s("end_login")}</Button>}
            </li>
          ))}
        </ul>
        {others.length < 2 ? null : (
          <div>
            <Button act={() => end(others)}>{s("end_others")}</Button>
          </div>
        )}
        <Alert said={failed} />
      </div>
    </details>
  );
}

/* The program. */

export const ProgramPart = ({ of }: Readonly<{ of: SettingsDocument }>) => (
  <>
    <Program of={of} />
    <BackUp of={of} />
    <details>
      <summary>{s("restore")}</summary>
      <div class="body">
        {of.program.of_fleet ? <RestoreAccount /> : null}
        <p>{s("restore_what")}</p>
        <ol>
          <li>
            <code>greenhouse2mqtt init --web</code>
          </li>
          <li>
            <code>greenhouse2mqtt restore bridge.tar.gz.age --password</code>
          </li>
        </ol>
      </div>
    </details>
  </>
);

function Program({ of: { program } }: Readonly<{ of: SettingsDocument }>) {
  const done = useSignal<Sentence | null>(null);
  const isAsked = useSignal(false);
  const restart = async () => {
    isAsked.value = false;
    const { status, body } = await post("api/settings/restart", {});
    done.value = status === 202 ? { text: s("restarting") } : errorSentence(body);
  };
  return (
    <details open>
      <summary>{s("program")}</summary>
      <div class="body">
        <p>
          greenhouse2mqtt {program.version}, Node.js {program.node}
        </p>
        <Newer of={program} />
        {program.can_restart ? (
          <div>
            {isAsked.value ? (
              <>
                <Button class="primary" act={restart}>
                  {s("restart_now")}
                </Button>{" "}
                <Button act={() => (isAsked.value = false)}>{s("discard")}</Button>
              </>
            ) : (
              <Button act={() => (isAsked.value = true)}>{s("restart")}</Button>
            )}
          </div>
        ) : (
          <p>{s("no_restart")}</p>
        )}
        <Alert said={done} />
      </div>
    </details>
  );
}

/** One file with everything that the bridge, or all accounts of its fleet, have. */
function BackUp({ of: { program } }: Readonly<{ of: SettingsDocument }>) {
  const password = useSignal("");
  const isOfFleet = useSignal(false);
  const done = useSignal<Sentence | null>(null);
  const load = async () => {
    done.value = null;
    const answer = await fetch(address("api/settings/backup"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        ...{ password: password.value, fleet: isOfFleet.value },
        language: language.value,
      }),
    }).catch(() => null);
    if (answer === null) done.value = { text: t("not_sent") };
    else if (answer.status === 200) {
      const [, name = "greenhouse2mqtt.tar.gz"] =
        /filename="([\w.-]+)"/.exec(answer.headers.get("content-disposition") ?? "") ?? [];
      saveBlob(name, await answer.blob());
      const remarks = answer.headers.get("x-remarks");
      if (remarks !== null) done.value = { text: decodeURIComponent(remarks) };
    } else done.value = errorSentence((await answer.json()) as ApiError);
  };
  return (
    <details>
      <summary>{s("backup")}</summary>
      <div class="body">
        <p>{s("backup_what")}</p>
        <div class="adding">
          {program.of_fleet ? (
            <label class="shown">
              <input
                type="checkbox"
                checked={isOfFleet.value}
                onChange={({ currentTarget }) => (isOfFleet.value = currentTarget.checked)}
              />{" "}
              <span>{s("backup_fleet")}</span>
            </label>
          ) : null}
          <Field label={s("backup_password")} type="password" autocomplete="new-password" bound={password} />
          <Acting label={t("download")} busyLabel={s("backup_making")} act={load} />
        </div>
        <Alert said={done} />
      </div>
    </details>
  );
}

/** A request may take five seconds, so a file is sent in pieces. */
const pieceBytes = 256 * 1024;

interface Restored {
  readonly lines?: readonly string[];
  /** Bytes of the file received so far. */
  readonly size?: number;
}

async function restoreFrom(file: File, said: object, onSent: (share: number) => void): Promise<Sentence> {
  const id = crypto.getRandomValues(new Uint32Array(4)).join("-");
  for (let at = 0; ;) {
    const piece = file.slice(at, at + pieceBytes);
    const isLast = at + pieceBytes >= file.size;
    const answer = await fetch(new URL("api/restore", document.baseURI.replace(/#.*/s, "")), {
      method: "POST",
      headers: {
        "content-type": "application/octet-stream",
        "x-restore": encodeURIComponent(JSON.stringify({ id, at, ...(isLast && { end: said }) })),
      },
      body: piece,
    }).catch(() => null);
    if (answer === null) return { text: t("not_sent") };
    const body = (await answer.json()) as Restored & Partial<ApiError>;
    if (body.lines !== undefined) return { text: body.lines.join(" ") };
    if (answer.status !== 200 || body.size === undefined) return errorSentence(body);
    at = body.size;
    onSent(at / file.size);
  }
}

/** Restores one account of a fleet while the others run. */
function RestoreAccount() {
  const chosen = useSignal<File | null>(null);
  const [password, name] = [useSignal(""), useSignal("")];
  const sent = useSignal(0);
  const done = useSignal<Sentence | null>(null);
  const send = async () => {
    const file = chosen.value;
    done.value = file === null ? { text: s("restore_no_file") } : null;
    sent.value = 0;
    if (file === null) return;
    const said = { password: password.value, account: name.value.trim(), language: language.value };
    done.value = await restoreFrom(file, said, (share) => (sent.value = share));
  };
  return (
    <>
      <p>{s("restore_account")}</p>
      <div class="adding">
        <label class="field">
          <span>{s("restore_file")}</span>
          <input
            type="file"
            onChange={({ currentTarget }) => (chosen.value = currentTarget.files?.[0] ?? null)}
          />
        </label>
        <Field label={s("restore_name")} bound={name} />
        <Field label={s("restore_password")} type="password" autocomplete="off" bound={password} />
        <Acting label={s("restore")} busyLabel={`${Math.round(sent.value * 100)} %`} act={send} />
      </div>
      <Alert said={done} />
    </>
  );
}

const Newer = ({ of: { newer } }: Readonly<{ of: ProgramFacts }>) =>
  newer === null ? null : <p class="notice plain">{s("newer", { version: newer })}</p>;
