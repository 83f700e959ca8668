import { type Signal, useSignal } from "@preact/signals";
import type { ButtonHTMLAttributes, InputHTMLAttributes, SelectHTMLAttributes } from "preact";
import { get, isOperator, post, request, session, silentSince, withoutEmpty } from "./live.js";
import { Icon } from "./parts.js";
import type { SettingsDocument } from "./protocol.js";
import { errorSentence, ofBridge, type Sentence } from "./sentences.js";
import { durationSeconds, durationText, language, t, type Word } from "./words.js";

/* Buttons, fields and choices, and messages about failures. */

type ButtonProps = Omit<ButtonHTMLAttributes, "onClick"> & Readonly<{ act: () => unknown }>;

/** A button that submits no form. */
export const Button = ({ act, ...rest }: ButtonProps) => (
  <button type="button" {...rest} onClick={() => void act()} />
);

/** Read out as soon as it has text. */
export const Alert = ({ said }: Readonly<{ said: Signal<Sentence | null> }>) => (
  <p role="alert" class="refusal" lang={said.value?.isForeign ? "en" : undefined}>
    {said.value?.text}
  </p>
);

type FieldProps = InputHTMLAttributes & Readonly<{ label: string; bound?: Signal<string> }>;

/** A labelled text field; `bound` holds its text. */
export const Field = ({ label, bound, ...input }: FieldProps) => (
  <label class="field">
    <span>{label}</span>
    <input
      {...(bound && { value: bound, onInput: ({ currentTarget }) => (bound.value = currentTarget.value) })}
      {...input}
    />
  </label>
);

/** Why the visitor cannot act here at all; null if possible. */
export function actReason(): string | null {
  if (silentSince.value !== null) return t("why_silent");
  return isOperator.value ? null : t(session.value?.user ? "why_role" : "anonymous");
}

/** The same, but null if nobody is logged in, as the top of the page says that already. */
export const ownReason = (): string | null =>
  silentSince.value === null && !isOperator.value && !session.value?.user ? null : actReason();

type ActingProps = Readonly<{
  label: string;
  busyLabel?: string;
  /** For one of several choices: whether it is the present one. */
  isOn?: boolean | undefined;
  act: () => Promise<unknown>;
}>;

/** A button for operators; it tells others why they cannot press it, and waits for its action. */
export function Acting({ label, busyLabel = label, isOn, act }: ActingProps) {
  const isBusy = useSignal(false);
  const why = actReason();
  const press = () => {
    isBusy.value = true;
    return act().finally(() => (isBusy.value = false));
  };
  return (
    <span class="acting">
      <Button
        disabled={why !== null || isBusy.value}
        title={why ?? undefined}
        aria-pressed={isOn}
        act={press}
      >
        {isBusy.value ? busyLabel : label}
      </Button>
      {ownReason() === null ? null : <span class="why">{why}</span>}
    </span>
  );
}

/** Saves keys of the configuration; returns why that failed, or null. */
export async function saveSettings(changes: Readonly<Record<string, unknown>>): Promise<Sentence | null> {
  const { status, body } = await get<SettingsDocument>("api/settings");
  if (status !== 200 || body === null) return errorSentence(body);
  if (body.not_writable) return ofBridge(String(body.not_writable));
  const saved = await post("api/settings", { changes, etag: body.etag, language: language.value });
  return saved.status === 200 ? null : errorSentence(saved.body);
}

type AskingProps = Readonly<{
  label: string;
  name: string;
  fields: object;
  isOn?: boolean;
  /** Several requests, each with additional fields. */
  each?: readonly object[] | undefined;
}>;

/** A button that makes a request and shows why it failed. */
export function Asking({ label, name, fields, isOn, each = [{}] }: AskingProps) {
  const said = useSignal<Sentence | null>(null);
  const ask = async () => {
    said.value = null;
    for (const own of each) {
      const { status, body } = await request(name, { ...fields, ...own });
      if (status !== 200) said.value = errorSentence(body);
    }
  };
  return (
    <>
      <Acting label={label} isOn={isOn} act={ask} /> <Alert said={said} />
    </>
  );
}

const lasting = ["1m", "5m", "15m", "30m", "1h", "2h", "4h", "8h", "12h", "24h"] as const;
export type Lasting = "" | (typeof lasting)[number];

type LastingProps = Readonly<{
  word: Word;
  value: Signal<Lasting>;
  /** The label for no choice. */
  none?: string;
  /** In seconds; null for no limit. */
  most?: number | null;
}>;

/** A choice of durations; may be left empty. */
export const LastingChoice = ({ word, value, none = "–", most = null }: LastingProps) => (
  <Choice
    label={t(word)}
    bound={value}
    options={[
      ["", none],
      ...lasting
        .filter((one) => durationSeconds(one) <= (most ?? Infinity))
        .map((one) => [one, durationText(one)] as const),
    ]}
  />
);

type Options<Item> = readonly (readonly [Item, string])[];
type ChoiceProps<Item> = SelectHTMLAttributes &
  Readonly<{ label: string; bound?: Signal<Item>; options: Options<Item> }>;

/** A labelled choice; `bound` holds its value. */
export const Choice = <Item extends string>({ label, bound, options, ...select }: ChoiceProps<Item>) => (
  <label class="field">
    <span>{label}</span>
    <select
      value={bound?.value}
      onChange={({ currentTarget: { selectedIndex: at } }) => {
        if (bound) bound.value = options[at]?.[0] ?? bound.value;
      }}
      {...select}
    >
      {options.map(([item, text]) => (
        <option key={item} value={item}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

type LockingProps = Readonly<{
  label: string;
  /** Fields of one request, or of several. */
  fields?: object;
  each?: readonly object[];
}>;

/** Locks several actuators at once, with a reason for others and a duration. */
export function Locking({ label, fields = {}, each }: LockingProps) {
  const reason = useSignal("");
  const until = useSignal<Lasting>("");
  const how = withoutEmpty({ reason: reason.value, until: until.value });
  return (
    <details class="house-lock">
      <summary>
        <Icon name="lock" /> {label}
      </summary>
      <div class="bar">
        <Field label={t("lock_reason")} bound={reason} />
        <LastingChoice word="lock_until" value={until} />
        <Asking label={label} name="lock" fields={{ ...fields, ...how }} each={each} />
      </div>
    </details>
  );
}
