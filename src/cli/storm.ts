import { systemClock } from "../runtime/clock.js";
import type { Simulator } from "../simulator/simulator.js";
import { type DemoView, type Fields, shownController, toldLine } from "./demo-view.js";

/*
 * A storm day for the demo: people and the weather do one thing after the other, and each next thing waits until the last was
 * seen at the broker. Times are those of the simulated greenhouse, in seconds, so that a faster day is a shorter story.
 */

const stormCode = "GH-0001";
/** 09:40 of a mild morning in Shandong, on which nothing but the story makes wind or rain. */
export const stormBegins = Date.UTC(2026, 4, 10, 1, 40);
export const stormSpeed = 20;

const realMs = (simulatedS: number, speed: number): number => Math.max(1_000, (simulatedS * 1000) / speed);
const durationOf = (simulatedS: number, speed: number): string =>
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

interface Stage {
  readonly control: Simulator["control"];
  readonly publish: (topic: string, payload: string) => Promise<unknown>;
  readonly base: string;
  readonly speed: number;
  readonly seen: Seen;
  readonly view: DemoView;
  readonly language: "en" | "zh";
}

/** What was seen at the broker: what stands on each topic, and the results since the step of the story began. */
export class Seen {
  readonly #base: string;
  readonly #standing = new Map<string, Fields | null>();
  results: readonly Fields[] = [];
  #look: () => void = () => undefined;

  constructor(base: string) {
    this.#base = base;
  }

  /** What stands on a topic below the base. */
  at(topic: string): Fields | null {
    return this.#standing.get(`${this.#base}/${topic}`) ?? null;
  }

  /** Returns what stood there until now. */
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

