import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Program, whileRuns } from "../../end-to-end/support/program.js";
import type { SimulatedPlatform } from "../../end-to-end/support/platform.js";
import {
  type Configuration,
  createStage,
  mosquittoSection,
  type Stage,
} from "../../end-to-end/support/stage.js";
import { fields, until, untilNew, type Watch } from "../../end-to-end/support/watch.js";
import { freePort, type Mosquitto, type MosquittoOptions } from "../../support/mosquitto.js";
import { type Account, type Client, connect, setUp } from "./client.js";
import { configurationFolder, type HomeAssistantProcess, type Installation, processOf } from "./process.js";
import { troubleIn } from "./trouble.js";

/* Home Assistant, Mosquitto, the built bridge and the simulated platform: four processes, each of which can be restarted. */

/** One actuator of each kind of view; quick, so that an outcome is there within seconds. */
const quick = { settle: "100ms", confirm_within: "4s" };
const moving = { ...quick, travel_time: "1s" };

export const actuators: Readonly<Record<string, Configuration>> = {
  left_skylight: { kind: "skylight", address: "101", name: "Left skylight", ...moving },
  right_skylight: {
    ...{ kind: "skylight", address: "103", name: "Right skylight", ...moving },
    limits: { guards: { wind: { sensor: "weather/wind", above: 12, allow: ["close", "stop", "0..10"] } } },
  },
  inner_shade: { kind: "shade_curtain", address: "102", ...moving },
  outer_shade: { kind: "shade_curtain", address: "106", homeassistant: { inverted: true }, ...moving },
  mist_cooling: { kind: "mist_cooling", address: "330", reads: { auto: ["1110"] }, ...quick },
  side_vent: { kind: "side_vent", address: "104", stop: { address: "300", value: "00000100" }, ...moving },
  louvre: { kind: "positioner", address: "108", position_address: "109", ...moving },
  roof_fans: { kind: "fan_wet_curtain", address: "140", ...quick },
  circulation_fan: { kind: "circulation_fan", address: "150", ...quick },
  valve_1: { kind: "irrigation", address: "210", name: "Bed 1", ...quick },
  valve_2: { kind: "irrigation", address: "211", ...quick },
  grow_light: { kind: "light", address: "220", ...quick },
  co2_supply: { kind: "co2_supply", address: "310", ...quick },
  heating: { kind: "heating_blower", address: "320", ...quick },
  special: { kind: "custom", address: "400", values: { stop: "0110", high: "1001" }, ...quick },
  thermal_curtain: { kind: "thermal_curtain", address: "107", read_only: true, ...moving },
};

/** The simulated greenhouse has no vane: another reading stands for it, which is no direction at noon if not scaled. */
export const sensors: Configuration = {
  winddir: { from: "par", kind: "wind_direction", unit: "°", scale: 0.1 },
};

export const parameters: Configuration = {
  ec_target: {
    address: "501",
    name: "EC target",
    unit: "mS/cm",
    scale: 0.01,
    decimals: 2,
    writable: { min: 0, max: 5, step: 0.1 },
  },
  band: { address: "503" },
};

export interface WorldOptions {
  readonly mosquitto?: MosquittoOptions;
  readonly controllers?: number;
  /** Whether states are kept; true without. */
  readonly watchesStates?: boolean;
  /** The bridge's section for a broker; MQTT 5 without. */
  readonly broker?: (url: string) => Configuration;
  /** Sections of the bridge's configuration. */
  readonly configuration?: Configuration;
}

