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
const written = (simulatedS: number, speed: number): string => `${Math.round(realMs(simulatedS, speed))}ms`;

/** The demo's configuration with limits for the first greenhouse. */
export function withLimits(text: string, speed: number): string {
  const clearAfter = `clear_after: ${written(300, speed)}`;
  const wind = `wind: { sensor: weather/wind, above: 12, clear_at: 9, ${clearAfter}, allow: [close, 0..10], then: close }`;
  const rain = `rain: { sensor: weather/rain, is: "on", ${clearAfter}, allow: [close, 0..20] }`;
  const limits = `settle: 500ms, limits: { guards: { ${wind}, ${rain} } }`;
  const lease = `settle: 500ms, limits: { for: ${written(900, speed)}, at_most: 45m, ends_with: off }`;
  return text
    .replace("left_skylight: {", `left_skylight: { ${limits},`)
    .replace("right_skylight: {", `right_skylight: { ${limits},`)
    .replace("valve_1: {", `valve_1: { ${lease},`)
    .replaceAll("stale_after: 1m", `stale_after: ${written(180, speed)}`);
}

/** What a person or the weather does. */
type Deed =
  | { readonly command: string; readonly payload: Fields }
  | { readonly request: string; readonly fields: Fields }
  | ((control: Simulator["control"]) => unknown);

/** What is to be seen at the broker; results count from the beginning of the step. */
type Sight =
  | { readonly result: string; readonly by: RegExp; readonly outcome: string }
  | { readonly alarm: string; readonly state: string }
  | { readonly lock: string; readonly by: string | null }
  | { readonly lease: string; readonly runs: boolean }
  | { readonly allowed: string; readonly word: string };

interface Step {
  readonly tells: string;
  /** The same in Chinese. */
  readonly zh: string;
  readonly deeds: readonly Deed[];
  readonly until: readonly Sight[];
}

const [left, right, valve] = ["left_skylight", "right_skylight", "valve_1"];
const alarmOf = (type: string, actuator: string) => `${type}.${shownController}.${actuator}`;
const command = (actuator: string, wanted: string | number): Deed => ({
  command: actuator,
  payload: { command: wanted, by: "anna" },
});
const anna = (request: string, fields: Fields): Deed => ({ request, fields: { ...fields, by: "anna" } });
const ben = (request: string, fields: Fields): Deed => ({
  request,
  fields: { controller: shownController, actuator: right, ...fields, by: "ben" },
});
const result = (actuator: string, outcome: string, by = /^anna$/): Sight => ({
  ...{ result: actuator, by, outcome },
});

const story: readonly Step[] = [
  {
    tells: "A calm morning. Until the wind has been low for five minutes the guards hold.",
    zh: "平静的早晨。风速低满五分钟之前，限制一直有效。",
    deeds: [],
    until: [{ allowed: left, word: "open" }],
  },
  {
    tells: "Anna opens the left skylight to 60 % and waters bed 1. The valve will close by itself.",
    zh: "安娜把左天窗开到 60 %，并给 1 号畦浇水。阀门会自动关闭。",
    deeds: [command(left, 60), command(valve, "on")],
    until: [result(left, "confirmed"), { lease: valve, runs: true }],
  },
  {
    tells: "Ben goes in to mend the right skylight. He locks it, and opens it by the switch on the wall.",
    zh: "本进温室修右天窗。他先锁定它，再用墙上的开关打开。",
    deeds: [
      ben("lock", { reason: "mending the gear" }),
      ({ moveByHand }) => moveByHand(stormCode, "103", "60"),
    ],
    until: [{ lock: right, by: "ben" }],
  },
  {
    tells: "Anna does not see him and wants it closed. The lock keeps her out.",
    zh: "安娜没看见他，想关上右天窗。锁定不让她操作。",
    deeds: [command(right, "close")],
    until: [result(right, "refused")],
  },
  {
    tells:
      "A storm: gusts of 18 m/s, and showers. The guard closes the left skylight; of the right one, which is locked, somebody has to know.",
    zh: "暴风雨：阵风 18 m/s，还有阵雨。限制关上左天窗；右天窗被锁定，必须有人知道。",
    deeds: [
      ({ fault }) => fault({ fault: "gusts", value: 18, for: 3_600_000 }),
      ({ fault }) => fault({ fault: "showers", for: 3_600_000 }),
    ],
    until: [
      result(left, "confirmed", /^rule wind$/),
      { alarm: alarmOf("guard_unmet", right), state: "active" },
    ],
  },
  {
    tells: "Anna sees the alarm, and says so. That clears nothing.",
    zh: "安娜看到报警并确认。确认并不解除报警。",
    deeds: [anna("acknowledge", { alarm: alarmOf("guard_unmet", right) })],
    until: [{ alarm: alarmOf("guard_unmet", right), state: "acknowledged" }],
  },
  {
    tells: "It is warm, so she tries 60 % on the left. Refused, with the wind's speed; 10 % is allowed.",
    zh: "天热，她想把左天窗开到 60 %。被拒绝，并说明风速；允许 10 %。",
    deeds: [command(left, 60)],
    until: [result(left, "refused")],
  },
  {
    tells:
      "Ben has come out and unlocks. What the guard had to keep back goes out now, and the alarm clears.",
    zh: "本出来解锁。限制刚才不能发的命令现在发出，报警解除。",
    deeds: [ben("unlock", {})],
    until: [
      { lock: right, by: null },
      result(right, "confirmed", /^rule wind$/),
      { alarm: alarmOf("guard_unmet", right), state: "cleared" },
    ],
  },
  {
    tells: "In the middle of the storm the wind sensor dies. A sensor that says nothing is no calm weather.",
    zh: "暴风雨中风速传感器坏了。没有数值不等于没有风。",
    deeds: [({ fault }) => fault({ fault: "station_silent", sensor: "wind", for: 3_600_000 })],
    until: [{ alarm: alarmOf("guard_blind", left), state: "active" }],
  },
  {
    tells: "The guard goes on holding, so 60 % is refused still. Anna acknowledges this alarm, too.",
    zh: "限制继续有效，60 % 仍被拒绝。安娜也确认这条报警。",
    deeds: [command(left, 60), anna("acknowledge", { alarm: alarmOf("guard_blind", left) })],
    until: [result(left, "refused"), { alarm: alarmOf("guard_blind", left), state: "acknowledged" }],
  },
  {
    tells: "Bed 1 has had its quarter of an hour: the lease ends the watering, whatever the weather.",
    zh: "1 号畦浇满一刻钟：不管天气如何，限时结束浇水。",
    deeds: [],
    until: [{ lease: valve, runs: false }],
  },
  {
    tells:
      "The storm is over and the sensor is mended. The guards let go once the wind has been low for five minutes.",
    zh: "暴风雨过去，传感器修好。风速低满五分钟后限制解除。",
    deeds: [({ storm }) => storm(false), ({ clearFaults }) => clearFaults()],
    until: [
      { alarm: alarmOf("guard_blind", left), state: "cleared" },
      { allowed: left, word: "open" },
    ],
  },
  {
    tells: "Nothing opens by itself. Anna does.",
    zh: "什么也不会自己打开。安娜来开。",
    deeds: [command(left, 60)],
    until: [result(left, "confirmed")],
  },
];

