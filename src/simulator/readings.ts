import { isWindow } from "./control-values.js";
import type { Dialect } from "./dialects.js";
import { keysOf } from "../runtime/objects.js";

/*
 * Other readings that the words of the interface document allow. Any of them may go with any dialect. A row says what
 * the platform then does, based on the document and not on the program. A reading that changes one word of an answer
 * has only `text`; the answer checks for it by name.
 */

/** The parts of an address row that readings look at. */
interface Row {
  readonly address: string;
  readonly kind: string;
  readonly initial: string;
  readonly roles: readonly string[];
  readonly automatic?: string;
}

type InHalves<One> = (row: One, position: string) => readonly One[];

/** A register that is read; `level`: how far the first device behind it is, 0 to 1. */
interface Held {
  readonly row: Row;
  readonly value: string;
  readonly level: number;
}

/** A value that a device has taken, with the register's value before. */
interface Put {
  readonly row: Row;
  readonly value: string;
  readonly before: string | null;
  /** Sets the register to a value after this many simulated ms, unless it holds another one then. */
  readonly later: (afterMs: number, value: string, by: "rotation_end" | "idle") => void;
  /** Moves the device as if its register held this value. */
  readonly drive: (value: string) => void;
}

/** What the platform shows of an address to a call. Times are real epoch ms. */
interface Asked {
  readonly row: Row;
  /** Controller and address. */
  readonly key: string;
  /** Null if it shows nothing anyway. */
  readonly value: string | null;
  /** The value is no lie, and not older than it claims. */
  readonly isHonest: boolean;
  readonly isFresh: boolean;
  readonly now: number;
  /** The register's value at a given time. */
  readonly heldAt: (at: number) => string | null;
}

/** The behaviour of a reading that has a memory; each platform has its own. */
interface Behaviour {
  /** What is shown instead; null for no value. */
  readonly shown?: (asked: Asked) => string | null;
  /** Why a POST to a controller is refused; null if it is not. */
  readonly refusal?: (controller: string, now: number) => string | null;
}

interface Item {
  readonly sensor: { readonly factor: string; readonly channel: number };
  readonly value: string | number | boolean | null;
}

/** The effects of one reading; what it omits is as usual. */
interface Trait {
  /** The reading in words, for the guide. */
  readonly text: string;
  /** The traits of a dialect that it fixes. */
  readonly dialect?: Partial<Dialect>;
  /** The rows that replace one of the address table. */
  readonly rows?: <One extends Row>(row: One, inHalves: InHalves<One>) => readonly One[];
  /** What a register shows instead of its value; null for its value. */
  readonly told?: (held: Held) => string | null;
  /** What a device does by itself after it has taken a value. */
  readonly taken?: (put: Put) => void;
  /** The items that `sensor-data` lists instead of these. */
  readonly items?: <One extends Item>(items: readonly One[], dialect: Dialect) => readonly One[];
  /** Query parameters that operations require in addition. */
  readonly needs?: Readonly<Record<string, readonly string[]>>;
  readonly begin?: () => Behaviour;
}

const isDegree = (value: string): boolean => /^(?:\d{1,2}|100)$/.test(value);
const positionMode = "10100";

/** How long a plan that was turned on runs. */
const planLastsMs = 20 * 60_000;
/** Time from a read's order until the platform has the device's answer. */
const flushLagMs = 3_000;
/** How long a controller is busy with a value. */
const busyMs = 3_000;
const pulse = { idle: "00000000", lastsMs: 1_000 };

/** Layouts with names or channels as keys cannot hold two of the same. */
const keyed: ReadonlySet<Dialect["sensorLayout"]> = new Set(["keyed", "keyed_by_factor", "by_channel"]);

/** The platform gets the device's answer to an order only later; until then it shows what it knew. */
function ordered(): Behaviour {
  const known = new Map<string, { readonly value: string; readonly due: readonly number[] }>();
  return {
    shown: ({ row, key, value, isHonest, isFresh, now, heldAt }) => {
      // A false answer is not what the platform knows.
      if (value === null || !isHonest) return value;
      // Values in other words than the register's are known for the present alone.
      const isTold = value !== heldAt(now);
      // Without an order before, it knows what the device said at the start.
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

/** Other readings by their name in `simulate --readings`. */
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

export const readingNames = keysOf(table);

export type Readings = ReadonlySet<ReadingName>;

/** Device types that the document does not name, by the ones that it does. */
export const otherTypes: Readonly<Record<string, string>> = {
  C001: "W003",
  C003: "C009",
  W001: "W002",
  V003: "V001",
};

/** In the order of the table. */
const traitsOf = (readings: Readings): readonly Trait[] =>
  readingNames.flatMap((name) => (readings.has(name) ? [table[name]] : []));

/** Traits of the dialect that the readings fix. */
export const dialectOf = (readings: Readings): Partial<Dialect> =>
  traitsOf(readings).reduce((all, { dialect }) => ({ ...all, ...dialect }), {});

/** Rows of the address table after the readings. */
export const rowsIn = <One extends Row>(
  readings: Readings,
  rows: readonly One[],
  inHalves: InHalves<One>,
): readonly One[] =>
  traitsOf(readings).reduce(
    (all, trait) => (trait.rows ? all.flatMap((row) => trait.rows?.(row, inHalves) ?? [row]) : all),
    rows,
  );

/** What a register shows in the platform's other words; null for its value. */
export function toldInstead(readings: Readings, held: Held): string | null {
  for (const { told } of traitsOf(readings)) {
    const instead = told?.(held) ?? null;
    if (instead !== null) return instead;
  }
  return null;
}

/** Lets a device do what it does by itself after it has taken a value. */
export function onTaken(readings: Readings, put: Put): void {
  for (const { taken } of traitsOf(readings)) taken?.(put);
}

/** Items of `sensor-data` after the readings. */
export const itemsIn = <One extends Item>(
  readings: Readings,
  dialect: Dialect,
  listed: readonly One[],
): readonly One[] => traitsOf(readings).reduce((all, { items }) => items?.(all, dialect) ?? all, listed);

/** Query parameters that an operation requires beside the usual ones. */
export const needsOf = (readings: Readings, operation: string): readonly string[] =>
  traitsOf(readings).flatMap(({ needs }) => needs?.[operation] ?? []);

/** The memory of one platform's readings. */
export type Behaviours = readonly Behaviour[];

export const behavioursOf = (readings: Readings): Behaviours =>
  traitsOf(readings).flatMap(({ begin }) => (begin ? [begin()] : []));

/** What the readings with a memory show of a register. */
export const shownBy = (behaviours: Behaviours, asked: Asked): string | null =>
  behaviours.reduce((value, { shown }) => (shown ? shown({ ...asked, value }) : value), asked.value);

/** Why a POST is refused; null if it is not. */
export function refusedBy(behaviours: Behaviours, controller: string, now: number): string | null {
  for (const { refusal } of behaviours) {
    const why = refusal?.(controller, now) ?? null;
    if (why !== null) return why;
  }
  return null;
}
