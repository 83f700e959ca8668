import { signedIn } from "./access.js";
import type { BrokerUnderTest } from "./brokers.js";
import { installation } from "./installation.js";
import { plainlySpoken, type Spoken } from "./spoken.js";
import { configurationFor, type Stage } from "./stage.js";
import { ask, fields, until } from "./watch.js";

/* A bridge that mirrors a small account and polls it every second, for the rules of the reading half. */

export type MirrorScene = Awaited<ReturnType<typeof createMirrorScene>>;

export const discovery = /^homeassistant\/device\/[^/]+\/config$/;
export const qualities = (controller: string): RegExp =>
  new RegExp(`^greenhouse/${controller}/sensor/[^/]+/quality$`);

/** One is read alone, the other with everything of its type. */
const actuators = {
  left_skylight: { kind: "skylight", address: "101" },
  right_skylight: { kind: "skylight", address: "103", type_id: 4 },
};

/** With a dialect it signs in and is told what the dialect needs; without it is the plainest platform and a token. */
export async function createMirrorScene(stage: Stage, broker: BrokerUnderTest, dialect?: Spoken) {
  const spoken = dialect ?? plainlySpoken;
  const platform = await stage.platform({
    profile: spoken.profile,
    // With many scenes at once, readings have to be renewed well before they grow old.
    ...(dialect && { speed: 30 }),
  });
  const there = await installation(stage, broker);
  const controllers = { "GH-0001": { actuators } };
  const plain = configurationFor(platform.url, there.section, { controllers });
  await there.start(dialect ? await signedIn(plain, platform, dialect) : plain);
  const { watch, bridge } = there;
  const firstAnswer = ask(watch, "health");
  firstAnswer.catch(() => undefined);
  /** `greenhouse/<controller>/sensor/<id>` of the sensor with this factor code. */
  const sensor = (controller: string, factor: string) =>
    `greenhouse/${controller}/sensor/${spoken.sensorId(factor)}`;
  const hasReading = (qualityTopic: string) => {
    if (spoken.dialect.gaps === "none") return true;
    const { raw } = fields(watch.latest(qualityTopic.replace(/quality$/, "json")));
    return raw !== null && raw !== "--";
  };
  for (const controller of ["gh-0001", "gh-0005"])
    await until(watch, `${sensor(controller, "airtemp")}/quality`, "good", 60_000);
  return {
    ...{ stage, platform, bridge, watch, spoken, sensor },
    /** What "within 5 s" is here: where many scenes share the machine, seconds are not counted so closely. */
    promptMs: dialect ? 30_000 : 5_000,
    /** The answer to a request sent the moment the bridge said that it is online. */
    firstAnswer,
    /** Tells the platform that a sensor (by its factor code) shows a value from now on, written in its dialect. */
    setSensor: (controller: string, factor: string, value: number, unit: string) =>
      platform.tell("set_sensor", { controller, sensor: factor, value: spoken.reading(value, unit) }),
    request: (name: string, payload: string) => ask(watch, name, payload),
    /** Whether every sensor of a controller that has a reading at all is of this quality now. */
    allAre: (controller: string, quality: string) => () => {
      const shown = [...watch.current(qualities(controller))].filter(([topic]) => hasReading(topic));
      return shown.length > 0 && shown.every(([, one]) => one === quality);
    },
    /** The discovery message of a controller, by its code. */
    documentOf: (code: string) =>
      [...watch.current(discovery).values()].find((text) =>
        text.includes(`"identifiers":["greenhouse2mqtt_${code}"]`),
      ),
    /** Resolves when every list, reading and register was polled this many times more. */
    polled: async (times: number) => {
      await platform.untilAsked("control/mqtt", times);
      await platform.untilAsked("sensor-data", times * 6);
    },
  };
}
