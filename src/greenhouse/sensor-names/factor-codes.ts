import type { SensorKind } from "../sensor-kinds.js";
import { kindsOf, type Kinds } from "./kinds.js";

/*
 * Codes too short or too local to be names, `kinds: codes`. They give a kind and no word, because a code is its own id.
 * `?`: only where a unit settles it (`wd` is wenDu, a temperature, on one platform and wind direction on the next).
 * A number may follow. Codes nobody has explained (`lp`) are left out: their sensors stay `other`.
 */
const factorCodes = `
temperature: t, tmp, airt, kqwd, snwd, swwd
humidity: h, kqsd, snsd, swsd, airh
co2: eyht, co2nd, eyhtnd
illuminance+irradiance+par: gz, gzqd, gzd
soil_temperature: trwd, soilt, tsoil
soil_moisture: trsd, trsf, trhsl, soilh, soilm, soilw
ec: ecfii, trec, trddl, soilcond
ph: phfii, trph
pressure: dqy, dqyl, baro, atmos
wind_speed: wspd
wind_direction: wdir
rain+rain_rate: jyl
?temperature+wind_direction: wd
?temperature: ta, at, ts, wt, tw
?humidity: sd, ha, ah
?soil_temperature: st
?soil_moisture: sm, sh, sf
?wind_speed: fs, ws
?wind_direction: fx
?rain+rain_rate+pressure: yl
?irradiance: fs, sr, rad, zfs
?pressure: p, qy, press, sy
?flow: ll, q
?voltage: v, vol, vcc, dy
?battery+voltage: bat, batt, dl
?dew_point: dp, ld
?illuminance: ill, lum
`;

let table: ReadonlyMap<string, Kinds> | null = null;

function codeTable(): ReadonlyMap<string, Kinds> {
  const entries = new Map<string, Kinds>();
  for (const line of factorCodes.trim().split("\n")) {
    const [kinds, codes] = line.split(": ");
    for (const code of codes?.split(", ") ?? [])
      entries.set(code, merged(entries.get(code), kindsOf(kinds ?? "")));
  }
  return entries;
}

// A code on two lines can be either, and only the unit tells.
function merged(held: Kinds | undefined, more: Kinds): Kinds {
  if (held === undefined) return more;
  const kinds: readonly SensorKind[] = [...held.kinds, ...more.kinds];
  return { kinds, needsUnit: true };
}

/** What a short code can be; null for one that is not known. Case and a number at its end do not matter. */
export function kindsOfCode(code: string): Kinds | null {
  table ??= codeTable();
  const plain = code.trim().toLowerCase();
  const [, stem = ""] = /^([a-z]+)[_-]?\d{1,3}$/.exec(plain) ?? [];
  return table.get(plain) ?? table.get(stem) ?? null;
}
