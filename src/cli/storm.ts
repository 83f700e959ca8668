import { anyOf } from "../runtime/signals.js";
import { msg, type Text } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import { systemClock } from "../runtime/clock.js";
import type { Simulator } from "../simulator/simulator.js";
import { type DemoView, type Fields, shownController, toldLine } from "./demo-view.js";

/*
 * A storm day for the demo. Each step of the people and the weather waits until the last one was seen at the broker.
 * Times are seconds of the simulated greenhouse, so a faster day is a shorter story.
 */

const stormCode = "GH-0001";
/** 09:40 on a mild morning in Shandong, when only the story makes wind or rain. */
export const stormBegins = Date.UTC(2026, 4, 10, 1, 40);
export const stormSpeed = 20;

const realMs = (simulatedS: number, speed: number): number => Math.max(1_000, (simulatedS * 1000) / speed);
export const durationOf = (simulatedS: number, speed: number): string =>
  `${Math.round(realMs(simulatedS, speed))}ms`;

/** The demo's configuration with limits for the first greenhouse. */
export function withLimits(text: string, speed: number): string {
  const clearAfter = `clear_after: ${durationOf(300, speed)}`;
  const wind = `wind: { sensor: weather/wind, above: 12, clear_at: 9, ${clearAfter}, allow: [close, 0..10], then: close }`;
  const rain = `rain: { sensor: weather/rain, is: "on", ${clearAfter}, allow: [close, 0..20] }`;
  const limits = `settle: 500ms, limits: { guards: { ${wind}, ${rain} } }`;
  const lease = `settle: 500ms, limits: { for: ${durationOf(900, speed)}, at_most: 45m, ends_with: off }`;
  return text
    .replace("left_skylight: {", `left_skylight: { ${limits},`)
    .replace("right_skylight: {", `right_skylight: { ${limits},`)
    .replace("valve_1: {", `valve_1: { ${lease},`)
    .replaceAll("stale_after: 1m", `stale_after: ${durationOf(180, speed)}`);
}

export interface Stage {
  readonly control: Simulator["control"];
  readonly publish: (topic: string, payload: string) => Promise<unknown>;
  readonly base: string;
  readonly speed: number;
  readonly seen: Seen;
  readonly view: DemoView;
}

/**
 * What was seen at the broker: the newest document of each topic, and the results since this step of the story began.
 */
export class Seen {
  readonly #base: string;
  readonly #standing = new Map<string, Fields | null>();
  results: readonly Fields[] = [];
  #look: () => void = () => undefined;

  constructor(base: string) {
    this.#base = base;
  }

  /** The newest document of a topic below the base. */
  at(topic: string): Fields | null {
    return this.#standing.get(`${this.#base}/${topic}`) ?? null;
  }

  /** Notes a document; returns the one before. */
  stands(topic: string, fields: Fields | null): Fields | null {
    const before = this.#standing.get(topic) ?? null;
    this.#standing.set(topic, fields);
    this.#look();
    return before;
  }

  onResult(fields: Fields): void {
    this.results = [...this.results, fields];
    this.#look();
  }

  /** Resolves once all conditions hold, or when the signal aborts. */
  until(conditions: readonly Condition[], end: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#look = () => {
        if (end.aborted || conditions.every((condition) => condition(this))) resolve();
      };
      end.addEventListener("abort", this.#look, { once: true });
      this.#look();
    });
  }
}

/** Something that a person or the weather does. */
type Action = (stage: Stage) => unknown;
type Condition = (seen: Seen) => boolean;

const left = "left_skylight";
const right = "right_skylight";
const valve = "valve_1";
const topicOf = (actuator: string, leaf: string) => `${shownController}/actuator/${actuator}/${leaf}`;

const alarmOf = (type: string, actuator: string) => `${type}.${shownController}.${actuator}`;

const send =
  (topic: string, fields: Fields): Action =>
  ({ publish, base }) =>
    publish(`${base}/${topic}`, JSON.stringify(fields));
export const command = (actuator: string, wanted: string | number, more: Fields = {}) =>
  send(topicOf(actuator, "set"), { command: wanted, by: "anna", ...more });
const acknowledge = (type: string, actuator: string) =>
  send("bridge/request/acknowledge", { alarm: alarmOf(type, actuator), by: "anna" });
const ben = (name: string, fields: Fields) =>
  send(`bridge/request/${name}`, { controller: shownController, actuator: right, by: "ben", ...fields });

export const result =
  (wanted: string, end: string, sender = /^anna$/): Condition =>
  ({ results }) =>
    results.some(
      ({ actuator, outcome, by }) => actuator === wanted && outcome === end && sender.test(String(by)),
    );
export const shows =
  (topic: string, isSo: (fields: Fields | null) => boolean): Condition =>
  (seen) =>
    isSo(seen.at(topic));
const alarm = (type: string, actuator: string, state: string) =>
  shows(`alarm/${alarmOf(type, actuator)}`, (fields) => fields?.["state"] === state);
