import { isWindow } from "./control-values.js";
import type { Dialect } from "./dialects.js";

/*
 * What the words of the interface document allow besides the usual reading of them. Any of these may be so beside any dialect; what
 * the platform does then is told in its row, from the document and from nothing of the program. Of one that is a single word of an answer
 * the row has the text alone, and the answer asks for it by its name.
 */

/** What of an address table's row a reading looks at. */
interface Row {
  readonly address: string;
  readonly kind: string;
  readonly initial: string;
  readonly roles: readonly string[];
  readonly automatic?: string;
}

type InHalves<One> = (row: One, position: string) => readonly One[];

/** A register that somebody asks for; `level` is how far the first device behind it is, 0 to 1. */
interface Held {
  readonly row: Row;
  readonly value: string;
  readonly level: number;
}

/** A value that a device has taken, and what its register held before. */
interface Put {
  readonly row: Row;
  readonly value: string;
  readonly before: string | null;
  /** Sets the register to a value by itself after so many simulated ms, unless it holds another one by then. */
  readonly later: (afterMs: number, value: string, by: "rotation_end" | "idle") => void;
  /** Moves the device as if its register held this. */
  readonly drive: (value: string) => void;
}

/** What the platform shows of an address to a call that asks for it. Instants are real epoch ms. */
interface Asked {
  readonly row: Row;
  /** Of controller and address. */
  readonly key: string;
  /** Null where it shows nothing anyway. */
  readonly value: string | null;
  /** What is shown is no lie, and no older than it says. */
  readonly isHonest: boolean;
  readonly isFresh: boolean;
  readonly now: number;
  /** What the register held at an instant. */
  readonly heldAt: (at: number) => string | null;
}

/** What a reading does that it has to remember things for; each platform has its own. */
interface Behaviour {
  /** What is shown instead; null for nothing. */
  readonly shown?: (asked: Asked) => string | null;
  /** Why a POST to a controller is not taken; null where it is. */
  readonly refusal?: (controller: string, now: number) => string | null;
}

interface Item {
  readonly sensor: { readonly factor: string; readonly channel: number };
  readonly value: string | number | boolean | null;
}

/** What one does; what it leaves out is as usual. */
interface Trait {
  /** What is so, for the guide. */
  readonly text: string;
  /** What of a dialect is decided by it. */
  readonly dialect?: Partial<Dialect>;
  /** What stands in the address table in the place of a row. */
  readonly rows?: <One extends Row>(row: One, inHalves: InHalves<One>) => readonly One[];
  /** What a register tells instead of what it holds; null for what it holds. */
  readonly told?: (held: Held) => string | null;
  /** What a device does of its own accord once it has taken a value. */
  readonly taken?: (put: Put) => void;
  /** What `sensor-data` lists in the place of these. */
  readonly items?: <One extends Item>(items: readonly One[], dialect: Dialect) => readonly One[];
  /** What an operation does not answer without. */
  readonly needs?: Readonly<Record<string, readonly string[]>>;
  readonly begin?: () => Behaviour;
}

const isDegree = (value: string): boolean => /^(?:\d{1,2}|100)$/.test(value);
const positionMode = "10100";

/** A plan that was turned on. */
const planLastsMs = 20 * 60_000;
/** From the order of a read until the platform has the device's answer. */
const flushLagMs = 3_000;
/** A controller is busy with a value. */
const busyMs = 3_000;
const pulse = { idle: "00000000", lastsMs: 1_000 };

/** Answers in which a name or a channel is a key have no room for two of one. */
const keyed: ReadonlySet<Dialect["sensorLayout"]> = new Set(["keyed", "keyed_by_factor", "by_channel"]);

/** The device's answer to an order is known to the platform only later; until then it tells what it knew. */
function ordered(): Behaviour {
  const known = new Map<string, { readonly value: string; readonly due: readonly number[] }>();
  return {
    shown: ({ row, key, value, isHonest, isFresh, now, heldAt }) => {
      // A false answer is not what the platform knows.
      if (value === null || !isHonest) return value;
      // In other words than the register's, which are known of now alone.
      const isTold = value !== heldAt(now);
      // What nobody ordered before is known as the device has told it at the start.
      const held = known.get(key) ?? { value: isTold ? value : row.initial, due: [] };
      const answered = held.due.findLast((at) => at <= now);
      const then = answered === undefined ? null : heldAt(answered);
      const shown = (then === heldAt(now) ? value : then) ?? held.value;
      const due = held.due.filter((at) => at > now);
      known.set(key, { value: shown, due: isFresh ? [...due, now + flushLagMs] : due });
      return shown;
    },
  };
}

