import { type House, houseOf, type Result } from "./house.js";
import { journalOf, untilJournaled } from "./journal.js";
import type { SimulatedPlatform } from "./platform.js";
import { type Program, whileRuns } from "./program.js";
import { type Configuration, configurationFor, createStage, mosquittoSection, type Stage } from "./stage.js";
import { fields, until, type Watch } from "./watch.js";

/* A bridge that is killed again and again, each time at a chosen step of one command, and started on the same files. */

export const steps = [
  "waiting",
  "checking",
  "journaled",
  "sending",
  "answered",
  "settling",
  "confirming",
  "any moment",
] as const;
export type Step = (typeof steps)[number];

interface Sought {
  readonly id: string;
  readonly actuator: string;
  readonly address: string;
  readonly command: string | number;
  readonly value: string;
}

/** One kill, and everything that can be told about its command afterwards. */
export interface Kill {
  readonly step: Step;
  readonly sought: Sought;
  /** The command was in the journal when the process was gone. */
  readonly journaled: boolean;
  /** The outcome had been published before. */
  readonly endedBefore: boolean;
  /** Values POSTed since the kill, although nothing was asked of the bridge. */
  readonly postsAfter: readonly string[];
  /** Its results, as published, in order. */
  readonly results: readonly Result[];
  /** What the register really holds once the outcome is there. */
  readonly register: string;
  /** What became of its POSTs. */
  readonly effects: readonly string[];
}

export interface KillRig {
  kill(step: Step, run: number): Promise<Kill>;
  /** Ends the bridge properly and looks for commands with another number of outcomes than one. */
  faultsOfJournal(): Promise<readonly string[]>;
  clear(): Promise<void>;
}

const code = "GH-0001";
const quick = { settle: "150ms", confirm_within: "1s" };
const patient = { settle: "3s", confirm_within: "3s" };
const machine = { kind: "machine", ...quick };

const actuators = {
  roof: { kind: "skylight", address: "101", ...quick, travel_time: "100ms" },
  fan: { ...machine, address: "150" },
  valve: { kind: "irrigation", address: "210", ...patient },
  co2: { ...machine, address: "310" },
  heater: { ...machine, address: "320", min_interval: "10m" },
  mist: { ...machine, address: "330" },
} as const;
type Actuator = keyof typeof actuators;

/** Longer than any run: the request stays open until the process is gone. */
const held = { delay: "10m" };

interface Running {
  readonly stage: Stage;
  readonly platform: SimulatedPlatform;
  readonly watch: Watch;
  readonly house: House;
  readonly configuration: Configuration;
  bridge: Program;
}

export async function killRig(): Promise<KillRig> {
  const stage = await createStage();
  const platform = await stage.platform({ controllers: 1 });
  const broker = await stage.mosquitto();
  const watch = await stage.watch({ url: broker.url, protocolVersion: 5 });
  const resting = {
    controllers: "1h",
    sensors: "1h",
    running_status: "1h",
    actuators: "1h",
    stale_after: "3h",
  };
  const configuration = configurationFor(platform.url, mosquittoSection(broker.url), {
    polling: resting,
    mirror: "listed",
    homeassistant: { enabled: false },
    commands: { min_interval: "0s", max_age: "5m" },
    controllers: { [code]: { actuators } },
  });
  const read = await readsOf(platform);
  const running: Running = {
    ...{ stage, platform, watch, configuration, house: houseOf(code, { platform, watch }) },
    bridge: await stage.bridge(configuration),
  };
  try {
    await ready(running, read);
  } catch (error) {
    await stage.clear();
    throw error;
  }
  return {
    kill: (step, run) => killed(running, step, run),
    faultsOfJournal: () => faultsOfJournal(running),
    clear: () => stage.clear(),
  };
}

const readsOf = async (platform: SimulatedPlatform) => (await platform.requests())["get-value"] ?? 0;

/** Online, and polling has read every address: it rests from then on. */
async function ready({ watch, platform, bridge }: Running, readBefore: number): Promise<void> {
  await whileRuns(bridge, until(watch, "greenhouse/bridge/state", "online", 60_000));
  await platform.untilTotal("get-value", readBefore + Object.keys(actuators).length, 60_000);
}

async function killed(running: Running, step: Step, run: number): Promise<Kill> {
  const { platform, house, stage, watch } = running;
  const posted = new Set((await house.posts()).map(({ requestId }) => requestId));
  const sought = await brought(running, step, run);
  const resultsOf = () => house.results(sought.actuator).filter(({ id }) => id === sought.id);
  running.bridge.signal("SIGKILL");
  await running.bridge.ended;
  const endedBefore = resultsOf().length > 0;
  await platform.tell("clear_faults");
  // What the kernel still had to deliver when the process died is with the platform after a round trip.
  const before = (await platform.posts()).length;
  const journaled = (await journalOf(stage)).some(
    ({ type, id }) => type === "command_taken" && id === sought.id,
  );
  await until(watch, "greenhouse/bridge/state", "offline", 20_000);
  const read = await readsOf(platform);
  running.bridge = await stage.bridge(running.configuration);
  await ready(running, read);
  if (journaled) await house.result(sought.actuator, sought.id);
  return {
    ...{ step, sought, journaled, endedBefore },
    results: resultsOf(),
    register: await house.register(sought.address),
    effects: (await house.posts(sought.address))
      .filter(
        ({ requestId, value }) => !posted.has(requestId) && (value === "10100" || value === sought.value),
      )
      .map(({ value, effect }) => `${value} ${effect}`),
    postsAfter: (await platform.posts()).slice(before).map(({ address, value }) => `${address}=${value}`),
  };
}

