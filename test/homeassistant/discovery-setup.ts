import { onTestFinished } from "vitest";
import type { Controller } from "../../src/greenhouse/model.js";
import { controllerDocument } from "../../src/homeassistant/device-documents.js";
import { DiscoveryOutput } from "../../src/homeassistant/discovery-output.js";
import type { DocumentSettings } from "../../src/homeassistant/documents.js";
import type { RetainedTopics } from "../../src/mqtt/retained-topics.js";
import type { Logger } from "../../src/runtime/log.js";
import { silentLog } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { actuator, controller, reading, settings } from "./fixtures.js";

export const topicOf = (code: string) => `homeassistant/device/greenhouse2mqtt_${code}/config`;
export const bridgeTopic = topicOf("bridge_greenhouse2mqtt");

/** A controller with a skylight at 101 and sensors of these names. */
export const house = (code: string, ...sensors: string[]): Controller =>
  controller({
    code,
    sensors: sensors.map((name) => reading(name, name, "temperature", "°C")),
    actuators: [actuator({ id: "roof", kind: "skylight", address: "101" })],
  });

export const withFan = (one: Controller): Controller => ({
  ...one,
  actuators: new Map(one.actuators).set(
    "fan",
    actuator({ id: "fan", kind: "circulation_fan", address: "102" }),
  ),
});

/** The text that announces it. */
export const textOf = (one: Controller, changes: Partial<DocumentSettings> = {}): string =>
  JSON.stringify(controllerDocument(one, settings(changes)));

export const componentsIn = (payload: string | undefined) =>
  (JSON.parse(payload ?? "{}") as { components: Record<string, Record<string, unknown>> }).components;

interface Sent {
  readonly at: number;
  readonly topic: string;
  readonly payload: string;
}

/** `A` is announced, `A -select_102` with this removed, `A cleared` taken away; `states` are published again. */
function brief({ topic, payload }: Sent): string {
  const name = topic === bridgeTopic ? "bridge" : /greenhouse2mqtt_(.*)\/config/.exec(topic)?.[1];
  if (name === undefined) return topic;
  if (payload === "") return `${name} cleared`;
  const gone = Object.entries(componentsIn(payload)).filter(([, one]) => Object.keys(one).length === 1);
  return [name, ...gone.map(([key]) => `-${key}`)].join(" ");
}

/** A running output on a virtual clock, with a broker that takes everything unless told otherwise; ended with the test. */
export const start = (...controllers: readonly Controller[]) => startAfter(null, ...controllers);

/** One that has been connected for so long; what it announced is taken. */
export async function announced(ms: number, ...controllers: readonly Controller[]) {
  const setup = start(...controllers);
  setup.output.onConnected();
  await setup.told(ms);
  return setup;
}

export type Setup = ReturnType<typeof start>;

/** As `start`; `saved` is what an earlier run kept of what it had withdrawn. */
export const startAfter = (saved: string | null, ...controllers: readonly Controller[]) =>
  startAt(null, saved, controllers);

/** What a broker holds, by topic, and what was asked of it; it answers once `opened` resolves. */
export interface AskedBroker {
  readonly holds: ReadonlyMap<string, string>;
  readonly opened: Promise<void>;
  readonly asked: (readonly string[])[];
}

/** One of many bridges at a broker, which shows only the announcements that are asked for. */
export const startAmongMany = (broker: AskedBroker, saved: string | null, ...controllers: Controller[]) =>
  startAt(broker, saved, controllers);

function startAt(among: AskedBroker | null, saved: string | null, controllers: readonly Controller[]) {
  const view = new Map(controllers.map((one) => [one.info.code, one]));
  const clock = new VirtualClock();
  const sent: Sent[] = [];
  const logged: string[] = [];
  const opened: { at: number; code: string | null; which: "held" | "all" }[] = [];
  const allowed = { removal: true, broker: true, refused: false, echo: false, platformHadTime: false };
  const slow = { answerMs: 0 };
  const memory = { text: saved };
  const note = (_: unknown, text: string) => logged.push(text);
  const log = { ...silentLog, info: note, warn: note, error: note } as unknown as Logger;
  const stopped = new AbortController();
  const retained = {
    announce: (topic: string, payload: string): ReturnType<RetainedTopics["announce"]> => {
      if (!allowed.broker) return Promise.resolve("link lost");
      if (allowed.refused) return Promise.resolve("refused");
      sent.push({ at: clock.monotonic(), topic, payload });
      if (allowed.echo) output.foreignDocument(topic, payload);
      return slow.answerMs === 0 ? Promise.resolve("taken") : clock.wait(slow.answerMs).then(() => "taken");
    },
    release: (code: string, isAll: boolean) =>
      opened.push({ at: clock.monotonic(), code, which: isAll ? "all" : "held" }),
    repeat: () => opened.push({ at: clock.monotonic(), code: null, which: "all" }),
  };
  const listen = async (topics: readonly string[]) => {
    among?.asked.push(topics);
    await among?.opened;
    for (const topic of topics) {
      const held = among?.holds.get(topic);
      if (held !== undefined) output.foreignDocument(topic, held);
    }
  };
  const file = {
    read: () => Promise.resolve(memory.text),
    write: (text: string) => Promise.resolve(void (memory.text = text)),
  };
  const inventory = {
    get hadTime() {
      return allowed.platformHadTime;
    },
    mayForget: () => allowed.removal,
  };
  const core = {
    ...{ clock, random: () => 0.5, log, retained, connection: { listen }, isOneOfMany: among !== null },
    ...{ file: () => file, groupsAndScenes: () => ({ groups: new Map() }) },
    mirror: {
      store: { controllers: () => view.values(), get: (code: string) => view.get(code) },
      inventory,
    },
  };
  const output: DiscoveryOutput = new DiscoveryOutput(core, {
    ...settings(),
    statusTopic: "homeassistant/status",
  });
  output.onBirth(() => sent.push({ at: clock.monotonic(), topic: "states", payload: "" }));
  const ended = output.run(stopped.signal);
  const stop = async () => {
    stopped.abort();
    await ended;
  };
  onTestFinished(stop);
  /** What is sent within this time, and was since the last call. */
  const take = async (ms: number): Promise<Sent[]> => {
    await clock.advance(ms);
    return sent.splice(0);
  };
  return {
    ...{ output, clock, logged, opened, memory, allowed, slow, stop, take },
    told: async (ms: number) => (await take(ms)).map(brief),
    /** Puts a controller into the mirror (or takes it out) and tells the output. */
    change: (code: string, after: Controller | undefined): void => {
      const before = view.get(code);
      if (after === undefined) view.delete(code);
      else view.set(code, after);
      output.controllerChanged(before, after);
    },
    /** What the broker shows on a controller's topic. */
    found: (code: string, payload: string) => output.foreignDocument(topicOf(code), payload),
    born: () => output.statusMessage("online", false),
    /** The controller's sensors that may be published now; null where nothing of it may. */
    visible: (one: Controller, shown?: Controller) => {
      const seen = output.gate.visible(shown, one);
      return seen === null ? null : [...seen.sensors.keys()];
    },
  };
}
