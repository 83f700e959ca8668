import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inEnglish } from "../../src/language/languages.js";
import { scannedTypes } from "../../src/greenhouse/device-types.js";
import { RequestBudget } from "../../src/runtime/schedule.js";
import type { Configuration } from "../../src/config/schema.js";
import { Meter, type Progress } from "../../src/setup/discover/progress.js";
import { scanAccount } from "../../src/setup/discover/scan.js";
import { wholeFileText } from "../../src/setup/discover/whole-file.js";
import { addressChecks } from "../../src/setup/doctor/address-checks.js";
import { defaultLimits, type DoctorContext } from "../../src/setup/doctor/context.js";
import { meaningChecks } from "../../src/setup/doctor/meaning-checks.js";
import { dataChecks, platformChecks } from "../../src/setup/doctor/platform-checks.js";
import { shapeChecks } from "../../src/setup/doctor/shape-checks.js";
import { watchMovement } from "../../src/setup/doctor/watch.js";
import { watchedActuator } from "../../src/setup/doctor/watch-command.js";
import { adviceYaml, conclude } from "../../src/setup/doctor/watch-conclusions.js";
import type { PlatformOptions } from "../../src/simulator/platform.js";
import { file } from "../setup/discover/support/surveys.js";
import { configured, PlayedBridge, PlayedPlatform, type PlayedWorld, type Section } from "./played.js";

/* One greenhouse of the simulated platform with the bridge over it, and what `doctor` and `discover` say of it, on a virtual clock. */

const still = { settle: "1s" };

const actuators: Readonly<Record<string, Section>> = {
  left_skylight: { kind: "skylight", address: "101", type_id: 2, travel_time: "5s", ...still },
  louvre: { kind: "positioner", address: "108", position_address: "109", travel_time: "5s", ...still },
  co2: { kind: "co2_supply", address: "310", ...still },
  vent_motor: {
    ...{ kind: "motor", address: "300", travel_time: "5s", settle: "2s" },
    values: { open: "00000001", close: "00000010" },
  },
  mist: { kind: "mist_cooling", address: "330", ...still },
};

export interface Installed {
  readonly platform: PlayedPlatform;
  readonly bridge: PlayedBridge;
  readonly configuration: Configuration;
  readonly options: PlatformOptions;
  /** Answers in which a name is a key have no room for two of one. */
  readonly hasTwins: boolean;
}

/** What the command line has, whoever answers. */
interface Asking {
  readonly platform: PlayedWorld;
  readonly configuration: Configuration;
}

const isSection = (value: unknown): value is Section =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What both say, key by key. */
function joined(one: Section, other: Section): Section {
  const all: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const known = all[key];
    all[key] = isSection(known) && isSection(value) ? joined(known, value) : value;
  }
  return all;
}

export async function installed(
  options: PlatformOptions,
  code: string,
  ...sections: readonly Section[]
): Promise<Installed> {
  const platform = new PlayedPlatform(options);
  const base: Section = { commands: { min_interval: "0s" }, controllers: { [code]: { actuators } } };
  const configuration = await configured(sections.reduce(joined, base));
  const bridge = await PlayedBridge.started(platform, configuration);
  const { sensorLayout } = platform.state.dialect;
  const hasTwins = !["keyed", "keyed_by_factor", "by_channel"].includes(sensorLayout);
  return { platform, bridge, configuration, options, hasTwins };
}

const checks = [...platformChecks, ...meaningChecks, ...addressChecks, ...shapeChecks, ...dataChecks];

/** Checks that ask for the list themselves, or for nothing. */
const asksFirst = new Set(["token", "last_run"]);

/** A check of `doctor` by itself. */
export async function doctorSays({ platform, configuration }: Asking, id: string): Promise<string> {
  const { signal } = new AbortController();
  const client = platform.client(configuration);
  const context = {
    ...{ configuration, platform: client, limits: defaultLimits, answers: new Map() },
    ports: { clock: platform.clock, random: () => 0.5, log: platform.logger },
    evidence: {
      controllers: asksFirst.has(id) ? [] : await platform.during(client.controllers(signal)),
      devices: [],
      swapped: Promise.resolve(false),
    },
  } as unknown as DoctorContext;
  const check = checks.find((one) => one.id === id);
  if (check === undefined) throw new Error(`no check ${id}`);
  // What reads real files takes real time.
  const verdict = check.run(context, signal);
  const { status, summary, remedy = "" } = await (id === "last_run" ? verdict : platform.during(verdict));
  return `${status}: ${String(summary)}; ${String(remedy)}`;
}

/** What `doctor` says of the journal that the bridge has left behind. */
export async function journalSays(house: Installed): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "readings-"));
  try {
    await house.bridge.end();
    await mkdir(join(directory, "journal"));
    await house.bridge.copyJournal(join(directory, "journal"));
    const configuration = { ...house.configuration, data_dir: directory };
    return await doctorSays({ ...house, configuration }, "last_run");
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** What `doctor --watch` finds while a command moves an actuator, and the lines that it advises. */
export async function watchSays(
  { platform, bridge, configuration }: Installed,
  target: string,
  word: string,
): Promise<string> {
  const stop = new AbortController();
  const actuator = watchedActuator(configuration, target);
  const client = platform.client(configuration);
  const silent = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  const asked = {
    value: client.value.bind(client),
    values: client.values.bind(client),
    runningStatuses: client.runningStatuses.bind(client),
    listen: (_channel: unknown, _listener: unknown, signal: AbortSignal) => silent(signal),
  };
  const say = (line: unknown) => {
    if (String(line).startsWith("Now send")) bridge.send(actuator.code, actuator.id, { command: word });
  };
  const movement = { actuator, word, patienceMs: 60_000 };
  const watching = watchMovement(asked, movement, { clock: platform.clock, say }, stop.signal);
  const record = await platform.during(watching);
  const conclusion = conclude(record);
  return [...conclusion.findings.map(String), adviceYaml(record, conclusion, [])].join("\n");
}

/** What `discover` writes of the account. */
export async function discovered({ platform, configuration }: Asking): Promise<string> {
  const kept = () => Promise.resolve();
  const scan = scanAccount(
    { controllers: [], types: scannedTypes },
    () => false,
    {
      ...{ clock: platform.clock, budget: new RequestBudget(0), concurrency: 4 },
      platform: platform.client(configuration),
      progress: { lists: null, answer: () => null, list: kept, add: kept } as unknown as Progress,
      meter: new Meter({ write: () => true }, platform.clock, 0, () => undefined, inEnglish),
    },
    new AbortController().signal,
  );
  return wholeFileText({ ...file, survey: await platform.during(scan) });
}
