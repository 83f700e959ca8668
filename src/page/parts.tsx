import { type Signal, useComputed } from "@preact/signals";
import { Component, type ComponentChildren, type InputHTMLAttributes } from "preact";
import { isOperator, now, session, silentSince } from "./live.js";
import type { Sentence } from "./sentences.js";
import { ageText, durationText, numberText, t, told, type Word } from "./words.js";

/* What every view is made of. */

const icons = {
  overview: "M4 11 12 4l8 7v9H4zM9 20v-6h6v6",
  journal: "M6 3h12v18H6zM9 8h6M9 12h6M9 16h4",
  alarms: "M12 3a6 6 0 0 1 6 6c0 5 2 6 2 8H4c0-2 2-3 2-8a6 6 0 0 1 6-6zM10 20h4",
  diagnostics: "M3 12h4l3-8 4 16 3-8h4",
  log: "M4 6h16M4 10h16M4 14h10M4 18h12",
  good: "m5 12 5 5 9-10",
  uncertain: "M9 9a3 3 0 1 1 4 3c-1 .5-1 1-1 2M12 18h.01",
  stale: "M12 6v6l4 2M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0z",
  bad: "M12 8v5M12 17h.01M10.300 4 2.500 18.500h19z",
  stop: "M7 7h10v10H7z",
  lock: "M7 11V8a5 5 0 0 1 10 0v3M5 11h14v9H5z",
  close: "m6 6 12 12M18 6 6 18",
  chevron: "m9 6 6 6-6 6",
} as const;

export type IconName = keyof typeof icons;

/** A picture beside a word; whoever hears the page is not told of it. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d={icons[name]} />
  </svg>
);

/** How long ago something was; the text alone changes when time goes on. */
export function Age({ at }: { readonly at: string | null | undefined }) {
  const text = useComputed(() => ageText(at ?? null, now.value));
  return at === null || at === undefined ? (
    <span class="age">{text}</span>
  ) : (
    <time class="age" dateTime={at} title={new Date(at).toLocaleString()}>
      {text}
    </time>
  );
}

const marks = { good: "good", uncertain: "uncertain", stale: "stale", bad: "bad" } as const;

/** A word and a mark, so that it needs no colour. */
export function Quality({ of }: { readonly of: string | null | undefined }) {
  const mark = Object.entries(marks).find(([word]) => word === of)?.[1];
  if (mark === undefined) return <span class="quality">–</span>;
  return (
    <span class={`quality ${mark}`}>
      <Icon name={mark} />
      {told(mark)}
    </span>
  );
}

export const Badge = ({ kind, children }: Readonly<{ kind: string; children: ComponentChildren }>) => (
  <span class={`badge ${kind}`}>{children}</span>
);

const availabilityKinds = { online: "good", offline: "bad", unknown: "plain" } as const;

export const Availability = ({ of }: Readonly<{ of: keyof typeof availabilityKinds }>) => (
  <Badge kind={availabilityKinds[of]}>{told(of)}</Badge>
);

const langOf = ({ isForeign }: Sentence): string | undefined => (isForeign ? "en" : undefined);

/** What the bridge tells; its own English stands below what was said in the language of the page. */
export const Says = ({ of }: { readonly of: readonly Sentence[] }) => (
  <>
    {of.map((sentence) =>
      sentence.text === "" ? null : sentence.isForeign ? (
        <small key={sentence.text} class="message" lang={langOf(sentence)}>
          {sentence.text}
        </small>
      ) : (
        <span key={sentence.text} class="sentence">
          {sentence.text}{" "}
        </span>
      ),
    )}
  </>
);

/** Read out as soon as something stands there. */
export const Alert = ({ said }: Readonly<{ said: Signal<Sentence | null> }>) => (
  <p {...{ role: "alert", class: "refusal" }} lang={said.value ? langOf(said.value) : undefined}>
    {said.value?.text}
  </p>
);

/** Good, bad, or neither: how an outcome looks. */
const outcomeKind = (outcome: string): string =>
  ["confirmed", "already"].includes(outcome)
    ? "good"
    : ["rejected", "unconfirmed", "failed", "unknown"].includes(outcome)
      ? "bad"
      : "plain";

export const Outcome = ({ of }: { readonly of: string }) => <Badge kind={outcomeKind(of)}>{told(of)}</Badge>;

type Shown = string | number | null | undefined;

export const Value = ({ value, unit }: Readonly<{ value: Shown; unit?: Shown }>) => (
  <span class="value">
    {value === null || value === undefined ? "–" : numberText(value)}
    {unit ? <span class="unit"> {unit}</span> : null}
  </span>
);

export const Loading = () => (
  <p class="quiet" role="status">
    {t("loading")}
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

/** Why somebody cannot act here at all. */
export const roleReason = (): string | null =>
  isOperator.value ? null : t(session.value?.user ? "why_role" : "anonymous");

type ActingProps = Readonly<{ label: string; isBusy?: boolean; act: () => Promise<unknown> }>;

/** A button for operators that says why others cannot press it. */
export function Acting({ label, isBusy = false, act }: ActingProps) {
  const why = silentSince.value === null ? roleReason() : t("why_silent");
  return (
    <span class="acting">
      <button type="button" disabled={why !== null || isBusy} onClick={() => void act()}>
        {label}
      </button>
      {why === null ? null : <span class="why">{why}</span>}
    </span>
  );
}

const lasting = ["1m", "5m", "15m", "30m", "1h", "2h", "4h", "8h", "12h", "24h"] as const;
export type Lasting = "" | (typeof lasting)[number];

/** For how long something is to be; nothing is said where nothing is chosen. */
export const LastingChoice = ({ word, value }: Readonly<{ word: Word; value: Signal<Lasting> }>) => (
  <Choice<Lasting>
    label={t(word)}
    value={value.value}
    options={[["", "–"], ...lasting.map((one) => [one, durationText(one)] as const)]}
    onChoose={(next) => (value.value = next)}
  />
);

interface ChoiceProps<Item> {
  readonly label: string;
  readonly value: Item;
  readonly options: readonly (readonly [Item, string])[];
  readonly onChoose: (chosen: Item) => void;
}

export function Choice<Item extends string>({ label, value, options, onChoose }: ChoiceProps<Item>) {
  const choose = (text: string) => {
    const found = options.find(([item]) => item === text);
    if (found) onChoose(found[0]);
  };
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {options.map(([item, text]) => (
          <option key={item} value={item} selected={item === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Drawn again only where one of its properties is another: a list of hundreds costs what changed in it. */
export abstract class Steady<Props extends object> extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    const held = new Map(Object.entries(this.props));
    return Object.entries(next).some(([key, value]) => held.get(key) !== value);
  }
}

/** A day in the size of a word: lines between neighbours, gaps where nothing good was known. */
export function Spark({ points }: { readonly points: readonly (number | null)[] }) {
  const known = points.filter((point) => point !== null);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const span = most - least || 1;
  let path = "";
  for (const [at, point] of points.entries()) {
    if (point === null) continue;
    const joins = at > 0 && points[at - 1] !== null && points[at - 1] !== undefined;
    const x = ((at / Math.max(1, points.length - 1)) * 96).toFixed(1);
    const y = (22 - ((point - least) / span) * 20).toFixed(1);
    path += joins ? `L${x} ${y}` : `M${x} ${y}h.1`;
  }
  return (
    <svg {...{ class: "sparkline", viewBox: "0 0 96 24", preserveAspectRatio: "none" }} aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

/** Hands a file to the browser. */
export function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
