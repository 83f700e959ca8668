import { type Dialect, type ProfileName, profileNames, profiles } from "../../../src/simulator/dialects.js";
import type { Configuration } from "./stage.js";

/* What a platform of some dialect makes of the things the rules speak of: how it writes them, and what is mirrored then. */

export interface Spoken {
  readonly profile: ProfileName;
  readonly dialect: Dialect;
  /** `platform.shapes`, where a dialect cannot be read without being told; empty for all others. */
  readonly shapes: Configuration;
  /** Last level of a sensor's topics, by its factor code. */
  sensorId(factor: string): string;
  /** The name and the factor code a reading carries. */
  namesOf(sensor: { readonly name: string; readonly factor: string }): {
    readonly name: string;
    readonly factor: string | null;
  };
  /** A reading as the platform writes it. */
  reading(value: number, unit: string): number | string;
  /** A register's value as it arrives, in text: numbers have lost their leading zeros. */
  register(value: string): string;
}

/** Where a platform gives no factor codes, a sensor goes by its channel, and without that by its name. */
const ownIds: Partial<Record<ProfileName, Readonly<Record<string, string>>>> = {
  list: { airtemp: "channel_1", co2: "channel_3", soilec: "channel_7", windspeed: "channel_4" },
  odd: { airtemp: "air_temperature", co2: "co2", soilec: "soil_ec", windspeed: "wind_speed" },
};

const oddShapes = {
  "sensor-data": {
    items: "payload.points",
    ...{ name: "what", value: "now", unit: "scale", time: "dateTime" },
    query: { deviceCode: "facility" },
  },
};

export function spokenBy(profile: ProfileName): Spoken {
  const dialect = profiles[profile];
  const { readings, registers, sensorNames } = dialect;
  const ids = ownIds[profile];
  return {
    profile,
    dialect,
    shapes: profile === "odd" ? oddShapes : {},
    sensorId: (factor) => {
      const id = ids === undefined ? factor : ids[factor];
      if (id === undefined) throw new Error(`say in ownIds how profile ${profile} calls ${factor}`);
      return id;
    },
    namesOf: ({ name, factor }) => ({
      name: sensorNames === "chinese" ? name : "",
      factor: ids === undefined ? factor : null,
    }),
    reading: (value, unit) =>
      readings === "number" ? value : readings === "text" ? String(value) : `${value}${unit}`,
    register: (value) => (registers === "number" ? String(Number(value)) : value),
  };
}

/** As the platform speaks in every suite that is not about dialects. */
export const plainlySpoken = spokenBy("default");

/**
 * The dialects under test: all in which a position can be read back, or those that DIALECTS names (`DIALECTS=list,rows`).
 * Fewer than all is said, so that nobody takes a part for the whole.
 */
export const dialectsUnderTest: readonly ProfileName[] = chosen(process.env["DIALECTS"]);

function chosen(wanted: string | undefined): readonly ProfileName[] {
  // Where an address goes on reading its mode, no position is ever confirmed: the rules do not hold there.
  const usual = profileNames.filter((name) => name !== "mode_stays");
  if (wanted === undefined || wanted === "" || wanted === "all") return usual;
  const names = wanted.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !profileNames.some((profile) => profile === name));
  if (unknown !== undefined)
    throw new Error(`DIALECTS: there is no profile "${unknown}"; use some of ${profileNames.join(",")}`);
  const found = profileNames.filter((profile) => names.includes(profile));
  process.stdout.write(`dialects: ${found.length} of ${profileNames.length} (${found.join(", ")})\n`);
  return found;
}
