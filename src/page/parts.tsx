import type { BandLimit } from "../greenhouse/bands.js";
import { signal, type Signal, useComputed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { isBad, isGood, outcomes } from "../greenhouse/command/outcomes.js";
import type { Quality as QualityWord } from "../greenhouse/model.js";
import type * as Curves from "./curves.js";
import { bridge, get, now } from "./live.js";
import type { ControllerView } from "./protocol.js";
import { ofBridge, type Sentence, whoText } from "./sentences.js";
import { ageText, codeText, language, numberText, t, type Word } from "./words.js";

/* Components that every view uses. */

const icons = {
  overview: "M4 11 12 4l8 7v9H4zM9 20v-6h6v6",
  journal: "M6 3h12v18H6zM9 8h6M9 12h6M9 16h4",
  alarms: "M12 3a6 6 0 0 1 6 6c0 5 2 6 2 8H4c0-2 2-3 2-8a6 6 0 0 1 6-6zM10 20h4",
  diagnostics: "M3 12h4l3-8 4 16 3-8h4",
  log: "M4 6h16M4 10h16M4 14h10M4 18h12",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  good: "m5 12 5 5 9-10",
  uncertain: "M9 9a3 3 0 1 1 4 3c-1 .5-1 1-1 2M12 18h.01",
  stale: "M12 6v6l4 2M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0z",
  bad: "M12 8v5M12 17h.01M10.300 4 2.500 18.500h19z",
  stop: "M7 7h10v10H7z",
  lock: "M7 11V8a5 5 0 0 1 10 0v3M5 11h14v9H5z",
  close: "m6 6 12 12M18 6 6 18",
  chevron: "m9 6 6 6-6 6",
  open: "m6 15 6-6 6 6",
  closed: "M6 12h12",
  on: "M12 4v8M7.500 7a7 7 0 1 0 9 0",
  off: "M12 5a7 7 0 1 0 0 14 7 7 0 0 0 0-14z",
  auto: "M5 12a7 7 0 0 1 12-5l2 2V5M19 12a7 7 0 0 1-12 5l-2-2v4",
  clock: "M12 7v5l3 2M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0z",
  sensors: "M10 4a2 2 0 0 1 4 0v9a4 4 0 1 1-4 0z",
  parameters: "M4 7h10M18 7h2M4 17h2M10 17h10M14 5v4M8 15v4",
  back: "m15 6-6 6 6 6",
  shield: "M12 3 5 6v5c0 5 3 8 7 10 4-2 7-5 7-10V6z",
  hold: "M9 5v14M15 5v14",
  vents: "M3 20 21 6M3 20h18M12 13v7",
  curtains: "M3 4h18M6 4v16M10 4v16M14 4v16M18 4v16",
  fans: "M12 12c0-5 1-8 4-8s3 5-4 8zm0 0c5 0 8 1 8 4s-5 3-8-4zm0 0c0 5-1 8-4 8s-3-5 4-8zm0 0c-5 0-8-1-8-4s5-3 8 4z",
  water: "M12 3c4 5 6 8 6 11a6 6 0 0 1-12 0c0-3 2-6 6-11z",
  climate: "M12 3c1 4 5 6 5 11a5 5 0 0 1-10 0c0-2 1-3 2-4 0 2 1 3 2 3 1-3-1-6 1-10z",
  light: "M9 18h6M10 21h4M12 3a6 6 0 0 1 4 10.500c-1 1-1 1.500-1 2.500H9c0-1 0-1.500-1-2.500A6 6 0 0 1 12 3z",
  others:
    "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3M6 6l2 2M16 16l2 2M18 6l-2 2M8 16l-2 2",
} as const;

export type IconName = keyof typeof icons;

export const isIcon = (name: string): name is IconName => Object.hasOwn(icons, name);

/** A picture beside a word; screen readers skip it. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d={icons[name]} />
  </svg>
);

/** How long ago something was; only its text is rendered again as time passes. */
export function Age({ at, isOver = false }: Readonly<{ at: string | null | undefined; isOver?: boolean }>) {
  const text = useComputed(() => ageText(at ?? null, now.value, isOver));
  if (!at) return <span class="age">{text}</span>;
  return (
    <time class="age" dateTime={at} title={new Date(at).toLocaleString()}>
      {text}
    </time>
  );
}

/** A word and a mark, so that no colour is needed. */
export const Quality = ({ of }: { readonly of: QualityWord | null | undefined }) => (
  <span class={`quality ${of ?? ""}`}>
    {of ? <Icon name={of} /> : null}
    {of ? codeText(of) : "–"}
  </span>
);

type WithChildren = Readonly<{ children?: ComponentChildren }>;

export const Badge = ({ kind, children }: Readonly<{ kind: string }> & WithChildren) => (
  <span class={`badge ${kind}`}>{children}</span>
);

/** Shows that a reading is beyond a limit: with a colour, a picture and a word. */
export const Beyond = ({ of }: Readonly<{ of: BandLimit | null | undefined }>) =>
  of ? (
    <Badge kind={beyondClass(of)}>
      <Icon name="bad" />
      {t(`beyond_${of}`)}
    </Badge>
  ) : null;

export const beyondClass = (limit: BandLimit | null | undefined): string =>
  limit ? `beyond ${limit.includes("_") ? "bad" : "warn"}` : "";

/** The code that draws the small curves; null before it is loaded. */
export const curves = signal<typeof Curves | null>(null);

/** Loads it after the view is shown. */
export const useCurves = (): void =>
  useEffect(() => void import("./curves.js").then((loaded) => (curves.value = loaded)), []);

/** The head of a view: its name and its controls. */
export const Head = ({ name, children }: Readonly<{ name: ComponentChildren }> & WithChildren) => (
  <div class="bar">
    <h1>{name}</h1>
    {children}
  </div>
);

type SectionProps = Readonly<{ name: string; of?: object }> & WithChildren;

/** A section; if `of` is empty, not even its heading is shown. */
export const Section = ({ name, of, children }: SectionProps) =>
  of && Object.keys(of).length === 0 ? null : (
    <section aria-label={name}>
      <h2>{name}</h2>
      {children}
    </section>
  );

/** A table's head, hidden if there is no room for columns. */
export const Columns = ({ of }: Readonly<{ of: readonly Word[] }>) => (
  <thead class="unseen">
    <tr>
      {of.map((word) => (
        <th key={word} scope="col">
          {t(word)}
        </th>
      ))}
    </tr>
  </thead>
);

const looks: Readonly<Record<string, readonly string[]>> = {
  good: ["online", ...outcomes.filter(isGood), "ok"],
  warn: ["warning", "warn"],
  bad: ["offline", ...outcomes.filter(isBad), "error", "fatal"],
};

/** A code of the bridge as a word with a good, bad or neutral look. */
export function Code({ of }: { readonly of: string }) {
  const look = Object.entries(looks).find(([, codes]) => codes.includes(of));
  return <Badge kind={look?.[0] ?? "plain"}>{codeText(of)}</Badge>;
}

/** The availability of a controller; unknown is no problem yet. */
export function Availability({ of }: { readonly of: string }) {
  if (of === "unknown") return <Badge kind="plain">{codeText(of)}</Badge>;
  // What the platform said before it became unreachable is outdated.
  const isPast = of === "online" && bridge.value?.platform === "unreachable";
  return isPast ? <Badge kind="warn">{t("was_online")}</Badge> : <Code of={of} />;
}

/** The same, left out for a station that no list gives an availability but whose readings come. */
export const AvailabilityBeside = ({
  of,
  qualities,
}: Readonly<{ of: string; qualities: readonly (string | null)[] }>) =>
  of === "unknown" && qualities.some((one) => one !== null && one !== "stale") ? null : (
    <Availability of={of} />
  );

/** Sentences of the bridge; its own English stands below those in the language of the page. */
export const Says = ({ of }: { readonly of: readonly Sentence[] }) => (
  <>
    {of.map(({ text, isForeign }) => (
      <span key={text} class={isForeign ? "message" : "sentence"} lang={isForeign ? "en" : undefined}>
        {text}{" "}
      </span>
    ))}
  </>
);

/** A sentence of the bridge, marked as English if the page's language has no words for it. */
export const Told = ({ text }: Readonly<{ text: unknown }>) => {
  const said = ofBridge(String(text));
  return <span lang={said.isForeign ? "en" : undefined}>{said.text}</span>;
};

export const By = ({ of }: { readonly of: string | null | undefined }) =>
  of ? <small>{t("by", { by: whoText(of) })} </small> : null;

type Shown = string | number | null | undefined;

export const Value = ({ value, unit }: Readonly<{ value: Shown; unit?: Shown }>) => (
  <span class="value">
    {value === null || value === undefined ? "–" : numberText(value)}
    {unit ? <small> {unit}</small> : null}
  </span>
);

export const Loading = () => (
  <p class="quiet" role="status">
    {t("loading")}
  </p>
);

type ListedProps = Readonly<{ of: readonly unknown[] | null; none: Word }> & WithChildren;

/** A list; tells if it is loading or empty. */
export function Listed({ of, none, children }: ListedProps) {
  if (of === null) return <Loading />;
  return of.length === 0 ? <p class="quiet">{t(none)}</p> : <>{children}</>;
}

const asked = new Map<string, Signal<ControllerView | null>>();

/** The names of a controller and its parts, by id or code, requested once; null until known. */
export function namesOf(
  controller: string,
): Pick<ControllerView, "name" | "actuators" | "parameters"> | null {
  const key = `${language.value} ${controller}`;
  const held = asked.get(key) ?? signal<ControllerView | null>(null);
  if (!asked.has(key))
    void get<ControllerView>(`api/controllers/${encodeURIComponent(controller)}`).then(({ status, body }) => {
      if (status === 200) held.value = body;
      else asked.delete(key);
    });
  asked.set(key, held);
  return held.value;
}

/** Offers a file for download. */
export const save = (name: string, type: string, text: string): void =>
  saveBlob(name, new Blob([text], { type }));

export function saveBlob(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
