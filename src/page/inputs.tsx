import { type Signal, useSignal } from "@preact/signals";
import type { ButtonHTMLAttributes, InputHTMLAttributes, SelectHTMLAttributes } from "preact";
import { get, isOperator, post, request, session, silentSince, withoutEmpty } from "./live.js";
import { Icon } from "./parts.js";
import type { SettingsDocument } from "./protocol.js";
import { errorSentence, ofBridge, type Sentence } from "./sentences.js";
import { durationSeconds, durationText, language, t, type Word } from "./words.js";

/* What is pressed, written and chosen, and how it is said that it did not work. */

type ButtonProps = Omit<ButtonHTMLAttributes, "onClick"> & Readonly<{ act: () => unknown }>;

/** What is pressed, and sends no form. */
export const Button = ({ act, ...rest }: ButtonProps) => (
  <button type="button" {...rest} onClick={() => void act()} />
);

/** Read out as soon as something stands there. */
export const Alert = ({ said }: Readonly<{ said: Signal<Sentence | null> }>) => (
  <p role="alert" class="refusal" lang={said.value?.isForeign ? "en" : undefined}>
    {said.value?.text}
  </p>
);

type FieldProps = InputHTMLAttributes & Readonly<{ label: string; bound?: Signal<string> }>;

/** A named place to write something, which `bound` holds. */
export const Field = ({ label, bound, ...input }: FieldProps) => (
  <label class="field">
    <span>{label}</span>
    <input
      {...(bound && { value: bound, onInput: ({ currentTarget }) => (bound.value = currentTarget.value) })}
      {...input}
    />
  </label>
);

/** Why the visitor cannot act here at all; null where it can. */
export function actReason(): string | null {
  if (silentSince.value !== null) return t("why_silent");
  return isOperator.value ? null : t(session.value?.user ? "why_role" : "anonymous");
}

/** The same where it is not said on top of the page already: that nobody is logged in is said once. */
export const ownReason = (): string | null =>
  silentSince.value === null && !isOperator.value && !session.value?.user ? null : actReason();

type ActingProps = Readonly<{
  label: string;
  busyLabel?: string;
  /** Of one of several: whether what it asks for is so. */
  isOn?: boolean | undefined;
  act: () => Promise<unknown>;
}>;

/** A button for operators that says why others cannot press it, and waits for what it began. */
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

/** Saves keys of the configuration; why that did not work, or null. */
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
  /** Several requests, each with fields of its own besides. */
  each?: readonly object[] | undefined;
}>;

/** A button that makes a request, and says why that did not work. */
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
  /** What holds where nothing is chosen. */
  none?: string;
  /** In seconds; null where nothing limits it. */
  most?: number | null;
}>;

/** For how long something is to be; nothing is said where nothing is chosen. */
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

/** A named place to choose something, which `bound` holds. */
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
  /** What is locked: fields of one request, or of several. */
  fields?: object;
  each?: readonly object[];
}>;

/** Keeps everybody off several at once, with a reason that others see and how long. */
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
