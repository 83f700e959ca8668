import { msg, type Text } from "../../language/text.js";
import { type ActuatorKind, actuatorKinds, kindRows, takesDegrees } from "../../greenhouse/actuator-kinds.js";
import { digitsSent } from "../../greenhouse/command/setpoints.js";
import { reservedControllerIds } from "../../greenhouse/topic-ids.js";
import { atKey, atValue, type Finding, type Path, repeats } from "../../settings/problem.js";
import { controllerTopicId } from "../../settings/controllers.js";
import { positionersOnly, readingRows, type SomeKinds } from "../../greenhouse/readings.js";
import { addedWords } from "./meanings.js";
import {
  asDraft,
  type Draft,
  isGiven,
  numberOf,
  type Placed,
  sectionOf,
  sectionsAt,
  textOf,
} from "../../settings/draft.js";

type Check = (actuator: Draft, kind: ActuatorKind, path: Path, root: Draft) => Finding[];

/** Checks the options of each actuator that depend on its kind. */
export const fittingOptions = (root: Draft): Finding[] =>
  sectionsAt(root, "controllers.*.actuators.*").flatMap(({ path, section }) => {
    const kind = actuatorKinds.find((known) => known === section.kind);
    return kind === undefined ? [] : checks.flatMap((check) => check(section, kind, path, root));
  });

/** Whether the kind's words come from `values` of the configuration. */
const takesValues = (kind: ActuatorKind): boolean => kindRows[kind].configured;
const switches = (kind: ActuatorKind): boolean => "on" in kindRows[kind].values || takesValues(kind);

const limited: Readonly<Record<string, SomeKinds | null>> = {
  mode_address: positionersOnly,
  position_address: positionersOnly,
  tolerance: positionersOnly,
  travel_time: {
    who: msg`${positionersOnly.who}, and motors`,
    holds: (kind) => takesDegrees(kind) || kind === "motor",
  },
  lead_in: { who: msg`the kind light`, holds: (kind) => kind === "light" },
  ...Object.fromEntries(Object.values(readingRows).map(({ key, kinds }) => [key, kinds])),
};

const unusedIn = (section: Draft, kind: ActuatorKind, path: Path): Finding[] => {
  const unused = Object.entries(limited).flatMap(([key, row]) =>
    row !== null && isGiven(section, key) && !row.holds(kind) ? [{ at: [...path, key], who: row.who }] : [],
  );
  const isOpening = takesDegrees(kind) || takesValues(kind);
  if (!isOpening && isGiven(sectionOf(section, "homeassistant"), "inverted"))
    unused.push({ at: [...path, "homeassistant", "inverted"], who: msg`what opens and closes` });
  return unused.map(({ at, who }) =>
    atKey(at, msg`has no effect on the kind ${kind}: it is only for ${who}`),
  );
};

/** Options that have no effect on their kind, although every actuator and kind may carry them. */
export const unusedOptions = (root: unknown): Finding[] =>
  ["controllers.*.actuators.*", "kinds.*"].flatMap((pattern) =>
    sectionsAt(asDraft(root), pattern).flatMap(({ path, section }) => {
      const named = pattern === "kinds.*" ? path.at(-1) : section.kind;
      const kind = actuatorKinds.find((known) => known === named);
      return kind === undefined ? [] : unusedIn(section, kind, path);
    }),
  );

const customNeedsValues: Check = (actuator, kind, path, root) => {
  if (kind !== "custom" || typeof actuator.values === "symbol") return [];
  if (addedWords(root, kind, actuator).length > 0) return [];
  const at = isGiven(actuator, "values") ? [...path, "values"] : path;
  return [atKey(at, msg`the kind custom needs values: at least one command word and its value`)];
};

const views = new Map<string | null, (kind: ActuatorKind) => boolean>([
  ["cover", (kind) => takesDegrees(kind) || takesValues(kind)],
  ["light", switches],
  ["switch", switches],
  ["valve", switches],
]);

const fittingView: Check = (actuator, kind, path) => {
  const view = textOf(sectionOf(actuator, "homeassistant"), "as");
  if (views.get(view)?.(kind) !== false) return [];
  return [atValue([...path, "homeassistant", "as"], msg`${kind} cannot be shown as a ${view ?? ""}`)];
};

const checks: readonly Check[] = [customNeedsValues, fittingView];