function oneAtATime(): Behaviour {
  const taken = new Map<string, number>();
  return {
    refusal: (controller, now) => {
      if (now - (taken.get(controller) ?? -Infinity) < busyMs) return "控制器忙";
      taken.set(controller, now);
      return null;
    },
  };
}

/** Other readings by the name that `simulate --readings` takes. */
const table = {
  actual_positions: {
    text: "`get-value` gives how far a window is, whatever was set",
    told: ({ row: { kind, roles }, level }) =>
      isWindow(kind) && roles.length === 1 ? String(Math.round(100 * level)) : null,
  },
  combined_bits: {
    text: "in automatic the bits are combined with what runs: `11010`, `11001`, `1110`, `1101`",
    told: ({ row: { kind }, value, level }) => {
      const isRunning = level > 0.5;
      if (value === "11000" && (isWindow(kind) || kind === "mode")) return isRunning ? "11010" : "11001";
      if (value === "1100") return isRunning ? "1110" : "1101";
      return null;
    },
  },
  mode_stays: {
    text: "after a degree the address goes on reading `10100`",
    dialect: { positionReads: "mode" },
  },
  group_of_settings: {
    text: "`set-value/flush` gives what was set, also where `get-value` gives something else",
  },
  swapped_channels: {
    text: "registers are pushed on `/ws/device-status`, running statuses on `/ws/set-value`",
  },
  bare_echo: { text: "a control value is answered with its three fields and no code" },
  clients_are_controllers: {
    text: "stations and cameras are listed as online, and have no status of their own (`CLIENTID_NOT_FOUND`)",
  },
  last_seen: { text: "`latest_online_datetime` is when a device was last seen" },
  plans_end: {
    text: "an irrigation plan that was turned on ends by itself after 20 minutes",
    taken: ({ row: { kind }, value, later }) => {
      if (kind === "irrigation" && value === "1010") later(planLastsMs, "1001", "rotation_end");
    },
  },
  curtains_spread: { text: "`10010` spreads a curtain out" },
  fan_automatic: {
    text: "fan and wet curtain take `11111`, which is automatic",
    rows: (row) => [row.kind === "fan_wet_curtain" ? { ...row, automatic: "11111" } : row],
  },
  flagged_refusals: {
    text: "a refusal is `{code: 200, success: false, data: null}` with message and request id",
  },
  unknown_types: {
    text: "devices have types that the document does not name: greenhouses `W003`, fertilizer machines `C009`, stations `W002`, pest monitors with readings `V001`",
  },
  status_words: { text: "a running status is the control word `1010` or `1001`" },
  degrees_apart: {
    text: "the degree of a window has an address of its own in the type of its mode; one that is sent to the mode's is accepted and moves nothing",
    rows: (row, inHalves) =>
      isWindow(row.kind) ? inHalves(row, String(1_000 + Number(row.address))) : [row],
  },
  mode_write_only: {
    text: "a mode address that is not the degree's can only be written: no read gives a value of it",
    begin: () => ({ shown: ({ row, value }) => (row.kind === "mode" ? null : value) }),
  },
  flush_orders: {
    text: "`flush=1` orders a read and answers the value before; the device's answer is there 3 s later",
    begin: ordered,
  },
  one_at_a_time: {
    text: "a controller takes one value at a time: within 3 s of one every other is refused",
    begin: oneAtATime,
  },
  motors_pulse: {
    text: "a motor's register is a pulse: a value starts or stops it, and the register goes back to `00000000` after a second",
    rows: (row) => [row.kind === "motor" ? { ...row, initial: pulse.idle } : row],
    taken: ({ row: { kind }, value, later }) => {
      if (kind === "motor" && value !== pulse.idle) later(pulse.lastsMs, pulse.idle, "idle");
    },
  },
  channels_ask: { text: "a push channel says nothing before a first message was sent to it" },
  set_points_in_groups: {
    text: "a type lists set points, times and counters beside its actuators",
    dialect: { inType: "many" },
  },
  windows_asked: {
    text: "videos are listed for a `deviceCode` alone, and past weather for `deviceCode`, `startTime` and `endTime`",
    needs: {
      "video-data/list": ["deviceCode"],
      "weather-data/list": ["deviceCode", "startTime", "endTime"],
      "weather-data/avg": ["deviceCode", "startTime", "endTime"],
    },
  },
  twin_sensors: {
    text: "a greenhouse has a second 空气温度 that differs from the first by its place in the list alone",
    items: (items, { sensorLayout }) => {
      const first = items.find(({ sensor }) => sensor.factor === "airtemp" && sensor.channel === 1);
      if (first === undefined || keyed.has(sensorLayout) || typeof first.value !== "number") return items;
      return [...items, { ...first, value: Math.round((first.value - 3) * 10) / 10 }];
    },
  },
  mode_restarts: {
    text: "`10100` in the mode of positions makes a window close before it takes the next degree",
    taken: ({ row: { kind }, value, before, drive }) => {
      if (value !== positionMode || before === null || !(isWindow(kind) || kind === "mode")) return;
      if (before === positionMode || isDegree(before)) drive("10001");
    },
  },
  stations_apart: {
    text: "weather stations stand in `/api/station` alone, each with its `deviceCode`",
  },
  offline_queues: {
    text: "a value for a controller that is offline is refused, and carried out when it is back",
  },
} as const satisfies Record<string, Trait>;

