import { signedIn } from "./access.js";
import type { BrokerUnderTest } from "./brokers.js";
import { houseOf } from "./house.js";
import { given, installation } from "./installation.js";
import { type Configuration, configurationFor, type Stage } from "./stage.js";
import type { Spoken } from "./spoken.js";
import { ask, type Watch } from "./watch.js";

/* A bridge with greenhouses to command, at one of the brokers it is meant for. */

const patientMs = 120_000;

/** How long faults hold something back that a test has to come in between, on a machine with much else to do. */
export const held = { slow: "25s", late: "14s" };

const quick = { settle: "100ms", confirm_within: "3s" };
const moving = { ...quick, travel_time: "200ms" };

/** What every greenhouse of a rig has, by address of the simulated `C001`; 999 is no address of it. */
const actuators = {
  roof: { kind: "skylight", address: "101", ...moving },
  locked: { kind: "skylight", address: "103", read_only: true },
  louvre: { kind: "positioner", address: "108", position_address: "109", ...moving },
  fans: { kind: "fan_wet_curtain", address: "140", ...quick },
  fan: { kind: "circulation_fan", address: "150", ...quick },
  valve: { kind: "irrigation", address: "210", ...quick },
  light: { kind: "light", address: "220", ...quick },
  motor: { kind: "motor", address: "300", values: { open: "00000001", close: "00000010" }, ...moving },
  co2: { kind: "co2_supply", address: "310", ...quick },
  heater: { kind: "heating_blower", address: "320", ...quick, min_interval: "10m" },
  special: {
    kind: "custom",
    address: "400",
    values: { low: "0110", high: "1001" },
    // Time for an equal command to come before a read could contradict the first.
    settle: "6s",
    confirm_within: "25s",
  },
  nowhere: { kind: "machine", address: "999", ...quick },
} as const;
/** The positioner with a position of its own has two. */
const addresses = Object.keys(actuators).length + 1;

/**
 * For dialects, of which many share the machine: more time, and some read with everything of their type, because a dialect
 * has its own way of writing that too.
 */
const types = { roof: 2, locked: 4, fans: 10, fan: 11, valve: 190, light: 12 } as const;
const typedActuators = Object.fromEntries(
  Object.entries<Configuration>(actuators).map(([id, settings]) => {
    const type = Object.entries(types).find(([typed]) => typed === id)?.[1];
    const isQuick = settings["confirm_within"] === quick.confirm_within;
    return [
      id,
      { ...settings, ...(isQuick && { confirm_within: "8s" }), ...(type !== undefined && { type_id: type }) },
    ];
  }),
);

export type CommandRig = Awaited<ReturnType<typeof createCommandRig>>;

/** Every second and then every eighth controller of the simulated account is no greenhouse. */
const greenhouses = (controllers: number): readonly string[] =>
  Array.from({ length: controllers }, (_, index) => index + 1)
    .filter((number) => number % 8 !== 2)
    .map((number) => `GH-${String(number).padStart(4, "0")}`);

/** Nothing but commands may use up a fault, so polling rests once everything was read at the start. */
const resting = {
  controllers: "1h",
  sensors: "1h",
  running_status: "1h",
  actuators: "1h",
  stale_after: "3h",
};

export function commandConfiguration(
  platformUrl: string,
  section: Configuration,
  codes: readonly string[],
  more: Configuration = {},
  own: Configuration = actuators,
): Configuration {
  const configuration = configurationFor(platformUrl, section, {
    polling: resting,
    mirror: "listed",
    homeassistant: { enabled: false },
    controllers: Object.fromEntries(codes.map((code) => [code, { actuators: own }])),
    ...more,
    commands: { min_interval: "0s", max_age: "5m", ...(more["commands"] as Configuration | undefined) },
  });
  // A request that a test holds back stays open for as long as it likes.
  const platform = { ...(configuration["platform"] as Configuration), timeouts: { control: "5m" } };
  return { ...configuration, platform };
}

interface CommandRigOptions {
  readonly houses?: number;
  /** Of the platform, which then wants a sign-in; without it is the plainest one. */
  readonly dialect?: Spoken;
}

/** Fast enough that a window that reads how far it is arrives within `confirm_within`. */
const dialectSpeed = 60;

export async function createCommandRig(
  stage: Stage,
  broker: BrokerUnderTest,
  { houses = 20, dialect }: CommandRigOptions = {},
) {
  const controllers = Math.ceil((houses * 8) / 7) + 1;
  const platform = await stage.platform({
    controllers,
    ...(dialect && { profile: dialect.profile, speed: dialectSpeed }),
  });
  // By default it drops what a subscriber has not taken of a burst; these tests want to see every message.
  const there = await installation(stage, broker, { extra: ["max_queued_messages 0"] });
  const codes = greenhouses(controllers).slice(0, houses);
  const free = [...codes];

  /** Starts the bridge (again), with these configuration sections on top; resolves when it takes commands. */
  const start = async (more: Configuration = {}) => {
    const read = (await platform.requests())["get-value"] ?? 0;
    const own = dialect ? typedActuators : actuators;
    const configuration = commandConfiguration(platform.url, there.section, codes, more, own);
    await there.start(dialect ? await signedIn(configuration, platform, dialect) : configuration);
    // Retained states of an earlier run look as good as new ones; the platform knows what was read since.
    const single = addresses - (dialect ? Object.keys(types).length : 0);
    await platform.untilTotal("get-value", read + codes.length * single, patientMs);
    await firstRead(there.watch, codes);
  };
  await start();
  const { watch } = there;
  return {
    ...{ stage, platform, watch, broker, start },
    /** What is commanded, for the judge. */
    configuration: commandConfiguration(
      platform.url,
      there.section,
      codes,
      {},
      dialect ? typedActuators : actuators,
    ),
    get bridge() {
      return there.bridge;
    },
    /** The next greenhouse nobody has commanded yet. */
    house: () => houseOf(given(free.shift()), { platform, watch }),
    /** The data of a request's answer; rejects with its error. */
    request: async (name: string, fields = {}): Promise<unknown> => {
      const { status, data, error } = await ask(watch, name, fields);
      if (status !== "ok") throw new Error(String(error));
      return data;
    },
  };
}

/** Every actuator was read once: from then on only commands ask the platform. */
async function firstRead(watch: Watch, codes: readonly string[]): Promise<void> {
  const topics = codes.flatMap((code) =>
    Object.keys(actuators)
      .filter((id) => id !== "nowhere")
      .map((id) => `greenhouse/${code.toLowerCase()}/actuator/${id}/json`),
  );
  const isGood = (topic: string) => watch.latest(topic)?.includes('"quality":"good"') === true;
  await watch.untilTrue(() => topics.every(isGood), "every actuator was read", patientMs);
}
