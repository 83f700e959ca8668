import { join } from "node:path";
import { loadConfiguration, withTexts } from "../../../../src/config/load.js";
import type { Configuration } from "../../../../src/config/schema.js";
import { systemClock } from "../../../../src/runtime/clock.js";
import { seededRandom } from "../../../../src/simulator/faults.js";
import { silentLog } from "../../../../src/runtime/log.js";
import { diagnose, openContext } from "../../../../src/setup/doctor/doctor.js";
import type { Finding } from "../../../../src/setup/doctor/finding.js";
import {
  type Check,
  defaultLimits,
  type DoctorLimits,
  type DoctorContext,
} from "../../../../src/setup/doctor/context.js";
import type { Simulator, SimulatorOptions } from "../../../../src/simulator/simulator.js";
import { running } from "../../../simulator/running.js";

/** Planted secrets and names: whatever is printed, they must not be in it. */
export const canaries = {
  token: "canary-token-4b1d77",
  password: "canary-password-c09e31",
  account: "canary-account-55aa10",
} as const;

/** A login of the broker's. */
export const users = { bridge: canaries.password };
export const login = { username: "bridge", password: canaries.password };

export type Section = Readonly<Record<string, unknown>>;

/** A simulator whose two hosts have ports of their own, so that they can be mixed up. */
export const platform = (options: SimulatorOptions = {}): Promise<Simulator> =>
  running({ controllers: 3, speed: 10, realtimePort: 0, controlPort: 0, pushIntervalMs: 50, ...options });

/** What a grower with one actuator would have written. */
export const plainConfiguration = (simulator: Simulator, broker: Section, more: Section = {}): Section => ({
  platform: {
    business_url: simulator.businessUrl,
    realtime_url: simulator.realtimeUrl,
    token: canaries.token,
    ...(more["platform"] as Section | undefined),
  },
  mqtt: broker,
  http: false,
  data_dir: "./data",
  controllers: {
    "GH-0001": { actuators: { roof: { kind: "skylight", address: "101", type_id: 2, name: "East roof" } } },
  },
  ...Object.fromEntries(Object.entries(more).filter(([key]) => key !== "platform")),
});

/** The file through the real loader; a mistake in a test's configuration fails the test. */
export async function loaded(section: Section, at: string): Promise<Configuration> {
  const file = join(at, "config.yaml");
  const result = await loadConfiguration(file, {
    readFile: withTexts({ [file]: JSON.stringify(section) }),
    env: {},
  });
  if (!result.ok)
    throw new Error(result.problems.map(({ message, path }) => `${path}: ${String(message)}`).join("\n"));
  return result.configuration;
}

export interface Examined {
  readonly findings: readonly Finding[];
  readonly scene: DoctorContext;
  readonly of: (check: string) => Finding;
}

export const quick: DoctorLimits = { ...defaultLimits, frameMs: 400, checkMs: 60_000 };

export async function examined(
  configuration: Configuration,
  ports: Partial<DoctorContext["ports"]> = {},
  more: readonly Check[] = [],
  limits: DoctorLimits = quick,
): Promise<Examined> {
  const findings: Finding[] = [];
  const usual = { clock: systemClock, random: seededRandom(7), log: silentLog };
  const scene = openContext(configuration, { ...usual, ...ports }, { limits });
  const examination = diagnose(scene, new AbortController().signal, { more });
  for await (const finding of examination) findings.push(finding);
  return {
    findings,
    scene,
    of: (check) => {
      const found = findings.find((finding) => finding.check === check);
      if (found === undefined) throw new Error(`no finding of ${check}`);
      return found;
    },
  };
}

/** Everything wrong, as lines that a failing test can show. */
export const complaints = (findings: readonly Finding[]): readonly string[] =>
  findings
    .filter(({ status }) => status === "failed" || status === "warning")
    .map(({ check, status, summary }) => `${status} ${check}: ${String(summary)}`);
