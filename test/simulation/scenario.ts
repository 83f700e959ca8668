import { loadAhead } from "../../src/bridge.js";
import type { Configuration } from "../../src/config/schema.js";
import type { Random } from "../../src/runtime/clock.js";
import { seededRandom } from "../../src/simulator/faults.js";
import { louvre } from "../../src/simulator/addresses.js";
import { plainProfileNames, type ProfileName } from "../../src/simulator/dialects.js";
import type { FaultSpec } from "../../src/simulator/faults.js";
import type { ReadingName } from "../../src/simulator/readings.js";
import { configurationOf } from "./configuration.js";
import { drawnReadings } from "./readings.js";
import type { NameTrouble } from "./names.js";
import { calmNetwork, type NetworkManners } from "./wire.js";

/** Makes a seed for one concern, so that drawing more for one changes nothing for another. */
function mixed(seed: number, name: string): number {
  let hash = 2_166_136_261;
  for (const unit of `${seed}/${name}`) hash = Math.imul(hash ^ unit.charCodeAt(0), 16_777_619);
  return hash >>> 0;
}

/** The draws of one concern. */
export class Chance {
  readonly random: Random;

  constructor(seed: number, concern: string) {
    this.random = seededRandom(mixed(seed, concern));
    for (let n = 0; n < 4; n += 1) this.random();
  }

  hits(probability: number): boolean {
    return this.random() < probability;
  }

  between(least: number, most: number): number {
    return least + this.random() * (most - least);
  }

  whole(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1));
  }

  /** Between two positive numbers, with every order of magnitude equally likely. */
  logUniform(least: number, most: number): number {
    return Math.exp(this.between(Math.log(least), Math.log(most)));
  }

  /** The time to the next of memoryless events, which come every `meanMs` on average. */
  gap(meanMs: number): number {
    return -Math.log(1 - this.random()) * meanMs;
  }

  of<T>(choices: readonly T[]): T {
    const chosen = choices[Math.floor(this.random() * choices.length)];
    if (chosen === undefined) throw new Error("nothing to choose from");
    return chosen;
  }
}

const hourMs = 3_600_000;
const minuteMs = 60_000;
export const calmMs = 30 * minuteMs;

/** Everything that a seed decides in advance. Rates are per hour, probabilities per occasion. */
export interface Scenario {
  readonly seed: number;
  readonly lengthMs: number;
  readonly configuration: Configuration;
  /** How the platform differs from the interface document. */
  readonly readings: readonly ReadingName[];
  /** Whether the user does not know that a degree has an address of its own, and follows the advice of results. */
  readonly isNovice: boolean;
  readonly controllers: number;
  readonly profile: ProfileName;
  readonly registerLagMs: number;
  readonly tokenLifetimeMs: number;
  readonly platformFaults: readonly FaultSpec[];
  readonly network: NetworkManners;
  readonly nameTroubles: readonly NameTrouble[];
  readonly commandsPerHour: number;
  readonly burst: number;
  readonly twisted: number;
  readonly redelivered: number;
  readonly impatience: number;
  readonly linkCutsPerHour: number;
  readonly crashesPerHour: number;
  readonly powerCut: number;
  readonly cleanStops: number;
  readonly fullDisksPerHour: number;
  readonly goneDisksPerHour: number;
  readonly syncFailure: number;
  readonly clockJumpsPerHour: number;
  readonly stallsPerHour: number;
  readonly floodsPerHour: number;
  /** The body code that refuses a wrong token, if it is an unknown one; null for 401 and 403. */
  readonly unknownRefusal: number | null;
  /** Whether the realtime host checks no token, as in today's interface document. */
  readonly isUnchecked: boolean;
  /** Whether some actuators have limits, and weather is measured. */
  readonly isLimited: boolean;
  readonly locksPerHour: number;
  /** Names of the faults in this seed, for messages. */
  readonly exists: readonly string[];
}