export interface World {
  readonly stage: Stage;
  readonly broker: Mosquitto;
  readonly watch: Watch;
  readonly process: HomeAssistantProcess;
  /** Home Assistant's own folder. */
  readonly folder: string;
  /** Whether this release keeps an entity that is disabled when it is withdrawn; those before 2026.4 do. */
  readonly keepsDisabled: boolean;
  readonly account: Account;
  /** The newest connection to Home Assistant. */
  readonly ha: Client;
  readonly platform: SimulatedPlatform;
  readonly bridge: Program;
  /** Starts the bridge (again), with these sections in place of the usual ones; resolves when it is online. */
  startBridge(more?: Configuration): Promise<void>;
  /** Starts it without waiting: there may be no broker. */
  launchBridge(): Promise<void>;
  /** Waits until Home Assistant had time for what was announced and withdrawn last. */
  settled(): Promise<void>;
  endBridge(signal?: NodeJS.Signals): Promise<void>;
  startPlatform(): Promise<void>;
  endPlatform(): Promise<void>;
  startHomeAssistant(): Promise<void>;
  endHomeAssistant(): Promise<void>;
  /** What the bridge announces now: entities by `<platform>/<unique id>`. */
  announced(): ReadonlyMap<string, Configuration>;
  /** Waits until Home Assistant has every announced entity and no other; resolves with how many. */
  untilComplete(timeoutMs?: number): Promise<number>;
  /** Entities that show a state other than `unavailable`. */
  available(): readonly string[];
  /** Home Assistant's log lines about MQTT at warning or above. */
  trouble(): readonly string[];
  clear(): Promise<void>;
}

const patientMs = 90_000;
export const house = "GH-0001";

export const usualConfiguration: Configuration = {
  polling: { controllers: "1s", sensors: "1s", running_status: "2s", actuators: "1s", stale_after: "10s" },
  commands: { min_interval: "0s" },
  homeassistant: { language: "en" },
  weather: { wind: { topic: "weather/wind", field: "speed", stale_after: "1h" } },
  controllers: { [house]: { sensors, actuators, parameters } },
  http: false,
  data_dir: "./data",
};

export async function createWorld(installation: Installation, options: WorldOptions = {}): Promise<World> {
  const stage = await createStage();
  const broker = await stage.mosquitto({ extra: ["max_queued_messages 0"], ...options.mosquitto });
  const folder = join(stage.folder, "homeassistant");
  await mkdir(folder);
  const port = await freePort();
  await configurationFolder(folder, installation, port);
  const process = processOf(installation, folder, port);
  const platformPort = await freePort();
  const url = `http://127.0.0.1:${platformPort}`;
  const now: {
    ha?: Client;
    platform?: SimulatedPlatform;
    bridge?: Program;
    account?: Account;
    watch?: Watch;
  } = {};
  const configuration = (more: Configuration) => ({
    platform: { business_url: url, realtime_url: url, token: "simulator", requests_per_minute: 0 },
    ...(options.broker ?? mosquittoSection)(broker.url),
    ...usualConfiguration,
    ...options.configuration,
    ...more,
  });
  const startHomeAssistant = async () => {
    await process.start();
    now.account ??= await setUp(`http://127.0.0.1:${port}`, broker.port);
    now.ha = await connect(now.account, options.watchesStates);
    await running(now.ha);
  };
  const startPlatform = async () => {
    now.platform = await stage.platform({ port: platformPort, controllers: options.controllers ?? 3 });
  };
  const startBridge = async (more: Configuration = {}) => {
    const mark = given(now.watch).mark();
    now.bridge = await stage.bridge(configuration(more));
    const online = untilNew(given(now.watch), mark, "greenhouse/bridge/state", "online", patientMs);
    await whileRuns(now.bridge, online);
  };
  const launchBridge = async () => {
    now.bridge = await stage.bridge(configuration({}));
  };
  const announced = () => announcedBy(given(now.watch));
  const world: World = {
    stage,
    broker,
    process,
    folder,
    keepsDisabled: installation.which === "floor",
    get watch() {
      return given(now.watch);
    },
    get account() {
      return given(now.account);
    },
    get ha() {
      return given(now.ha);
    },
    get platform() {
      return given(now.platform);
    },
    get bridge() {
      return given(now.bridge);
    },
    startBridge,
    launchBridge,
    settled: () => quiet(given(now.watch)),
    endBridge: (signal = "SIGTERM") => ended(given(now.bridge), signal),
    startPlatform,
    endPlatform: () => ended(given(now.platform).program, "SIGKILL"),
    startHomeAssistant,
    endHomeAssistant: async () => {
      now.ha?.close();
      await process.stop();
    },
    announced,
    untilComplete: (timeoutMs = patientMs) => untilComplete(world, timeoutMs),
    available: () =>
      given(now.ha)
        .states()
        .filter(({ state }) => state !== "unavailable")
        .map(({ entity_id: id }) => id),
    trouble: () => troubleIn(process.log()),
    clear: async () => {
      now.ha?.close();
      await process.stop();
      await stage.clear();
    },
  };
  now.watch = await stage.watch({ url: broker.url, protocolVersion: 5 });
  await Promise.all([startPlatform(), startHomeAssistant()]);
  await startBridge();
  await until(
    given(now.watch),
    `greenhouse/gh-0001/actuator/louvre/json`,
    (json) => fields(json)["quality"] === "good",
    patientMs,
  );
  return world;
}

