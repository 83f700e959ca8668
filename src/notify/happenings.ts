import { changed, counted, msg, row, type Text } from "../language/text.js";
import type { ActuatorKind } from "../greenhouse/actuator-kinds.js";
import { amountText } from "../greenhouse/alarms.js";
import type { BadOutcome } from "../greenhouse/command/outcomes.js";
import type { ReadingFact } from "../greenhouse/limits.js";
import { commandText, namedIn, readOnlyText, settingsText, weatherName } from "../greenhouse/wording.js";
import { type Message, phoneText, type Wording } from "./message.js";
import { fieldsOf } from "../runtime/objects.js";

/*
 * What a way may ask for beside alarms: moves by guards, commands that ended badly, locks and settings by people.
 * Happenings are collected, so that a storm is one message. Pure; instants are epoch ms.
 */

export type HappeningKind = "guards" | "commands" | "people";

export interface About {
  readonly at: number;
  readonly controller: string;
  readonly actuator: string;
  /** Null for a parameter or an address. */
  readonly kind: ActuatorKind | null;
}

/** The value that a guard judged. */
export interface Measure {
  /** Name of the sensor in both languages, or the weather value's name in the configuration. */
  readonly name: string | ReadingFact["name"];
  readonly value: string | number;
  readonly unit: string | null;
}

export type Happening =
  /** `measure` is null where unknown. */
  | (About & {
      readonly of: "guards";
      readonly rule: string;
      readonly command: string;
      readonly measure: Measure | null;
    })
  | (About & { readonly of: "guards"; readonly rule: string; readonly command: null })
  | (About & {
      readonly of: "commands";
      readonly command: string;
      readonly outcome: BadOutcome;
    })
  | (About & {
      readonly of: "people";
      readonly what: "locked" | "unlocked" | "ran_out";
      /** Who locked or unlocked; for a lock that ran out, who had locked. */
      readonly by: string;
      readonly reason: string | null;
    })
  | {
      readonly of: "people";
      readonly what: "settings";
      readonly at: number;
      readonly by: string | null;
      readonly keys: string;
    }
  | {
      readonly of: "people";
      readonly what: "read_only";
      readonly at: number;
      readonly by: string | null;
      readonly isReadOnly: boolean;
    };

/** Whether a value from disk is a happening. */
export function isHappening(value: unknown): value is Happening {
  if (typeof value !== "object" || value === null) return false;
  const { of, at, what, measure, command, ...about } = fieldsOf(value);
  const texts = (...keys: readonly string[]) => keys.every((key) => typeof about[key] === "string");
  if (typeof at !== "number") return false;
  if (of === "people" && what === "settings") return texts("keys");
  if (of === "people" && what === "read_only") return typeof about["isReadOnly"] === "boolean";
  if (!texts("controller", "actuator")) return false;
  if (of === "people") return texts("by");
  if (of === "commands") return typeof command === "string" && texts("outcome");
  // Earlier versions kept `measure` as a text.
  return of === "guards" && texts("rule") && (command === null || typeof measure === "object");
}

/** Happenings within this time share one message. */
const collectMs = 30_000;
const mostLines = 8;

const outcomeTexts: Readonly<Record<BadOutcome, Text>> = {
  rejected: msg`was refused by the platform`,
  unconfirmed: msg`was not confirmed`,
  failed: msg`was not carried out`,
  unknown: msg`may have been carried out or not`,
};

const doneTexts: Readonly<Record<string, Text>> = {
  close: msg`closed`,
  closed: msg`closed`,
  open: msg`opened`,
  on: msg`switched on`,
  off: msg`switched off`,
  stop: msg`stopped`,
};

function numberOf(count: number, kinds: ReadonlySet<About["kind"]>): Text {
  const all = [...kinds];
  if (all.every((kind) => kind === "skylight" || kind === "side_vent"))
    return counted(count, "window", "windows");
  return all.every((kind) => kind === "shade_curtain" || kind === "thermal_curtain")
    ? counted(count, "curtain", "curtains")
    : counted(count, "actuator", "actuators");
}

type OfActuator = Extract<Happening, About>;

