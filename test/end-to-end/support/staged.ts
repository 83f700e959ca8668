import { afterAll, beforeAll, expect, it as plain } from "vitest";
import type { MosquittoOptions } from "../../support/mosquitto.js";
import { given } from "./installation.js";
import { configurationFor, createStage, mosquittoSection, type Stage } from "./stage.js";
import { until } from "./watch.js";

/** A test with a stage of its own, at whose end no output and no topic may have shown a planted secret. */
export const it = plain.extend<{ readonly stage: Stage }>({
  // vitest reads the names a fixture needs from this pattern.
  stage: async ({}, use) => {
    const stage = await createStage();
    await use(stage);
    const leaks = await stage.leaks();
    await stage.clear();
    expect(leaks, "planted secrets in outputs and topics").toEqual([]);
  },
});

/** What all tests of a suite share, on one stage. */
export function staged<Thing>(make: (stage: Stage) => Promise<Thing>): () => Thing {
  const made: { stage?: Stage; thing?: Thing } = {};
  beforeAll(async () => {
    made.stage = await createStage();
    made.thing = await make(made.stage);
  }, 150_000);
  afterAll(() => made.stage?.clear());
  return () => given(made.thing);
}

export const airtemp = "greenhouse/gh-0001/sensor/airtemp";

/** A Mosquitto with a watch at it, and a bridge for a platform that need not be there yet. */
export async function atMosquitto(stage: Stage, platformUrl: string, options: MosquittoOptions = {}) {
  const broker = await stage.mosquitto(options);
  const look = () => stage.watch({ url: broker.url, protocolVersion: 5 });
  const watch = await look();
  const configuration = configurationFor(platformUrl, mosquittoSection(broker.url));
  const run = (more: object = {}) => stage.bridge({ ...configuration, ...more });
  return { broker, watch, look, configuration, run };
}

/** The same with a platform and a bridge that has read it. */
export async function running(stage: Stage, more: object = {}, options: MosquittoOptions = {}) {
  const platform = await stage.platform();
  const around = await atMosquitto(stage, platform.url, options);
  const bridge = await around.run(more);
  await until(around.watch, "greenhouse/bridge/state", "online");
  await until(around.watch, `${airtemp}/quality`, "good");
  return { ...around, platform, bridge };
}