  /** Resolves once all of it is to be seen, or when the signal aborts. */
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

/** What a person or the weather does. */
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
const command = (actuator: string, wanted: string | number) =>
  send(topicOf(actuator, "set"), { command: wanted, by: "anna" });
const acknowledge = (type: string, actuator: string) =>
  send("bridge/request/acknowledge", { alarm: alarmOf(type, actuator), by: "anna" });
const ben = (name: string, fields: Fields) =>
  send(`bridge/request/${name}`, { controller: shownController, actuator: right, by: "ben", ...fields });

const result =
  (wanted: string, end: string, sender = /^anna$/): Condition =>
  ({ results }) =>
    results.some(
      ({ actuator, outcome, by }) => actuator === wanted && outcome === end && sender.test(String(by)),
    );
const shows =
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

interface Step {
  readonly tells: string;
  /** The same in Chinese. */
  readonly zh: string;
  readonly actions: readonly Action[];
  readonly until: readonly Condition[];
}

const story: readonly Step[] = [
  {
    tells: "A calm morning. Until the wind has been low for five minutes the guards hold.",
    zh: "平静的早晨。风速低满五分钟之前，限制一直有效。",
    actions: [],
    until: [allows(left, "open")],
  },
  {
    tells: "Anna opens the left skylight to 60 % and waters bed 1. The valve will close by itself.",
    zh: "安娜把左天窗开到 60 %，并给 1 号畦浇水。阀门会自动关闭。",
    actions: [command(left, 60), command(valve, "on")],
    until: [result(left, "confirmed"), isLeased(valve, true)],
  },
  {
    tells: "Ben goes in to mend the right skylight. He locks it, and opens it by the switch on the wall.",
    zh: "本进温室修右天窗。他先锁定它，再用墙上的开关打开。",
    actions: [
      (stage) => ben("lock", { reason: stage.language === "zh" ? "修齿轮" : "mending the gear" })(stage),
      ({ control }) => control.moveByHand(stormCode, "103", "60"),
    ],
    until: [lockedBy(right, "ben")],
  },
  {
    tells: "Anna does not see him and wants it closed. The lock keeps her out.",
    zh: "安娜没看见他，想关上右天窗。锁定不让她操作。",
    actions: [command(right, "close")],
    until: [result(right, "refused")],
  },
  {
    tells:
      "A storm: gusts of 18 m/s, and showers. The guard closes the left skylight; of the right one, which is locked, somebody has to know.",
    zh: "暴风雨：阵风 18 m/s，还有阵雨。限制关上左天窗；右天窗被锁定，必须有人知道。",
    actions: [
      ({ control }) => control.fault({ fault: "gusts", value: 18, for: 3_600_000 }),
      ({ control }) => control.fault({ fault: "showers", for: 3_600_000 }),
    ],
    until: [result(left, "confirmed", /^rule wind$/), alarm("guard_unmet", right, "active")],
  },
  {
    tells: "Anna sees the alarm, and says so. That clears nothing.",
    zh: "安娜看到报警并确认。确认并不解除报警。",
    actions: [acknowledge("guard_unmet", right)],
    until: [alarm("guard_unmet", right, "acknowledged")],
  },
  {
    tells: "It is warm, so she tries 60 % on the left. Refused, with the wind's speed; 10 % is allowed.",
    zh: "天热，她想把左天窗开到 60 %。被拒绝，并说明风速；允许 10 %。",
    actions: [command(left, 60)],
    until: [result(left, "refused")],
  },
  {
    tells:
      "Ben has come out and unlocks. What the guard had to keep back goes out now, and the alarm clears.",
    zh: "本出来解锁。限制刚才不能发的命令现在发出，报警解除。",
    actions: [ben("unlock", {})],
    until: [
      lockedBy(right, null),
      result(right, "confirmed", /^rule wind$/),
      alarm("guard_unmet", right, "cleared"),
    ],
  },
  {
    tells: "In the middle of the storm the wind sensor dies. A sensor that says nothing is no calm weather.",
    zh: "暴风雨中风速传感器坏了。没有数值不等于没有风。",
    actions: [({ control }) => control.fault({ fault: "station_silent", sensor: "wind", for: 3_600_000 })],
    until: [alarm("guard_blind", left, "active")],
  },
  {
    tells: "The guard goes on holding, so 60 % is refused still. Anna acknowledges this alarm, too.",
    zh: "限制继续有效，60 % 仍被拒绝。安娜也确认这条报警。",
    actions: [command(left, 60), acknowledge("guard_blind", left)],
    until: [result(left, "refused"), alarm("guard_blind", left, "acknowledged")],
  },
  {
    tells: "Bed 1 has had its quarter of an hour: the lease ends the watering, whatever the weather.",
    zh: "1 号畦浇满一刻钟：不管天气如何，限时结束浇水。",
    actions: [],
    until: [isLeased(valve, false)],
  },
  {
    tells:
      "The storm is over and the sensor is mended. The guards let go once the wind has been low for five minutes.",
    zh: "暴风雨过去，传感器修好。风速低满五分钟后限制解除。",
    actions: [({ control }) => control.storm(false), ({ control }) => control.clearFaults()],
    until: [alarm("guard_blind", left, "cleared"), allows(left, "open")],
  },
  {
    tells: "Nothing opens by itself. Anna does.",
    zh: "什么也不会自己打开。安娜来开。",
    actions: [command(left, 60)],
    until: [result(left, "confirmed")],
  },
];

/** Tells the story; what is not seen in time is said, and the story goes on. */
export async function tellStorm(stage: Stage, end: AbortSignal): Promise<void> {
  const { seen, view, speed, language } = stage;
  const tell = (en: string, zh: string) => view.out(toldLine(language === "zh" ? zh : en, view));
  for (const { tells, zh, actions, until } of story) {
    tell(tells, zh);
    seen.results = [];
    for (const action of actions) await action(stage);
    const late = AbortSignal.any([end, AbortSignal.timeout(60_000 + realMs(1_800, speed))]);
    await seen.until(until, late);
    if (end.aborted) return;
    if (late.aborted)
      tell("That was not seen in time; the story goes on without it.", "没有及时看到，故事继续。");
    await systemClock.wait(realMs(60, speed), end).catch(() => undefined);
  }
  tell(
    "The storm day is over. The greenhouse lives on; Ctrl-C ends it.",
    "暴风雨的一天结束了，温室照常运行；按 Ctrl-C 结束。",
  );
}