/** The actuator with its house; for several actuators their number. */
function whatOf(group: readonly OfActuator[], { nameOf }: Wording): Text {
  const [first] = group;
  if (first === undefined) return "";
  const targets = new Set(group.map(({ controller, actuator }) => `${controller}/${actuator}`));
  if (targets.size === 1) return nameOf(first.controller, first.actuator);
  const houses = new Set(group.map(({ controller }) => controller));
  const what = numberOf(targets.size, new Set(group.map(({ kind }) => kind)));
  return houses.size === 1
    ? msg`${nameOf(first.controller, null)}: ${what}`
    : msg`${what} of ${houses.size} houses`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const doneOf = (command: string): Text => doneTexts[command] ?? msg`set to ${commandText(command)}`;

const capitalOf = (text: Text): Text => changed(text, capital);

/** Such as `Wind 14 m/s`; a value that is on needs only its name. */
function measureText({ name, value, unit }: Measure): Text {
  const named = capitalOf(typeof name === "string" ? weatherName(name) : namedIn(name));
  if (value === "on") return named;
  return row`${named} ${typeof value === "number" ? amountText(value, unit) : commandText(value)}`;
}

/** The key that groups happenings: those with the same key share a line. */
function keyOf(one: Happening): string {
  switch (one.of) {
    case "guards":
      return JSON.stringify(["guards", one.rule, one.command]);
    case "commands":
      return JSON.stringify(["commands", one.controller, one.actuator, one.command, one.outcome]);
    case "people":
      return JSON.stringify(
        "actuator" in one ? ["people", one.what, one.by, one.reason] : ["people", { ...one, at: 0 }],
      );
  }
}

function lineOf(group: readonly Happening[], wording: Wording): Text {
  const first = group.at(-1);
  if (first === undefined) return "";
  if (first.of === "people" && first.what === "settings") return settingsText(first.by, first.keys);
  if (first.of === "people" && first.what === "read_only") return readOnlyText(first.by, first.isReadOnly);
  const what = whatOf(
    group.filter((one): one is OfActuator => "actuator" in one),
    wording,
  );
  if (first.of === "commands") {
    const command = first.kind === null ? first.command : commandText(first.command);
    return msg`${what}: “${command}” ${outcomeTexts[first.outcome]}`;
  }
  if (first.of === "people") return lockText(what, first);
  if (first.command === null) return msg`${capital(first.rule)} over: ${what} free again`;
  const why = first.measure === null ? capital(first.rule) : measureText(first.measure);
  return msg`${why}: ${what} ${doneOf(first.command)}`;
}

function lockText(locked: Text, { what, by, reason }: Extract<OfActuator, { of: "people" }>): Text {
  switch (what) {
    case "locked": {
      const said = msg`${locked} locked by ${by}`;
      return reason ? msg`${said}: ${reason}` : said;
    }
    case "unlocked":
      return msg`${locked} unlocked by ${by}`;
    case "ran_out":
      return msg`${locked}: the lock of ${by} has run out`;
  }
}

/** Whether the collecting time is over. */
export const isCollected = (happened: readonly Happening[], now: number): boolean =>
  happened.some(({ at }) => now - at >= collectMs || at > now);

export function happenedMessage(happened: readonly Happening[], at: number, wording: Wording): Message {
  const groups = new Map<string, Happening[]>();
  for (const one of happened) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  const lines = [...groups.values()].map((group) => lineOf(group, wording));
  const isBad = happened.some(({ of }) => of === "commands");
  const more = lines.length - mostLines;
  const shown = lines.slice(0, mostLines).map((line) => (lines.length > 1 ? row`• ${line}` : line));
  const [only = ""] = lines;
  const title = lines.length === 1 ? only : counted(lines.length, "event", "events");
  const rest = more > 0 ? [msg`and ${more} more`] : [];
  return {
    ...{ kind: "happened", severity: isBad ? "warning" : "info" },
    ...phoneText(title, [...shown, ...rest], wording),
    ...{ alarms: [], over: [], missed: [], at: new Date(at).toISOString() },
  };
}
