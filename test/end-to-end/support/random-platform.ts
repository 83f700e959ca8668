import { addressTable, type AddressRow } from "../../../src/simulator/addresses.js";
import { isWindow } from "../../../src/simulator/control-values.js";
import { type Dialect, plainProfileNames, profiles } from "../../../src/simulator/dialects.js";
import { type ReadingName, readingNames } from "../../../src/simulator/readings.js";
import { isNeverShown, valueOf } from "../../judge/values.js";
import { Chance } from "../../simulation/scenario.js";
import { compatible } from "../../support/reading-settings.js";

/* A platform that nobody has thought of: each trait of a dialect and each reading is drawn from a seed, and so is what is commanded. */

/** What of a dialect makes sense together only. */
const together = ["sensorLayout", "sensorFields", "sensorNames", "readings", "gaps", "sensorQuery"] as const;

function drawnDialect(chance: Chance): Dialect {
  const known = plainProfileNames.map((name) => profiles[name]);
  const sensors = chance.of(known);
  const traits = Object.keys(sensors) as (keyof Dialect)[];
  const isTogether = (trait: keyof Dialect) => together.some((one) => one === trait);
  return Object.fromEntries(
    traits.map((trait) => [trait, (isTogether(trait) ? sensors : chance.of(known))[trait]]),
  ) as unknown as Dialect;
}

export interface Task {
  readonly row: AddressRow;
  readonly command: string;
  /** What the platform is to get, in order. */
  readonly sent: readonly string[];
  /** What is to be told of it: what a platform never shows is confirmed by nobody. */
  readonly outcome: "confirmed" | "unconfirmed";
  /** Where the real things are in the end; null where the greenhouse decides. */
  readonly levels: readonly number[] | null;
}

export interface DrawnPlatform {
  readonly seed: number;
  readonly dialect: Dialect;
  readonly readings: readonly ReadingName[];
  readonly tasks: readonly Task[];
}

export function drawnPlatform(seed: number): DrawnPlatform {
  const chance = new Chance(seed, "random platform");
  const dialect = drawnDialect(chance);
  const readings = compatible(readingNames.filter(() => chance.hits(0.35)));
  const rows = [...addressTable("C001", { readings: new Set(readings) }).values()].filter(
    ({ id }) => id !== null,
  );
  const tasks = rows.flatMap((row) => {
    const words = wordsOf(row, readings);
    const degrees = takesDegrees(row) ? [String(chance.whole(1, 99))] : [chance.of(words)];
    const word = chance.of(words.filter((one) => !degrees.includes(one)));
    return [word, ...degrees].map((command) => taskOf(row, command, { dialect, readings }));
  });
  return { seed, dialect, readings, tasks };
}

const takesDegrees = ({ kind }: AddressRow): boolean => kind === "mode" || isWindow(kind);

const ownValues: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  motor: { open: "00000001", close: "00000010" },
  custom: { low: "0110", high: "1001" },
};

function wordsOf(row: AddressRow, readings: readonly ReadingName[]): readonly string[] {
  if (takesDegrees(row)) return ["open", "close", "auto"];
  if (row.kind === "motor") return ["open", "close", "stop"];
  if (row.kind === "custom") return ["low", "high"];
  const fans = ["all_on", "fans_1_2_3", "fans_1_2", "fan_1", "off"];
  if (row.kind === "fan_wet_curtain") return readings.includes("fan_automatic") ? [...fans, "auto"] : fans;
  return row.kind === "irrigation" ? ["on", "off", "auto", "rotation"] : ["on", "off", "auto"];
}

const device = (row: AddressRow) => ({
  kind: row.kind === "mode" ? "positioner" : row.kind,
  values: ownValues[row.kind] ?? {},
});

function taskOf(
  row: AddressRow,
  command: string,
  { dialect, readings }: Pick<DrawnPlatform, "dialect" | "readings">,
): Task {
  const isFollowed = dialect.positionReads === "travelling";
  const automatic = row.kind === "fan_wet_curtain" && command === "auto" ? "11111" : null;
  const value = /^\d+$/.test(command) ? command : (automatic ?? valueOf(device(row), command) ?? "");
  const before = value === command ? ["10100"] : row.kind === "light" && command !== "on" ? ["1010"] : [];
  return {
    ...{ row, command, sent: [...before, value] },
    outcome: isUnprovable(row, command, { readings, isFollowed }) ? "unconfirmed" : "confirmed",
    levels: levelsOf(row, command, value, readings),
  };
}

/** `isFollowed`: a degree says where the window is. */
function isUnprovable(
  row: AddressRow,
  command: string,
  { readings, isFollowed }: Pick<DrawnPlatform, "readings"> & { readonly isFollowed: boolean },
): boolean {
  if (row.kind === "mode") {
    if (!readings.includes("mode_write_only") || /^\d+$/.test(command)) return false;
    // Only the degree can be read: it follows the window, or stays as it was set.
    if (isFollowed) return command === "auto";
    const stays = row.initial === "10010" ? "open" : "close";
    return command !== stays;
  }
  if (command !== "auto") return false;
  const { kind, values } = device(row);
  const settings = { kind, values, address: row.address, tolerance: 0 };
  return isNeverShown(new Set(readings), settings as Parameters<typeof isNeverShown>[1], command);
}

/** By the document: 1 is open or on, and a curtain that is drawn aside. */
function levelsOf(
  { kind }: AddressRow,
  command: string,
  value: string,
  readings: readonly ReadingName[],
): readonly number[] | null {
  if (command === "auto" || command === "stop") return null;
  if (kind === "fan_wet_curtain") return Array.from({ length: 4 }, (_, stage) => Number(value[stage]));
  if (kind === "irrigation" && readings.includes("plans_end")) return null;
  if (value === command) return [Number(value) / 100];
  if (kind === "custom") return [command === "low" ? 0.5 : 1];
  return [["open", "on", "rotation"].includes(command) ? 1 : 0];
}
