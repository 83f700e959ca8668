import { formatDuration } from "../runtime/duration.js";
import { kindRows } from "../greenhouse/actuator-kinds.js";
import { atValue, type Finding } from "./problem.js";
import type { Configuration } from "./schema.js";

type Actuator = Configuration["controllers"][string]["actuators"][string];
type LimitsConfiguration = NonNullable<Actuator["limits"]>;
type GuardConfiguration = LimitsConfiguration["guards"][string];

/** One plain sentence for each actuator of what its limits mean. */
export const limitSentences = ({ controllers }: Configuration): readonly string[] =>
  limited(controllers).map(({ code, id, actuator, limits }) => {
    const parts = [
      ...pauses(limits),
      ...terms(actuator, limits),
      ...Object.entries(limits.guards).map(guardText),
    ];
    const what = parts.length === 0 ? "nothing is limited" : parts.join("; ");
    return `controllers.${code}.actuators.${id}: ${what}. stop always passes.`;
  });

function limited(controllers: Configuration["controllers"]) {
  return Object.entries(controllers).flatMap(([code, { actuators, ignore }]) =>
    Object.entries(ignore ? {} : actuators).flatMap(([id, actuator]) =>
      actuator.limits === undefined ? [] : [{ code, id, actuator, limits: actuator.limits }],
    ),
  );
}

const pauses = ({ rest, reversal, starts_per_hour: starts }: LimitsConfiguration): readonly string[] => [
  ...(rest > 0 ? [`it rests ${formatDuration(rest)} after each movement`] : []),
  ...(reversal > 0 ? [`it waits ${formatDuration(reversal)} before it goes the other way`] : []),
  ...(starts === undefined ? [] : [`it starts at most ${starts} times an hour`]),
];

function terms({ kind }: Actuator, limits: LimitsConfiguration): readonly string[] {
  const { for: lasts, at_most: atMost } = limits;
  const usual = lasts ?? atMost;
  if (usual === undefined) return [];
  const endsWith = limits.ends_with ?? ("off" in kindRows[kind].values ? "off" : "close");
  const most = atMost === undefined ? "" : `, at most ${formatDuration(atMost)}`;
  return [
    `each command ends with "${endsWith}" after ${formatDuration(usual)} unless it names a time${most}`,
  ];
}

function guardText([name, guard]: readonly [string, GuardConfiguration]): string {
  const allowed = guard.allow.filter((word) => word !== "stop");
  const only = allowed.length === 0 ? "only stop passes" : `only ${allowed.join(", ")} and stop pass`;
  const after = guard.clear_after === 0 ? "" : ` for ${formatDuration(guard.clear_after)}`;
  const sends = guard.then === undefined ? "" : `, and "${guard.then}" is sent once${blindText(guard)}`;
  return `while ${inputOf(guard)} ${conditionText(guard)} or is not known ("${name}"), until it is over${clearText(guard)}${after}, ${only}${sends}`;
}

const blindText = ({ blind }: GuardConfiguration) => (blind === "act" ? ", also when the value is lost" : "");

const inputOf = ({ sensor, actuator, status }: GuardConfiguration) => sensor ?? actuator ?? status ?? "";

const clearText = ({ clear_at: clearAt }: GuardConfiguration) =>
  clearAt === undefined ? "" : ` (${clearAt})`;

function conditionText({ above, below, is, is_not: isNot }: GuardConfiguration): string {
  const list = (words: string | readonly string[]) =>
    typeof words === "string" ? words : words.join(" or ");
  if (above !== undefined) return `is above ${above}`;
  if (below !== undefined) return `is below ${below}`;
  if (is !== undefined) return `is ${list(is)}`;
  if (isNot !== undefined) return `is not ${list(isNot)}`;
  return "moves";
}

/** A guard on a value of the platform judges what may be as old as the polling interval. */
export function ageDoubts({ controllers, polling }: Configuration): Finding[] {
  return limited(controllers).flatMap(({ code, id, limits }) =>
    Object.entries(limits.guards).flatMap(([name, guard]) => {
      const [key, age] =
        guard.sensor !== undefined
          ? (["sensor", polling.sensors] as const)
          : guard.status !== undefined
            ? (["status", polling.running_status] as const)
            : (["actuator", guard.moving === true ? 0 : polling.actuators] as const);
      if (guard.sensor?.startsWith("weather/") === true || age === 0) return [];
      const message = `this value may be ${formatDuration(age)} old, the interval at which it is polled; a \`weather\` topic is faster`;
      return [atValue(["controllers", code, "actuators", id, "limits", "guards", name, key], message)];
    }),
  );
}

/** What a guard sends to a light that shows something else than on waits for a lead-in that the guard forbids. */
export const leadInDoubts = ({ controllers }: Configuration): Finding[] =>
  limited(controllers).flatMap(({ code, id, actuator, limits }) =>
    Object.entries(limits.guards).flatMap(([name, { then, allow }]) => {
      const isSent = then !== undefined && then !== "stop" && then !== "on";
      const isDoubtful = actuator.kind === "light" && actuator.lead_in === "when_not_on";
      if (!isSent || !isDoubtful || allow.includes("on")) return [];
      const message = `a light that does not show on gets "on" first (lead_in), which this guard forbids: "${then}" is then kept back, with an alarm; allow "on" too, or set lead_in: never where the platform takes that`;
      return [atValue(["controllers", code, "actuators", id, "limits", "guards", name, "then"], message)];
    }),
  );