/** What was seen at the broker: what stands on each topic, and the results in their order. */
export class Seen {
  readonly #standing = new Map<string, Fields | null>();
  readonly #results: Fields[] = [];
  #look: () => void = () => undefined;

  get resultCount(): number {
    return this.#results.length;
  }

  /** What stood there until now. */
  stands(topic: string, fields: Fields | null): Fields | null {
    const before = this.#standing.get(topic) ?? null;
    this.#standing.set(topic, fields);
    this.#look();
    return before;
  }

  resulted(fields: Fields): void {
    this.#results.push(fields);
    this.#look();
  }

  /** Resolves once it looks so, or when the signal aborts. */
  until(isSo: () => boolean, end: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (isSo() || end.aborted) resolve();
      };
      this.#look = look;
      end.addEventListener("abort", look, { once: true });
      look();
    });
  }

  shows(sight: Sight, base: string, since: number): boolean {
    const at = (actuator: string, leaf: string) =>
      this.#standing.get(`${base}/${shownController}/actuator/${actuator}/${leaf}`) ?? null;
    if ("result" in sight)
      return this.#results
        .slice(since)
        .some(
          ({ actuator, outcome, by }) =>
            actuator === sight.result && outcome === sight.outcome && sight.by.test(String(by)),
        );
    if ("alarm" in sight)
      return this.#standing.get(`${base}/alarm/${sight.alarm}`)?.["state"] === sight.state;
    if ("lock" in sight) return (at(sight.lock, "lock")?.["by"] ?? null) === sight.by;
    if ("lease" in sight) return (at(sight.lease, "lease") !== null) === sight.runs;
    const words = at(sight.allowed, "allowed")?.["words"];
    return Array.isArray(words) && words.includes(sight.word);
  }
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

/** Tells the story; what is not seen in time is said, and the story goes on. */
export async function tellStorm(stage: Stage, end: AbortSignal): Promise<void> {
  const { base, seen, view, speed, language } = stage;
  const tell = (en: string, zh: string) => view.out(toldLine(language === "zh" ? zh : en, view));
  for (const { tells, zh, deeds, until } of story) {
    tell(tells, zh);
    const since = seen.resultCount;
    for (const deed of deeds) await done(deed, stage);
    const late = AbortSignal.any([end, AbortSignal.timeout(60_000 + realMs(1_800, speed))]);
    await seen.until(() => until.every((sight) => seen.shows(sight, base, since)), late);
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

async function done(deed: Deed, { control, publish, base }: Stage): Promise<void> {
  if (typeof deed === "function") await deed(control);
  else if ("command" in deed)
    await publish(`${base}/${shownController}/actuator/${deed.command}/set`, JSON.stringify(deed.payload));
  else await publish(`${base}/bridge/request/${deed.request}`, JSON.stringify(deed.fields));
}