/** It answers long before all of it is loaded. */
async function running(ha: Client): Promise<void> {
  for (;;) {
    const { state } = (await ha.call("get_config")) as { readonly state: string };
    if (state === "RUNNING") return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

const quietMs = 8_000;

/** Until nothing was announced for a while: a withdrawal is announced in two messages, seconds apart. */
async function quiet(watch: Watch): Promise<void> {
  for (;;) {
    const newest = watch.seen.findLast(({ topic }) => /^homeassistant\/device\//.test(topic))?.atMs ?? 0;
    const left = newest + quietMs - performance.now();
    if (left <= 0) return;
    await new Promise((resolve) => setTimeout(resolve, left));
  }
}

async function ended(program: Program, signal: NodeJS.Signals): Promise<void> {
  program.signal(signal);
  await program.ended;
}

function announcedBy(watch: Watch): ReadonlyMap<string, Configuration> {
  const found = new Map<string, Configuration>();
  for (const text of watch.current(/^homeassistant\/device\/[^/]+\/config$/).values()) {
    const { components } = fields(text) as { readonly components: Readonly<Record<string, Configuration>> };
    for (const component of Object.values(components))
      // What is announced only to be removed next is not wanted there.
      if ("unique_id" in component && !JSON.stringify(component).includes("/bridge/withdrawn"))
        found.set(`${String(component["platform"])}/${String(component["unique_id"])}`, component);
  }
  return found;
}

/** Entities of ours that Home Assistant keeps, by `<platform>/<unique id>`, without those that it keeps whatever we do. */
export async function registered(world: World): Promise<ReadonlyMap<string, string>> {
  const announced = world.announced();
  const ours = (await world.ha.registry()).flatMap((one) => {
    const { platform, entity_id: id, unique_id: unique, disabled_by: disabled } = one;
    const key = `${id.split(".")[0] ?? ""}/${unique}`;
    const isStuck = world.keepsDisabled && disabled !== null && !announced.has(key);
    return platform === "mqtt" && !isStuck ? [[key, id] as const] : [];
  });
  return new Map(ours);
}

async function untilComplete(world: World, timeoutMs: number): Promise<number> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const wanted = world.announced();
    const there = await registered(world);
    const missing = [...wanted.keys()].filter((key) => !there.has(key));
    const orphans = [...there.keys()].filter((key) => !wanted.has(key));
    const readings = [...wanted.keys()].some((key) =>
      /^sensor\/greenhouse2mqtt_GH-0001_(?:name|factor|channel):/.test(key),
    );
    if (missing.length === 0 && orphans.length === 0 && readings) return wanted.size;
    if (performance.now() > end)
      throw new Error(
        `of ${wanted.size} entities Home Assistant lacks ${missing.join(" ")} and keeps ${orphans.join(" ")}`,
      );
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function given<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw new Error("not there yet");
  return thing;
}