const lockedBy = (actuator: string, by: string | null) =>
  shows(topicOf(actuator, "lock"), (lock) => (lock?.["by"] ?? null) === by);
const isLeased = (actuator: string, isSo: boolean) =>
  shows(topicOf(actuator, "lease"), (lease) => (lease !== null) === isSo);
const allows = (actuator: string, word: string) =>
  shows(topicOf(actuator, "allowed"), (allowed) => [allowed?.["words"]].flat().includes(word));

export interface Step {
  readonly tells: Text;
  readonly actions: readonly Action[];
  readonly until: readonly Condition[];
}

const story: readonly Step[] = [
  {
    tells: msg`A calm morning. Until the wind has been low for five minutes the guards hold.`,
    actions: [],
    until: [allows(left, "open")],
  },
  {
    tells: msg`Anna opens the left skylight to 60 % and waters bed 1. The valve will close by itself.`,
    actions: [command(left, 60), command(valve, "on")],
    until: [result(left, "confirmed"), isLeased(valve, true)],
  },
  {
    tells: msg`Ben goes in to mend the right skylight. He locks it, and opens it by the switch on the wall.`,
    actions: [
      (stage) => ben("lock", { reason: stage.view.tell(msg`mending the gear`) })(stage),
      ({ control }) => control.moveByHand(stormCode, "103", "60"),
    ],
    until: [lockedBy(right, "ben")],
  },
  {
    tells: msg`Anna does not see him and wants it closed. The lock keeps her out.`,
    actions: [command(right, "close")],
    until: [result(right, "refused")],
  },
  {
    tells: msg`A storm: gusts of 18 m/s, and showers. The guard closes the left skylight; of the right one, which is locked, somebody has to know.`,
    actions: [
      ({ control }) => control.fault({ fault: "gusts", value: 18, for: 3_600_000 }),
      ({ control }) => control.fault({ fault: "showers", for: 3_600_000 }),
    ],
    until: [result(left, "confirmed", /^rule wind$/), alarm("guard_unmet", right, "active")],
  },
  {
    tells: msg`Anna sees the alarm, and says so. That clears nothing.`,
    actions: [acknowledge("guard_unmet", right)],
    until: [alarm("guard_unmet", right, "acknowledged")],
  },
  {
    tells: msg`It is warm, so she tries 60 % on the left. Refused, with the wind's speed; 10 % is allowed.`,
    actions: [command(left, 60)],
    until: [result(left, "refused")],
  },
  {
    tells: msg`Ben has come out and unlocks. What the guard had to keep back goes out now, and the alarm clears.`,
    actions: [ben("unlock", {})],
    until: [
      lockedBy(right, null),
      result(right, "confirmed", /^rule wind$/),
      alarm("guard_unmet", right, "cleared"),
    ],
  },
  {
    tells: msg`In the middle of the storm the wind sensor dies. A sensor that says nothing is no calm weather.`,
    actions: [({ control }) => control.fault({ fault: "station_silent", sensor: "wind", for: 3_600_000 })],
    until: [alarm("guard_blind", left, "active")],
  },
  {
    tells: msg`The guard goes on holding, so 60 % is refused still. Anna acknowledges this alarm, too.`,
    actions: [command(left, 60), acknowledge("guard_blind", left)],
    until: [result(left, "refused"), alarm("guard_blind", left, "acknowledged")],
  },
  {
    tells: msg`Bed 1 has had its quarter of an hour: the lease ends the watering, whatever the weather.`,
    actions: [],
    until: [isLeased(valve, false)],
  },
  {
    tells: msg`The storm is over and the sensor is mended. The limits end once the wind has been low for five minutes.`,
    actions: [({ control }) => control.storm(false), ({ control }) => control.clearFaults()],
    until: [alarm("guard_blind", left, "cleared"), allows(left, "open")],
  },
  {
    tells: msg`Nothing opens by itself. Anna does.`,
    actions: [command(left, 60)],
    until: [result(left, "confirmed")],
  },
];

export const tellStorm = (stage: Stage, end: AbortSignal): Promise<void> =>
  tellStory(story, stage, end, msg`The storm day is over. The greenhouse lives on; Ctrl-C ends it.`);

/** Tells a story. What is not seen in time is reported, and the story goes on. */
export async function tellStory(
  steps: readonly Step[],
  stage: Stage,
  end: AbortSignal,
  last: Text,
): Promise<void> {
  const { seen, view, speed } = stage;
  const tell = (text: Text) => view.out(toldLine(view.tell(text), view));
  for (const { tells, actions, until } of steps) {
    tell(tells);
    seen.results = [];
    for (const action of actions) await action(stage);
    const late = anyOf(end, AbortSignal.timeout(60_000 + realMs(1_800, speed)));
    await seen.until(until, late);
    if (end.aborted) return;
    if (late.aborted) tell(msg`That was not seen in time; the story goes on without it.`);
    await systemClock.wait(realMs(60, speed), end).catch(ignored);
  }
  tell(last);
}