/** Every controller needs topics of its own, and some ids belong to the bridge. */
export function distinctControllerIds(root: Draft): Finding[] {
  const mirrored = sectionsAt(root, "controllers.*").flatMap(({ path, section }) => {
    const configured = textOf(section, "id");
    if (section.ignore === true || (configured === null && isGiven(section, "id"))) return [];
    const code = String(path.at(-1));
    const complain = (message: Text) =>
      configured === null
        ? atKey(path, msg`${message}; give it an id of its own`)
        : atValue([...path, "id"], msg`${message}; choose another`);
    return [{ code, id: configured ?? controllerTopicId(code), complain }];
  });
  const reserved = mirrored.filter(({ id }) => reservedControllerIds.has(id));
  const others = mirrored.filter(({ id }) => !reservedControllerIds.has(id));
  return [
    ...reserved.map(({ id, complain }) => complain(msg`the topic id "${id}" is reserved`)),
    ...repeats(others, ({ id }) => id).map(([again, first]) =>
      again.complain(msg`controller ${first.code} has the same topic id`),
    ),
  ];
}

/** Two overrides of one sensor would contradict each other. */
export const distinctSensors = (root: Draft): Finding[] =>
  sectionsAt(root, "controllers.*").flatMap(({ path, section }) => {
    const sensors = sectionsAt(section, "sensors.*").filter(
      (sensor) => textOf(sensor.section, "from") !== null,
    );
    return repeats(sensors, (sensor) => sensor.section.from).map(([again, first]) =>
      atValue(
        [...path, ...again.path, "from"],
        msg`sensor ${first.path.at(-1) ?? ""} of this controller is made from the same; use name@channel to tell them apart`,
      ),
    );
  });

/** An address belongs to one actuator or parameter, so that commands to it can be kept in order. */
export const distinctAddresses = (root: Draft): Finding[] =>
  sectionsAt(root, "controllers.*").flatMap(({ path, section }) =>
    repeats(claimsOf(section), ({ address }) => address)
      .filter(([again, first]) => String(again.owner) !== String(first.owner))
      .map(([again, first]) =>
        atValue(
          [...path, ...again.path],
          msg`this address belongs to ${first.owner} of the same controller already`,
        ),
      ),
  );

function claimsOf(controller: Draft) {
  const actuator = (id: string) => msg`actuator ${id}`;
  const claims = (one: (id: string) => Text, placed: readonly Placed[], ...keys: readonly string[]) =>
    placed.flatMap(({ path, section }) =>
      keys.flatMap((key) => {
        const address = textOf(section, key);
        return address === null ? [] : [{ address, owner: one(String(path[1] ?? "")), path: [...path, key] }];
      }),
    );
  return [
    ...sectionsAt(controller, "actuators.*").flatMap(({ path, section }) => [
      ...claims(actuator, [{ path, section }], "address", "mode_address", "position_address"),
      ...claims(actuator, [{ path: [...path, "stop"], section: sectionOf(section, "stop") }], "address"),
    ]),
    ...claims((id) => msg`parameter ${id}`, sectionsAt(controller, "parameters.*"), "address"),
  ];
}

/** A range that nothing fits into would make every value bad, or refuse every command. */
export const orderedLimits = (root: Draft): Finding[] =>
  [
    ...sectionsAt(root, "controllers.*.sensors.*"),
    ...sectionsAt(root, "controllers.*.parameters.*.writable"),
  ].flatMap(({ path, section }) => {
    const min = numberOf(section, "min");
    const max = numberOf(section, "max");
    const step = numberOf(section, "step");
    if (typeof min !== "number" || typeof max !== "number") return [];
    if (min >= max) return [atValue([...path, "max"], msg`expected a number above min`)];
    return typeof step === "number" && step > max - min
      ? [atValue([...path, "step"], msg`expected a step that fits between min and max`)]
      : [];
  });

/**
 * The platform takes digits without a sign, so a limit sent as a negative number would allow what every command is
 * refused for.
 */
export const sendableLimits = (root: Draft): Finding[] =>
  sectionsAt(root, "controllers.*.parameters.*").flatMap(({ path, section }) => {
    const scale = isGiven(section, "scale") ? numberOf(section, "scale") : 1;
    if (scale === null || scale === 0) return [];
    const remedy = scale > 0 ? msg`expected 0 or more` : msg`expected 0 or less`;
    return ["min", "max"].flatMap((key) => {
      const sent = digitsSent(numberOf(sectionOf(section, "writable"), key) ?? 0, scale);
      const message = msg`would be sent as ${sent}, and the platform takes digits without a sign; ${remedy}`;
      return sent < 0 ? [atValue([...path, "writable", key], message)] : [];
    });
  });
