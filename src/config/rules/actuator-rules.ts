import { kindRows, type ActuatorKind } from "../../greenhouse/actuator-kinds.js";
import { actuatorKindOf, takesDegrees, takesValues } from "../kind-traits.js";
import type { Finding, Path } from "../problem.js";
import { entriesOf, given, sectionOf, textOf, type Draft } from "./draft.js";

type Check = (actuator: Draft, kind: ActuatorKind, path: Path) => Finding[];

/** Options that mean nothing for a kind are errors: the user expects an effect of them. */
export function fittingOptions(root: Draft): Finding[] {
  return entriesOf(root, "controllers").flatMap(([code, controller]) =>
    entriesOf(controller, "actuators").flatMap(([id, actuator]) => {
      const kind = actuatorKindOf(actuator.kind);
      const path = ["controllers", code, "actuators", id];
      return kind === null ? [] : checks.flatMap((check) => check(actuator, kind, path));
    }),
  );
}

const positionersOnly = { who: "skylights, curtains, side vents and positioners", holds: takesDegrees };

const limited: Readonly<
  Record<string, { readonly who: string; readonly holds: (kind: ActuatorKind) => boolean }>
> = {
  mode_address: positionersOnly,
  position_address: positionersOnly,
  tolerance: positionersOnly,
  travel_time: {
    who: `${positionersOnly.who}, and motors`,
    holds: (kind) => takesDegrees(kind) || kind === "motor",
  },
  lead_in: { who: "the kind light", holds: (kind) => kind === "light" },
  values: { who: "the kinds motor and custom; the other kinds have fixed values", holds: takesValues },
};

const misplaced: Check = (actuator, kind, path) =>
  Object.entries(limited).flatMap(([key, { who, holds }]): Finding[] =>
    given(actuator, key) && !holds(kind)
      ? [{ path: [...path, key], on: "key", message: `only for ${who}, not for ${kind}` }]
      : [],
  );

const customNeedsValues: Check = (actuator, kind, path) => {
  if (kind !== "custom" || typeof actuator.values === "symbol") return [];
  if (Object.keys(sectionOf(actuator, "values")).length > 0) return [];
  const at = given(actuator, "values") ? [...path, "values"] : path;
  return [
    { path: at, on: "key", message: "the kind custom needs values: at least one command word and its value" },
  ];
};

const views: Readonly<Record<string, (kind: ActuatorKind) => boolean>> = {
  cover: (kind) => takesDegrees(kind) || takesValues(kind),
  light: (kind) => "on" in kindRows[kind].values || takesValues(kind),
  switch: (kind) => "on" in kindRows[kind].values || takesValues(kind),
};

const fittingView: Check = (actuator, kind, path) => {
  const view = textOf(sectionOf(actuator, "homeassistant"), "as") ?? "";
  const fits = Object.hasOwn(views, view) ? views[view] : undefined;
  return fits === undefined || fits(kind)
    ? []
    : [
        {
          path: [...path, "homeassistant", "as"],
          on: "value",
          message: `${kind} cannot be shown as a ${view}`,
        },
      ];
};

/** Compared as the platform may give them back: as numbers, with leading zeros lost. */
const distinctValues: Check = (actuator, kind, path) => {
  if (!takesValues(kind)) return [];
  const written = sectionOf(actuator, "values");
  const owners = new Map<string, string>();
  return Object.entries({ ...kindRows[kind].values, ...written }).flatMap(([word, value]): Finding[] => {
    if (typeof value !== "string") return [];
    const owner = owners.get(spelling(value));
    owners.set(spelling(value), owner ?? word);
    if (owner === undefined) return [];
    const at = given(written, word) ? word : owner;
    const other = at === word ? owner : word;
    const message = `"${other}" has the same value; the words could not be told apart when read back`;
    return [{ path: [...path, "values", at], on: "value", message }];
  });
};

function spelling(value: string): string {
  if (/^\d+$/.test(value)) return value.replace(/^0+(?=\d)/, "");
  return /^[-+]?\d+(?:\.\d+)?$/.test(value) ? String(Number(value)) : value;
}

const checks: readonly Check[] = [misplaced, customNeedsValues, fittingView, distinctValues];
