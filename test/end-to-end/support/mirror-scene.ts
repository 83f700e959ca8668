import { signedIn } from "./access.js";
import type { BrokerUnderTest } from "./brokers.js";
import type { SimulatedPlatform } from "./platform.js";
import { installation } from "./installation.js";
import type { Program } from "./program.js";
import { plainlySpoken, type Spoken } from "./spoken.js";
import { configurationFor, createStage, type Stage } from "./stage.js";
import { ask, fields, until, type Watch } from "./watch.js";

/* A bridge that mirrors a small account and polls it every second, for the rules of the reading half. */

export interface MirrorScene {
  readonly stage: Stage;
  readonly platform: SimulatedPlatform;
  readonly bridge: Program;
  readonly watch: Watch;
  readonly spoken: Spoken;
  /** What "within 5 s" is here: where many scenes share the machine, seconds are not counted so closely. */
  readonly promptMs: number;
  /** The answer to a request sent the moment the bridge said that it is online. */
  readonly firstAnswer: Promise<unknown>;
  /** `greenhouse/<controller>/sensor/<id>` of the sensor with this factor code. */
  readonly sensor: (controller: string, factor: string) => string;
  /** Tells the platform that a sensor (by its factor code) shows a value from now on, written in its dialect. */
  readonly setSensor: (controller: string, factor: string, value: number, unit: string) => Promise<void>;
  /** `greenhouse/bridge/request/<name>` and its answer's fields. */
  readonly request: (name: string, payload: string) => Promise<Readonly<Record<string, unknown>>>;
  /** Whether every sensor of a controller that has a reading at all is of this quality now. */
  readonly allAre: (controller: string, quality: string) => () => boolean;
  /** The discovery message of a controller, by its code. */
  readonly documentOf: (code: string) => string | undefined;
  /** Resolves when every list, reading and register was polled this many times more. */
  readonly polled: (times: number) => Promise<void>;
}

export const discovery = /^homeassistant\/device\/[^/]+\/config$/;
export const qualities = (controller: string): RegExp =>
  new RegExp(`^greenhouse/${controller}/sensor/[^/]+/quality$`);

/** One is read alone, the other with everything of its type. */
const actuators = {
  left_skylight: { kind: "skylight", address: "101" },
  right_skylight: { kind: "skylight", address: "103", type_id: 4 },
};

/** With a dialect it signs in and is told what the dialect needs; without it is the plainest platform and a token. */
export async function createMirrorScene(broker: BrokerUnderTest, dialect?: Spoken): Promise<MirrorScene> {
  const spoken = dialect ?? plainlySpoken;
  const stage = await createStage();
  try {
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
    const promptMs = dialect ? 30_000 : 5_000;
    const view = viewOf(watch, platform, spoken);
    const scene = { stage, platform, bridge, watch, spoken, promptMs, firstAnswer, ...view };
    for (const controller of ["gh-0001", "gh-0005"])
      await until(watch, `${scene.sensor(controller, "airtemp")}/quality`, "good", 60_000);
    return scene;
  } catch (error) {
    await stage.clear();
    throw error;
  }
}

type View = Omit<
  MirrorScene,
  "stage" | "platform" | "bridge" | "watch" | "spoken" | "promptMs" | "firstAnswer"
>;

function viewOf(watch: Watch, platform: SimulatedPlatform, spoken: Spoken): View {
  const sensor: View["sensor"] = (controller, factor) =>
    `greenhouse/${controller}/sensor/${spoken.sensorId(factor)}`;
  const hasReading = (qualityTopic: string) => {
    if (spoken.dialect.sensors.gaps === "none") return true;
    const { raw } = fields(watch.latest(qualityTopic.replace(/quality$/, "json")));
    return raw !== null && raw !== "--";
  };
  return {
    sensor,
    setSensor: (controller, factor, value, unit) =>
      platform.tell("set_sensor", { controller, sensor: factor, value: spoken.reading(value, unit) }),
    request: (name, payload) => ask(watch, name, payload),
    allAre: (controller, quality) => () => {
      const shown = [...watch.current(qualities(controller))].filter(([topic]) => hasReading(topic));
      return shown.length > 0 && shown.every(([, one]) => one === quality);
    },
    documentOf: (code) =>
      [...watch.current(discovery).values()].find((text) =>
        text.includes(`"identifiers":["greenhouse2mqtt_${code}"]`),
      ),
    polled: async (times) => {
      await platform.untilAsked("control/mqtt", times, 30_000);
      await platform.untilAsked("sensor-data", times * 6, 30_000);
    },
  };
}
