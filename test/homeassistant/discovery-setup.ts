import { onTestFinished } from "vitest";
import type { Controller } from "../../src/greenhouse/model.js";
import { DiscoveryOutput } from "../../src/homeassistant/discovery-output.js";
import type { Logger } from "../../src/runtime/log.js";
import { silentLog } from "../support/builders.js";
import { settings } from "./fixtures.js";
import { VirtualClock } from "../support/virtual-clock.js";

export interface Sent {
  readonly at: number;
  readonly topic: string;
  readonly payload: string;
}

export const topicOf = (code: string) => `homeassistant/device/greenhouse2mqtt_${code}/config`;
export const bridgeTopic = topicOf("bridge_greenhouse2mqtt");

/** A running output on a virtual clock, with a broker that takes everything unless told otherwise; ended with the test. */
export const start = (...controllers: readonly Controller[]) => startAfter(null, ...controllers);

/** One that has been connected for so long; what it announced is taken. */
export async function announced(ms: number, ...controllers: readonly Controller[]) {
  const setup = start(...controllers);
  setup.output.connected();
  await setup.clock.advance(ms);
  setup.take();
  return setup;
}

export type Setup = ReturnType<typeof start>;

/** As `start`; `saved` is what an earlier run kept of what it had withdrawn. */
export function startAfter(saved: string | null, ...controllers: readonly Controller[]) {
  const view = new Map(controllers.map((one) => [one.info.code, one]));
  const clock = new VirtualClock();
  const sent: Sent[] = [];
  const logged: string[] = [];
  const opened: { at: number; code: string | null; which: "held" | "all" }[] = [];
  const allowed = { removal: true, broker: true, refused: false, echo: false, platformHadTime: false };
  const memory = { text: saved };
  const note = (_: unknown, text: string) => logged.push(text);
  const log = { ...silentLog, info: note, warn: note, error: note } as unknown as Logger;
  const stopped = new AbortController();
  const output = new DiscoveryOutput(
    {
      publish: (topic, payload) => {
        if (!allowed.broker) return Promise.reject(new Error("no link"));
        if (allowed.refused) return Promise.reject(new Error("refused"));
        sent.push({ at: clock.monotonic(), topic, payload });
        if (allowed.echo) output.foreignDocument(topic, payload);
        return Promise.resolve();
      },
      isRefusal: (error) => String(error).includes("refused"),
      republishStates: () => sent.push({ at: clock.monotonic(), topic: "states", payload: "" }),
      publishStates: (code, which) => opened.push({ at: clock.monotonic(), code, which }),
      memory: {
        read: () => Promise.resolve(memory.text),
        write: (text) => {
          memory.text = text;
          return Promise.resolve();
        },
      },
      view: {
        controllers: () => view.values(),
        get: (code) => view.get(code),
        platformHadTime: () => allowed.platformHadTime,
        mayForget: () => allowed.removal,
      },
      clock,
      random: () => 0.5,
      log,
    },
    settings(),
  );
  const ended = output.run(stopped.signal);
  const stop = async () => {
    stopped.abort();
    await ended;
  };
  onTestFinished(stop);
  return {
    ...{ output, clock, sent, logged, opened, memory, allowed, stop },
    /** Puts a controller into the mirror (or takes it out) and tells the output. */
    change: (code: string, after: Controller | undefined): void => {
      const before = view.get(code);
      if (after === undefined) view.delete(code);
      else view.set(code, after);
      output.controllerChanged(before, after);
    },
    /** What was sent since the last call. */
    take: (): Sent[] => sent.splice(0),
    /** Of those, the announcements of one controller. */
    takeOf: (code: string): Sent[] => sent.splice(0).filter(({ topic }) => topic === topicOf(code)),
  };
}

export const keysOf = (payload: string): string[] =>
  Object.keys((JSON.parse(payload) as { components: Record<string, unknown> }).components);
