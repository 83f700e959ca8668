import type { MqttClient } from "mqtt";

/* Commands for many actuators, so many at a time, and the outcomes of each. */

export interface CommandLoad {
  readonly sent: number;
  readonly outcomes: ReadonlyMap<string, number>;
  /** Commands with no outcome, or with more than one that was not a repetition. */
  unaccounted(): readonly string[];
  /** Sends until `count` were sent; waits while the link is down. */
  run(count: number): Promise<void>;
  /** No more are sent from now on; resolves when the bridge has all that were. */
  hold(): Promise<void>;
  release(): void;
  /** Resolves when each has its outcome; rejects after `timeoutMs` without a new one. */
  settled(timeoutMs: number): Promise<void>;
  /** Looks at a message; returns at once for what is none of a command's. */
  saw(topic: string, payload: Buffer): void;
}

const mostOpen = 150;
/** Some 600 a minute; each actuator has one open command, which keeps it below the 60 a minute that it takes. */
const leastApartMs = 105;

export function commandLoad(client: MqttClient, base: string, actuators: readonly string[]): CommandLoad {
  const open = new Map<string, { taken: boolean }>();
  const twice: string[] = [];
  const outcomes = new Map<string, number>();
  const done = new Set<number>();
  const busy = new Set<string>();
  let [sent, isHeld, lastOutcomeAt] = [0, false, performance.now()];
  let wake: () => void = () => undefined;
  const news = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
      setTimeout(resolve, 200);
    });
  const until = async (condition: () => boolean) => {
    while (!condition()) await news();
  };
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
  const nameOf = (number: number) => `soak-${number}`;

  const saw: CommandLoad["saw"] = (topic, payload) => {
    const isResult = topic.endsWith("/result");
    if (!topic.includes("/actuator/") || !(isResult || topic.endsWith("/command"))) return;
    const { by, outcome, repeated } = JSON.parse(payload.toString()) as Readonly<Record<string, unknown>>;
    if (typeof by !== "string" || !by.startsWith("soak-")) return;
    const command = open.get(by);
    if (command) command.taken = true;
    const number = Number(by.slice(5));
    // A result that met a broken link comes once more, so the repetition may be the first to arrive.
    if (!isResult || (repeated === true && done.has(number))) {
      wake();
      return;
    }
    if (done.has(number)) twice.push(`${by} has a second outcome: ${String(outcome)}`);
    done.add(number);
    open.delete(by);
    busy.delete(actuatorOf(number));
    outcomes.set(String(outcome), (outcomes.get(String(outcome)) ?? 0) + 1);
    lastOutcomeAt = performance.now();
    wake();
  };
  const actuatorOf = (number: number) => actuators[number % actuators.length] ?? "";

  return {
    get sent() {
      return sent;
    },
    outcomes,
    saw,
    unaccounted: () => [...twice, ...[...open.keys()].map((name) => `${name} has no outcome`)],
    run: async (count) => {
      for (
        let dueAt = performance.now();
        sent < count;
        dueAt = Math.max(dueAt + leastApartMs, performance.now())
      ) {
        await pause(dueAt - performance.now());
        await until(() => !isHeld && open.size < mostOpen && !busy.has(actuatorOf(sent)));
        const number = sent++;
        const command = Math.floor(number / actuators.length) % 2 === 0 ? "on" : "off";
        open.set(nameOf(number), { taken: false });
        busy.add(actuatorOf(number));
        const payload = JSON.stringify({ command, by: nameOf(number), max_age: "60s" });
        client.publish(`${base}/${actuatorOf(number)}/set`, payload, { qos: 1 });
      }
    },
    hold: async () => {
      isHeld = true;
      const end = performance.now() + 8_000;
      const missing = () => [...open].flatMap(([name, { taken }]) => (taken ? [] : [name]));
      await until(() => missing().length === 0 || performance.now() > end);
      if (missing().length > 0) throw new Error(`nothing is heard of ${missing().join(", ")}`);
    },
    release: () => {
      isHeld = false;
      wake();
    },
    settled: async (timeoutMs) => {
      lastOutcomeAt = performance.now();
      await until(() => open.size === 0 || performance.now() - lastOutcomeAt > timeoutMs);
    },
  };
}