export async function scenarioOf(seed: number, hours: number): Promise<Scenario> {
  const chance = new Chance(seed, "scenario");
  const exists: string[] = [];
  /** A rate if the fault exists in this seed, with a probability of one half; else 0. */
  const maybe = (name: string, rate: () => number): number => {
    const drawn = rate();
    if (!chance.hits(0.5)) return 0;
    exists.push(name);
    return drawn;
  };
  const share = (most: number) => () => chance.logUniform(0.002, most);
  const controllers = chance.whole(1, 2);
  const actuators = Math.round(chance.logUniform(1, 20 * controllers));
  const limits = new Chance(seed, "limits");
  const isLimited = limits.hits(0.65);
  if (isLimited) exists.push("limits");
  const locksPerHour = isLimited && limits.hits(0.6) ? limits.logUniform(0.3, 6) : 0;
  const chances = isLimited ? { limits, statuses: new Chance(seed, "statuses") } : null;
  const readings = drawnReadings(new Chance(seed, "readings"));
  const isNovice = readings.includes("degrees_apart") && new Chance(seed, "novice").hits(0.6);
  if (isNovice) exists.push("a user who does what the bridge says");
  const configuration = await configurationOf(
    chance,
    controllers,
    actuators,
    chances,
    new Set(readings),
    new Chance(seed, "groups"),
    isNovice,
  );
  // Loading takes real time, in which no simulated time may pass, so code is loaded before the first bridge begins.
  await loadAhead({ configuration });
  const drawn = {
    seed,
    lengthMs: hours * hourMs,
    configuration,
    readings,
    isNovice,
    controllers,
    profile: chance.of(plainProfileNames),
    registerLagMs: maybe("slow registers", () => chance.logUniform(500, 30_000)) || 300,
    tokenLifetimeMs: chance.logUniform(10 * minuteMs, 4 * hourMs),
    platformFaults: platformFaults(chance, maybe, hours * hourMs - calmMs),
    network: {
      minLatencyMs: calmNetwork.minLatencyMs,
      maxLatencyMs: maybe("slow network", () => chance.logUniform(100, 20_000)) || calmNetwork.maxLatencyMs,
      connectFailure: maybe("connect failures", share(0.3)),
      lostRequest: maybe("lost requests", share(0.2)),
      lostAnswer: maybe("lost answers", share(0.2)),
      straggler: maybe("stragglers", share(0.05)),
    },
    commandsPerHour: chance.logUniform(1, 600),
    burst: maybe("bursts", share(0.5)),
    twisted: maybe("twisted commands", share(0.3)),
    redelivered: maybe("redeliveries", share(0.3)),
    linkCutsPerHour: maybe("link cuts", () => chance.logUniform(0.2, 10)),
    crashesPerHour: maybe("crashes", () => chance.logUniform(0.2, 6)),
    powerCut: maybe("power cuts", () => chance.between(0.1, 1)),
    cleanStops: maybe("clean stops", () => chance.between(0.1, 0.8)),
    fullDisksPerHour: maybe("full disks", () => chance.logUniform(0.1, 2)),
    syncFailure: maybe("fsync failures", () => chance.logUniform(0.0005, 0.005)),
    clockJumpsPerHour: maybe("clock jumps", () => chance.logUniform(0.1, 2)),
    stallsPerHour: maybe("stalls", () => chance.logUniform(0.5, 20)),
    impatience: maybe("impatience", share(0.5)),
    floodsPerHour: maybe("floods", () => chance.logUniform(0.05, 0.5)),
    isLimited,
    locksPerHour,
    unknownRefusal: unknownRefusalOf(new Chance(seed, "unknown refusal"), exists),
    exists,
  };
  // Drawn last, so that they change nothing else of a seed.
  const late = [
    ...faultsOfReads(chance, maybe, drawn),
    ...faultsOfControllers(new Chance(seed, "silent"), exists, drawn),
    ...faultsOfModes(new Chance(seed, "modes"), exists, drawn),
    ...faultsOfParts(new Chance(seed, "parts"), exists, drawn),
    ...endsOfTokens(new Chance(seed, "ends of tokens"), drawn),
  ];
  const goneDisksPerHour = goneDisks(new Chance(seed, "gone disks"), exists);
  const nameTroubles = troublesOfNames(new Chance(seed, "troubles of names"), exists, drawn);
  const allFaults = [...drawn.platformFaults, ...late];
  // A code with another meaning too prevents a new token for an hour, longer than the calm at the end.
  const isMeantOtherwise = allFaults.some(({ code }) => code === drawn.unknownRefusal);
  const unknownRefusal = isMeantOtherwise ? 40101 : drawn.unknownRefusal;
  const isUnchecked = new Chance(seed, "unchecked").hits(0.4);
  if (isUnchecked) exists.push("a realtime host that checks no token");
  return { ...drawn, unknownRefusal, isUnchecked, goneDisksPerHour, nameTroubles, platformFaults: allFaults };
}

