import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import { Component, type ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { get, now } from "./live.js";
import type { Sentence } from "./sentences.js";
import { ageText, numberText, t, told, type Word } from "./words.js";

/* What every view shows things with. */

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

/** A picture beside a word; whoever hears the page is not told of it. */
export const Icon = ({ name }: { readonly name: keyof typeof icons }) => (
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

const marks = ["good", "uncertain", "stale", "bad"] as const;

/** A word and a mark, so that it needs no colour. */
export function Quality({ of }: { readonly of: string | null | undefined }) {
  const mark = marks.find((one) => one === of);
  if (mark === undefined) return <span class="quality">–</span>;
  return (
    <span class={`quality ${mark}`}>
      <Icon name={mark} />
      {told(mark)}
    </span>
  );
}

type Around = Readonly<{ children?: ComponentChildren }>;

export const Badge = ({ kind, children }: Readonly<{ kind: string }> & Around) => (
  <span class={`badge ${kind}`}>{children}</span>
);

/** The head of a view: its name, and what can be chosen there. */
export const Head = ({ name, children }: Readonly<{ name: ComponentChildren }> & Around) => (
  <div class="bar">
    <h1>{name}</h1>
    {children}
  </div>
);

export const Section = ({ name, children }: Readonly<{ name: string }> & Around) => (
  <section aria-label={name}>
    <h2>{name}</h2>
    {children}
  </section>
);

/** A part of a table's head. */
export const Columns = ({ of }: Readonly<{ of: readonly Word[] }>) => (
  <tr>
    {of.map((word) => (
      <th key={word} scope="col">
        {t(word)}
      </th>
    ))}
  </tr>
);

const looks: Readonly<Record<string, readonly string[]>> = {
  good: ["online", "confirmed", "already", "ok"],
  warn: ["warning", "warn"],
  bad: ["offline", "rejected", "unconfirmed", "failed", "unknown", "error", "fatal"],
};

/** A code of the bridge as a word that looks good, bad, or neither. */
export function Code({ of }: { readonly of: string }) {
  const look = Object.entries(looks).find(([, codes]) => codes.includes(of));
  return <Badge kind={look?.[0] ?? "plain"}>{told(of)}</Badge>;
}

/** A controller of which nobody knows whether it is there is no problem yet. */
export const Availability = ({ of }: { readonly of: string }) =>
  of === "unknown" ? <Badge kind="plain">{told(of)}</Badge> : <Code of={of} />;

/** What the bridge tells; its own English stands below what was said in the language of the page. */
export const Says = ({ of }: { readonly of: readonly Sentence[] }) => (
  <>
    {of.map(({ text, isForeign }) =>
      isForeign ? (
        <small key={text} class="message" lang="en">
          {text}
        </small>
      ) : (
        <span key={text} class="sentence">
          {text}{" "}
        </span>
      ),
    )}
  </>
);

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

type ListedProps = Readonly<{ of: readonly unknown[] | null; none: Word }> & Around;

/** What is listed; says where it is waited for, and where there is nothing. */
export function Listed({ of, none, children }: ListedProps) {
  if (of === null) return <Loading />;
  return of.length === 0 ? <p class="quiet">{t(none)}</p> : <>{children}</>;
}

/** What the API answers, asked anew every so often; null before the first answer. */
export function useAnswer<T>(path: string, everyMs: number): ReadonlySignal<T | null> {
  const answer = useSignal<T | null>(null);
  useEffect(() => {
    const load = async () => {
      const { status, body } = await get<T>(path);
      if (status === 200) answer.value = body;
    };
    void load();
    const timer = setInterval(() => void load(), everyMs);
    return () => clearInterval(timer);
  }, [path, everyMs]);
  return answer;
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
