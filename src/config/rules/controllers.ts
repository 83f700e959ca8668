import { type ActuatorKind, kindRows } from "../../greenhouse/actuator-kinds.js";
import { digitsSent } from "../../greenhouse/command/setpoints.js";
import { reservedControllerIds } from "../../greenhouse/topic-ids.js";
import type { Finding, Path } from "../problem.js";
import { controllerTopicId } from "../schema.js";
import { actuatorKindOf, takesDegrees, takesValues } from "../values.js";
import { type Draft, entriesOf, given, numberOf, sectionOf, textOf } from "./draft.js";

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

/** Every controller has topics of its own, and some ids belong to the bridge. */
export function distinctControllerIds(root: Draft): Finding[] {
  const owners = new Map<string, string>();
  return entriesOf(root, "controllers").flatMap(([code, controller]): Finding[] => {
    const configured = textOf(controller, "id");
    if (controller.ignore === true || (configured === null && given(controller, "id"))) return [];
    const id = configured ?? controllerTopicId(code);
    const path = configured === null ? ["controllers", code] : ["controllers", code, "id"];
    const on = configured === null ? "key" : "value";
    const remedy = configured === null ? "give it an id of its own" : "choose another";
    if (reservedControllerIds.has(id))
      return [{ path, on, message: `the topic id "${id}" is reserved; ${remedy}` }];
    const owner = owners.get(id);
    if (owner === undefined) {
      owners.set(id, code);
      return [];
    }
    return [{ path, on, message: `controller ${owner} has the same topic id; ${remedy}` }];
  });
}

/** Two overrides of one sensor would contradict each other. */
export function distinctSensors(root: Draft): Finding[] {
  return entriesOf(root, "controllers").flatMap(([code, controller]) => {
    const owners = new Map<string, string>();
    return entriesOf(controller, "sensors").flatMap(([id, sensor]): Finding[] => {
      const from = textOf(sensor, "from");
      const owner = from === null ? undefined : owners.get(from);
      if (from !== null && owner === undefined) owners.set(from, id);
      return owner === undefined
        ? []
        : [
            {
              path: ["controllers", code, "sensors", id, "from"],
              on: "value",
              message: `sensor ${owner} of this controller is made from the same; use name@channel to tell them apart`,
            },
          ];
    });
  });
}

interface Claim {
  readonly address: string;
  readonly owner: string;
  readonly path: Path;
}

/** An address belongs to one actuator or parameter, so that commands to it can be kept in order. */
export function distinctAddresses(root: Draft): Finding[] {
  return entriesOf(root, "controllers").flatMap(([code, controller]) => {
    const owners = new Map<string, string>();
    return claimsOf(controller).flatMap(({ address, owner, path }): Finding[] => {
      const first = owners.get(address) ?? owner;
      owners.set(address, first);
      return first === owner
        ? []
        : [
            {
              path: ["controllers", code, ...path],
              on: "value",
              message: `this address belongs to ${first} of the same controller already`,
            },
          ];
    });
  });
}

function claimsOf(controller: Draft): Claim[] {
  const actuators = entriesOf(controller, "actuators").flatMap(([id, actuator]) => [
    ...["address", "mode_address", "position_address"].flatMap((key) =>
      claim(`actuator ${id}`, ["actuators", id, key], textOf(actuator, key)),
    ),
    ...claim(
      `actuator ${id}`,
      ["actuators", id, "stop", "address"],
      textOf(sectionOf(actuator, "stop"), "address"),
    ),
  ]);
  const parameters = entriesOf(controller, "parameters").flatMap(([id, parameter]) =>
    claim(`parameter ${id}`, ["parameters", id, "address"], textOf(parameter, "address")),
  );
  return [...actuators, ...parameters];
}

const claim = (owner: string, path: Path, address: string | null): Claim[] =>
  address === null ? [] : [{ owner, path, address }];

/** A range nothing fits into would make every value bad, or refuse every command. */
export function orderedLimits(root: Draft): Finding[] {
  return entriesOf(root, "controllers").flatMap(([code, controller]) => [
    ...entriesOf(controller, "sensors").flatMap(([id, sensor]) =>
      ordered(sensor, ["controllers", code, "sensors", id]),
    ),
    ...entriesOf(controller, "parameters").flatMap(([id, parameter]) =>
      ordered(sectionOf(parameter, "writable"), ["controllers", code, "parameters", id, "writable"]),
    ),
  ]);
}

function ordered(limits: Draft, path: Path): Finding[] {
  const [min, max] = [numberOf(limits, "min"), numberOf(limits, "max")];
  if (min === null || max === null) return [];
  if (min >= max) return [{ path: [...path, "max"], on: "value", message: `expected a number above min` }];
  const step = numberOf(limits, "step");
  return step !== null && step > max - min
    ? [{ path: [...path, "step"], on: "value", message: "expected a step that fits between min and max" }]
    : [];
}

/** The platform's values are digits, so a limit below 0 of them allows what every command would be refused for. */
export function sendableLimits(root: Draft): Finding[] {
  return entriesOf(root, "controllers").flatMap(([code, controller]) =>
    entriesOf(controller, "parameters").flatMap(([id, parameter]) => {
      const scale = given(parameter, "scale") ? numberOf(parameter, "scale") : 1;
      if (scale === null || scale === 0) return [];
      const path = ["controllers", code, "parameters", id, "writable"];
      return ["min", "max"].flatMap((key) =>
        signed(numberOf(sectionOf(parameter, "writable"), key), scale, [...path, key]),
      );
    }),
  );
}

function signed(limit: number | null, scale: number, path: Path): Finding[] {
  const sent = limit === null ? 0 : digitsSent(limit, scale);
  const remedy = scale > 0 ? "expected 0 or more" : "expected 0 or less";
  const message = `would be sent as ${sent}, and the platform takes digits without a sign; ${remedy}`;
  return sent < 0 ? [{ path, on: "value", message }] : [];
}
