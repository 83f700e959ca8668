import { commandConfiguration } from "./command-rig.js";
import { brokers } from "./brokers.js";
import { type House, houseOf, type Result } from "./house.js";
import { installation } from "./installation.js";
import { journalOf, untilJournaled } from "./journal.js";
import type { SimulatedPlatform } from "./platform.js";
import type { Stage } from "./stage.js";
import { brokenRules } from "./recording.js";
import { type Stretch, until } from "./watch.js";

/* A bridge that is killed again and again, each time at a chosen step of one command, and started on the same files. */

interface Sought {
  readonly id: string;
  readonly actuator: Actuator;
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
  /** Values POSTed since the kill, although nothing was asked of the bridge. */
  readonly postsAfter: readonly string[];
  /** Its results, as published, in order. */
  readonly results: readonly Result[];
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

/** A command on its way to a step. */
interface Way {
  readonly sought: Sought;
  readonly run: number;
  readonly house: House;
  readonly stage: Stage;
  readonly platform: SimulatedPlatform;
  /** What the platform had got before it was sent: POSTs to its address, and reads. */
  readonly postsBefore: number;
  readonly readsBefore: number;
}

/** What holds a command at a step: actuators by turns, what is done before it is sent, and what says that it is there. */
interface Hold {
  readonly of: readonly Actuator[];
  readonly before?: (way: Way) => Promise<unknown>;
  readonly there: (way: Way) => Promise<unknown>;
}

export const steps = [
  ...(["waiting", "checking", "journaled", "sending", "answered", "settling", "confirming"] as const),
  "any moment",
] as const;
export type Step = (typeof steps)[number];

/** Longer than any run: the request stays open until the process is gone. */
const slow = (operation: string, more: object = {}) => ({ fault: "slow", delay: "10m", operation, ...more });
const written = (type: string) => (way: Way) =>
  untilJournaled(way.stage, (one) => one["type"] === type && one["id"] === way.sought.id);
const inPhase =
  (phase: string) =>
  ({ house, sought }: Way) =>
    house.untilPhase(sought.actuator, sought.id, phase);
const turnOf = (run: number) => Math.floor(run / steps.length);
const readsOf = async (platform: SimulatedPlatform) => (await platform.requests())["get-value"] ?? 0;

const holds: Readonly<Record<Step, Hold>> = {
  waiting: {
    of: ["heater"],
    before: async ({ house, sought, run }) => {
      // The value it does not show then is the one that it shows now.
      const other = sought.command === "on" ? "off" : "on";
      await house.command("heater", { command: other, id: `before ${run}`, force: true });
    },
    there: inPhase("waiting"),
  },
  checking: {
    of: ["fan", "roof"],
    before: ({ house }) => house.fault(slow("mqtt-client-status")),
    there: inPhase("checking"),
  },
  journaled: {
    of: ["co2", "roof"],
    before: ({ house, sought: { address } }) => house.fault(slow("get-value", { address })),
    there: written("command_taken"),
  },
  sending: {
    of: ["mist", "roof"],
    // Carried out and never answered, or never carried out.
    before: ({ house, run }) =>
      house.fault(turnOf(run) % 4 < 2 ? slow("set-value") : { fault: "timeout", operation: "set-value" }),
    there: ({ house, sought: { address }, postsBefore }) => house.untilPosted(address, postsBefore + 1),
  },
  answered: { of: ["fan", "roof"], there: written("step_answered") },
  settling: {
    of: ["valve"],
    before: async ({ house, run, sought: { address } }) => {
      if (turnOf(run) % 2 === 1) await house.fault({ fault: "ignore", address });
    },
    there: inPhase("confirming"),
  },
  confirming: {
    of: ["co2"],
    before: ({ house, run, sought: { address } }) =>
      house.fault(
        turnOf(run) % 2 === 1 ? { fault: "late", address, delay: "1200ms" } : { fault: "ignore", address },
      ),
    // Its fresh read, and the first read-back.
    there: ({ platform, readsBefore }) => platform.untilTotal("get-value", readsBefore + 2),
  },
  "any moment": {
    of: ["mist", "roof"],
    // The kill is what is late here, not what the test waits for.
    there: ({ run }) => new Promise((resolve) => setTimeout(resolve, (run * 37) % 300)),
  },
};

export async function killRig(stage: Stage) {
  const platform = await stage.platform({ controllers: 1 });
  const there = await installation(stage, brokers[0]);
  const configuration = commandConfiguration(platform.url, there.section, [code], {}, actuators);
  /** Online, and polling has read every address: it rests from then on. */
  const start = async () => {
    const read = await readsOf(platform);
    await there.start(configuration);
    await platform.untilTotal("get-value", read + Object.keys(actuators).length, 60_000);
  };
  await start();
  const { watch } = there;
  const house = houseOf(code, { platform, watch });
  const gaps: (Stretch & { died: true })[] = [];
  const honest: Stretch[] = [];

  const kill = async (step: Step, run: number): Promise<Kill> => {
    const hold = holds[step];
    const actuator = hold.of[turnOf(run) % hold.of.length] ?? "fan";
    const sought = await soughtOf(house, actuator, run);
    const postsBefore = (await house.posts(sought.address)).length;
    const way = { sought, run, house, stage, platform, postsBefore, readsBefore: 0 };
    await hold.before?.(way);
    const readsBefore = await readsOf(platform);
    await house.send(actuator, { command: sought.command, id: sought.id });
    await hold.there({ ...way, readsBefore });
    await there.bridge.end("SIGKILL");
    const killedAt = Date.now();
    await platform.tell("clear_faults");
    const honestFrom = Date.now();
    // What the kernel still had to deliver when the process died is with the platform after a round trip.
    const before = (await platform.posts()).length;
    const journaled = (await journalOf(stage)).some(
      ({ type, id }) => type === "command_taken" && id === sought.id,
    );
    await until(watch, "greenhouse/bridge/state", "offline", 20_000);
    await start();
    const onlineAt = Date.now();
    if (journaled) await house.result(actuator, sought.id);
    gaps.push({ from: killedAt, to: onlineAt, died: true });
    honest.push({ from: honestFrom, to: Date.now() });
    return {
      ...{ step, sought, journaled },
      results: house.results(actuator).filter(({ id }) => id === sought.id),
      postsAfter: (await platform.posts()).slice(before).map(({ address, value }) => `${address}=${value}`),
    };
  };
  return {
    kill,
    /** Ends the bridge properly and has all that happened judged. */
    brokenRules: async (): Promise<readonly string[]> => {
      const { code: exitCode } = await there.bridge.end("SIGTERM");
      const broken = await brokenRules({ stage, platform, watch, configuration }, { gaps, honest });
      return exitCode === 0 ? broken : [`SIGTERM ended with ${exitCode ?? "a signal"}`, ...broken];
    },
  };
}

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