function goneDisks(chance: Chance, exists: string[]): number {
  if (!chance.hits(0.4)) return 0;
  exists.push("gone disks");
  return chance.logUniform(0.1, 3);
}

/** Minutes and hours in which names are silent, slow or unknown, or one family of addresses leads nowhere. */
function troublesOfNames(
  chance: Chance,
  exists: string[],
  { lengthMs }: Pick<Scenario, "lengthMs">,
): readonly NameTrouble[] {
  if (!chance.hits(0.4)) return [];
  exists.push("troubles of names");
  return Array.from({ length: chance.whole(1, 6) }, () => {
    const fault = chance.of(["silent", "slow", "unknown", "dead family"] as const);
    const from = chance.between(0, lengthMs - calmMs);
    return { fault, from, until: Math.min(lengthMs - calmMs, from + chance.logUniform(10_000, 5_400_000)) };
  });
}

/** Hours in which one controller answers late or never: everything, its reads, or its POSTs. */
function faultsOfControllers(
  chance: Chance,
  exists: string[],
  { lengthMs, configuration }: Pick<Scenario, "lengthMs" | "configuration">,
): readonly FaultSpec[] {
  if (!chance.hits(0.5)) return [];
  exists.push("silent controllers");
  const codes = Object.keys(configuration.controllers);
  return Array.from({ length: chance.whole(1, 4) }, () => {
    const requests = chance.of(["reads", "posts", null] as const);
    return {
      ...(chance.hits(0.7)
        ? { fault: "silent_controller", when: chance.of(["before", "after"] as const) }
        : { fault: "slow_controller", delay: Math.round(chance.logUniform(500, 25_000)) }),
      ...(requests === null ? {} : { requests }),
      controller: chance.of(codes),
      at: Math.round(chance.between(0, lengthMs - calmMs)),
      for: Math.round(chance.logUniform(60_000, 3_600_000)),
    };
  });
}

/** Minutes and hours in which one operation, or that of one controller, fails while all others work. */
function faultsOfParts(
  chance: Chance,
  exists: string[],
  { lengthMs, configuration }: Pick<Scenario, "lengthMs" | "configuration">,
): readonly FaultSpec[] {
  if (!chance.hits(0.5)) return [];
  exists.push("one operation broken");
  const codes = Object.keys(configuration.controllers);
  return Array.from({ length: chance.whole(1, 4) }, (): FaultSpec => {
    const operation = chance.of(brokenOperations);
    const isOfOne = operation !== "control/mqtt" && operation !== "device" && chance.hits(0.4);
    return {
      fault: chance.of(brokenWays),
      operation,
      ...(isOfOne ? { controller: chance.of(codes) } : {}),
      chance: 1,
      at: Math.round(chance.between(0, lengthMs - calmMs)),
      for: Math.round(chance.logUniform(60_000, 3_600_000)),
    };
  });
}

const brokenOperations = [
  ...(["sensor-data", "device_status", "mqtt-client-status", "get-value", "set-value/flush"] as const),
  ...(["set-value", "control/mqtt", "device"] as const),
];
const brokenWays = [
  "http_status",
  "html",
  "garbage",
  "truncated",
  "empty",
  "timeout",
  "reset",
  "redirect",
] as const;

/** A platform may refuse a token with any code. */
function unknownRefusalOf(chance: Chance, exists: string[]): number | null {
  if (!chance.hits(0.3)) return null;
  exists.push("refusals with an unknown code");
  return chance.of([40101, 1001, 500, -1, 10086]);
}

/**
 * Such ends of tokens come only while there are faults, not in the last half hour, when everything has to work at once.
 */
function endsOfTokens(
  chance: Chance,
  { unknownRefusal }: Pick<Scenario, "unknownRefusal">,
): readonly FaultSpec[] {
  return unknownRefusal === null ? [] : [{ fault: "expire_tokens", per_hour: chance.between(0.5, 3) }];
}

export const falseModes = "a mode that reads as a degree";