export type ReadingName = keyof typeof table;

export const readingNames = Object.keys(table) as readonly ReadingName[];

export type Readings = ReadonlySet<ReadingName>;

/** Types of devices where the document names none of them, by the ones that it does. */
export const otherTypes: Readonly<Record<string, string>> = {
  C001: "W003",
  C003: "C009",
  W001: "W002",
  V003: "V001",
};

/** In the order of the table. */
const traitsOf = (readings: Readings): readonly Trait[] =>
  readingNames.flatMap((name) => (readings.has(name) ? [table[name]] : []));

/** What of a dialect the readings decide. */
export const dialectOf = (readings: Readings): Partial<Dialect> =>
  Object.assign({}, ...traitsOf(readings).map(({ dialect }) => dialect)) as Partial<Dialect>;

/** What stands in the address table in the place of these rows. */
export const rowsIn = <One extends Row>(
  readings: Readings,
  rows: readonly One[],
  inHalves: InHalves<One>,
): readonly One[] =>
  traitsOf(readings).reduce(
    (all, trait) => (trait.rows ? all.flatMap((row) => trait.rows?.(row, inHalves) ?? [row]) : all),
    rows,
  );

/** What a register tells in the platform's other words; null for what is set. */
export function toldInstead(readings: Readings, held: Held): string | null {
  for (const { told } of traitsOf(readings)) {
    const instead = told?.(held) ?? null;
    if (instead !== null) return instead;
  }
  return null;
}

/** What a device does of its own accord once it has taken a value. */
export function onTaken(readings: Readings, put: Put): void {
  for (const { taken } of traitsOf(readings)) taken?.(put);
}

/** What `sensor-data` lists in the place of these. */
export const itemsIn = <One extends Item>(
  readings: Readings,
  dialect: Dialect,
  listed: readonly One[],
): readonly One[] => traitsOf(readings).reduce((all, { items }) => items?.(all, dialect) ?? all, listed);

/** What an operation does not answer without, beside what it always needs. */
export const needsOf = (readings: Readings, operation: string): readonly string[] =>
  traitsOf(readings).flatMap(({ needs }) => needs?.[operation] ?? []);

/** What the readings remember of one platform. */
export type Behaviours = readonly Behaviour[];

export const behavioursOf = (readings: Readings): Behaviours =>
  traitsOf(readings).flatMap(({ begin }) => (begin ? [begin()] : []));

/** What is shown of a register by all that remember something. */
export const shownBy = (behaviours: Behaviours, asked: Asked): string | null =>
  behaviours.reduce((value, { shown }) => (shown ? shown({ ...asked, value }) : value), asked.value);

/** Why a POST is not taken; null where it is. */
export function refusedBy(behaviours: Behaviours, controller: string, now: number): string | null {
  for (const { refusal } of behaviours) {
    const why = refusal?.(controller, now) ?? null;
    if (why !== null) return why;
  }
  return null;
}