/** Sends a command and lets it come to a step; resolves when it is there. */
async function brought(running: Running, step: Step, run: number): Promise<Sought> {
  const { house, stage } = running;
  const odd = Math.floor(run / steps.length) % 2 === 1;
  const written = (type: string, id: string) =>
    untilJournaled(stage, (one) => one["type"] === type && one["id"] === id);
  switch (step) {
    case "waiting": {
      const first = await soughtOf(house, "heater", run);
      await house.command("heater", { command: first.command, id: `before ${run}` });
      const sought = await soughtOf(house, "heater", run);
      await send(house, sought);
      await house.untilPhase("heater", sought.id, "waiting");
      return sought;
    }
    case "checking": {
      const sought = await soughtOf(house, odd ? "roof" : "fan", run);
      await house.fault({ fault: "slow", operation: "mqtt-client-status", ...held });
      await send(house, sought);
      await house.untilPhase(sought.actuator, sought.id, "checking");
      return sought;
    }
    case "journaled": {
      const sought = await soughtOf(house, odd ? "roof" : "co2", run);
      await house.fault({ fault: "slow", operation: "get-value", address: sought.address, ...held });
      await send(house, sought);
      await written("command_taken", sought.id);
      return sought;
    }
    case "sending": {
      const sought = await soughtOf(house, odd ? "roof" : "mist", run);
      // Carried out and never answered, or never carried out.
      const fault = Math.floor(run / steps.length) % 4 < 2 ? "slow" : "timeout";
      const posted = (await house.posts(sought.address)).length;
      await house.fault({ fault, operation: "set-value", ...(fault === "slow" ? held : {}) });
      await send(house, sought);
      await house.untilPosted(sought.address, posted + 1);
      return sought;
    }
    case "answered": {
      const sought = await soughtOf(house, odd ? "roof" : "fan", run);
      await send(house, sought);
      await written("step_answered", sought.id);
      return sought;
    }
    case "settling": {
      const sought = await soughtOf(house, "valve", run);
      if (odd) await house.fault({ fault: "ignore", address: sought.address });
      await send(house, sought);
      await house.untilPhase("valve", sought.id, "confirming");
      return sought;
    }
    case "confirming": {
      const sought = await soughtOf(house, "co2", run);
      await house.fault(
        odd
          ? { fault: "late", address: sought.address, delay: "1200ms" }
          : { fault: "ignore", address: sought.address },
      );
      const read = await readsOf(running.platform);
      await send(house, sought);
      // Its fresh read, and the first read-back.
      await running.platform.untilTotal("get-value", read + 2, 30_000);
      return sought;
    }
    case "any moment": {
      const sought = await soughtOf(house, odd ? "roof" : "mist", run);
      await send(house, sought);
      // The kill is what is late here, not what the test waits for.
      await new Promise((resolve) => setTimeout(resolve, (run * 37) % 300));
      return sought;
    }
  }
}

const send = (house: House, { actuator, command, id }: Sought) => house.send(actuator, { command, id });

let commands = 0;

/** A command for something the register does not show yet. */
async function soughtOf(house: House, actuator: Actuator, run: number): Promise<Sought> {
  const { address } = actuators[actuator];
  const register = await house.register(address);
  const id = `${actuator} of run ${run} (${++commands})`;
  if (actuator === "roof") {
    const degree = (run * 7) % 100;
    const command = String(degree) === register ? degree + 1 : degree;
    return { id, actuator, address, command, value: String(command) };
  }
  const isOn = register === "1010";
  return { id, actuator, address, command: isOn ? "off" : "on", value: isOn ? "1001" : "1010" };
}

async function faultsOfJournal({ bridge, stage, watch }: Running): Promise<readonly string[]> {
  bridge.signal("SIGTERM");
  const { code: exitCode } = await bridge.ended;
  const records = await journalOf(stage);
  const idOf = (record: Result) => String(fields(JSON.stringify(record["result"]))["id"]);
  const results = records.filter(({ type }) => type === "result").map(idOf);
  const taken = records.filter(({ type }) => type === "command_taken").map(({ id }) => String(id));
  const counts = new Map<string, number>(taken.map((id) => [id, 0]));
  for (const id of results) counts.set(id, (counts.get(id) ?? 0) + 1);
  const published = watch.seen
    .filter(({ topic }) => topic === `greenhouse/${code.toLowerCase()}/result`)
    .map(({ payload }) => fields(payload));
  const outcomes = new Map<string, Set<string>>();
  for (const { id, outcome, reason, finished_at } of published) {
    const told = outcomes.get(String(id)) ?? new Set();
    outcomes.set(String(id), told.add(`${String(outcome)} ${String(reason)} ${String(finished_at)}`));
  }
  return [
    ...(exitCode === 0 ? [] : [`SIGTERM ended with ${exitCode ?? "a signal"}`]),
    ...[...counts]
      .filter(([, count]) => count !== 1)
      .map(([id, count]) => `${id}: ${count} outcomes journaled`),
    ...[...outcomes]
      .filter(([, told]) => told.size !== 1)
      .map(([id, told]) => `${id}: ${[...told].join(", ")}`),
  ];
}