/** A mode with an address of its own that sometimes reads as a degree, which proves nothing. */
function faultsOfModes(
  chance: Chance,
  exists: string[],
  { lengthMs }: Pick<Scenario, "lengthMs">,
): readonly FaultSpec[] {
  if (!chance.hits(0.3)) return [];
  exists.push(falseModes);
  const rate = chance.between(0.1, 0.8);
  const value = chance.of(["0", "45", "100"]);
  return [{ fault: "wrong_read_back", address: louvre.mode, value, chance: rate, for: lengthMs - calmMs }];
}

/** Unreadable registers, and types answered from the platform's memory. */
function faultsOfReads(
  chance: Chance,
  maybe: Maybe,
  { lengthMs }: Pick<Scenario, "lengthMs">,
): readonly FaultSpec[] {
  const forMs = lengthMs - calmMs;
  const busy = maybe("busy", () => chance.logUniform(0.002, 0.1));
  const stale = maybe("stale_group", () => chance.between(0.1, 1));
  const delay = Math.round(chance.logUniform(5_000, 600_000));
  return [
    ...(busy > 0
      ? [{ fault: "busy", code: chance.of([500, 503, 1001]), chance: busy, for: forMs } as const]
      : []),
    ...(stale > 0 ? [{ fault: "stale_group", delay, chance: stale, for: forMs } as const] : []),
  ];
}

type Maybe = (name: string, rate: () => number) => number;

function platformFaults(chance: Chance, maybe: Maybe, forMs: number): readonly FaultSpec[] {
  const specs: FaultSpec[] = [];
  const hit = (spec: Omit<FaultSpec, "chance">, most: number, name: string = spec.fault) => {
    const rate = maybe(name, () => chance.logUniform(0.002, most));
    if (rate > 0) specs.push({ for: forMs, ...spec, chance: rate });
  };
  const event = (spec: FaultSpec, most: number) => {
    const perHour = maybe(spec.fault, () => chance.logUniform(0.1, most));
    if (perHour > 0) specs.push({ ...spec, per_hour: perHour });
  };
  const some = (least: number, most: number) => Math.round(chance.logUniform(least, most));
  const side = () => chance.of(["before", "after"] as const);
  hit({ fault: "slow", delay: some(500, 60_000) }, 0.1);
  hit({ fault: "timeout", when: side() }, 0.05);
  hit({ fault: "reset", when: "before" }, 0.1, "reset before");
  hit({ fault: "reset", when: "after" }, 0.1, "reset after");
  for (const fault of ["truncated", "empty", "garbage", "redirect"] as const) hit({ fault }, 0.05);
  hit({ fault: "html", when: side() }, 0.05);
  hit({ fault: "http_status", status: chance.of([500, 502, 503, 504]), when: side() }, 0.05);
  hit({ fault: "body_code", code: chance.of([500, 400, 1001]) }, 0.05);
  hit({ fault: "throttle", status: chance.of([429, 503]), retry_after: some(1_000, 60_000) }, 0.05);
  hit({ fault: "unauthorized", status: chance.of([401, 403]), when: side() }, 0.03);
  hit({ fault: "reset", operation: "set-value", when: "after" }, 0.3, "post done, answer lost");
  hit({ fault: "reset", operation: "set-value", when: "before" }, 0.3, "post refused by reset");
  hit({ fault: "ignore" }, 0.2);
  hit({ fault: "late", delay: some(1_000, 120_000) }, 0.2);
  hit({ fault: "twice", delay: some(1_000, 60_000) }, 0.1);
  hit({ fault: "revert", delay: some(1_000, 100_000) }, 0.2);
  hit({ fault: "offline_at_post", for: some(5_000, 300_000) }, 0.02);
  hit({ fault: "wrong_read_back" }, 0.05);
  hit({ fault: "stale_read_back", delay: some(5_000, 300_000) }, 0.5);
  hit({ fault: "no_value" }, 0.1);
  event({ fault: "offline", for: some(10_000, 1_200_000) }, 4);
  event({ fault: "moved_by_hand" }, 20);
  event({ fault: "storm", for: 10 * minuteMs }, 2);
  event({ fault: "rain", for: 10 * minuteMs }, 2);
  const how = chance.of(["refuse", "hang"] as const);
  event({ fault: "host_down", how, for: some(5_000, 3_600_000) }, 1);
  event({ fault: "expire_tokens" }, 4);
  return specs;
}
