/** The zone of all times that the simulated platform writes: Asia/Shanghai, which has no summer time. */
const platformZoneOffsetMs = 8 * 3_600_000;

/** `YYYY-MM-DD HH:mm:ss` in Asia/Shanghai. */
export function localText(at: number): string {
  const iso = new Date(at + platformZoneOffsetMs).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}

/** Hours since local midnight, with fractions. */
export const localHour = (at: number): number => ((((at + platformZoneOffsetMs) / 3_600_000) % 24) + 24) % 24;

/** Whole local days since 1970. */
export const localDay = (at: number): number => Math.floor((at + platformZoneOffsetMs) / 86_400_000);

/*
 * Random numbers without state: one seed and one index always give the same number, whatever was read before. So 10,000
 * controllers are computed only when somebody looks at them.
 */

/** Mixes two integers into an unsigned 32-bit one. */
export function mix(a: number, b: number): number {
  let h = (Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35)) >>> 0;
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return (h ^ (h >>> 15)) >>> 0;
}

/** A number in [0, 1) for this seed and index. */
export function chanceAt(seed: number, index: number): number {
  return mix(seed, index) / 4_294_967_296;
}

/** An unsigned 32-bit number for a text (FNV-1a). */
export function textSeed(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

/** A smooth curve in [0, 1) through one random value at each whole `x`. */
function smoothChance(seed: number, x: number): number {
  const index = Math.floor(x);
  const part = x - index;
  const eased = part * part * (3 - 2 * part);
  const before = chanceAt(seed, index);
  return before + (chanceAt(seed, index + 1) - before) * eased;
}

export const clamp = (value: number, low: number, high: number): number =>
  value < low ? low : value > high ? high : value;

/** 32 hexadecimal digits for this seed and index; for ids, never for secrets. */
export function hexAt(seed: number, index: number): string {
  let text = "";
  for (let part = 0; part < 4; part++)
    text += mix(mix(seed, part + 1), index)
      .toString(16)
      .padStart(8, "0");
  return text;
}

/** The same digits in the form of a UUID. */
export function uuidAt(seed: number, index: number): string {
  const hex = hexAt(seed, index);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/** The weather outdoors at one time. */
export interface Weather {
  readonly temperatureC: number;
  readonly humidityPct: number;
  readonly irradianceWm2: number;
  readonly cloud: number;
  readonly windMs: number;
  readonly windDirectionDeg: number;
  readonly rainMmH: number;
  readonly pressureHpa: number;
}

/** Bad weather on request; `showers`: rain that comes and goes every few minutes. */
export type Forced = "storm" | "rain" | "showers" | null;

const hourMs = 3_600_000;
const latitude = (36.9 * Math.PI) / 180;

/** The weather at a time (epoch ms) with this seed, around 37° north in eastern China. */
export function weatherAt(at: number, seed: number, forced: Forced): Weather {
  const hours = at / hourMs;
  const curve = (part: number, everyHours: number) => smoothChance(mix(seed, part), hours / everyHours);
  const season = Math.cos((2 * Math.PI * ((localDay(at) % 365.25) - 200)) / 365.25);
  const natural = clamp(1.5 * curve(1, 7) + 0.4 * curve(2, 1.3) - 0.55, 0, 1);
  const cloud = forced === null ? natural : Math.max(natural, 0.9);
  const stormy = forced === "storm" || curve(3, 11) > 0.97;
  const isDry = forced === "showers" && curve(13, 0.1) < 0.5;
  const rainMmH = isDry ? 0 : rainRate(forced, stormy, cloud, curve(4, 2.5));
  const swing = (6.5 - 3.5 * cloud) * Math.cos((2 * Math.PI * (localHour(at) - 14.5)) / 24);
  const temperatureC =
    13.5 + 14 * season + 7 * (curve(5, 60) - 0.5) + swing - (rainMmH > 0 ? 2 : 0) - (stormy ? 2 : 0);
  const gust = 2.2 * curve(7, 0.07) * (0.4 + curve(6, 5));
  return {
    temperatureC,
    humidityPct: clamp(
      52 + 30 * cloud - 2.6 * swing + (rainMmH > 0 ? 18 : 0) + 12 * (curve(8, 9) - 0.5),
      12,
      99,
    ),
    irradianceWm2: 1040 * sunHeight(at) ** 1.15 * (1 - 0.76 * cloud ** 1.6),
    cloud,
    windMs: 0.4 + 5 * curve(6, 5) ** 2 + gust + (stormy ? 15 + 5 * curve(7, 0.1) : 0),
    windDirectionDeg: (720 * curve(9, 30) + 40 * curve(10, 0.5)) % 360,
    rainMmH,
    pressureHpa: 1013 + 14 * (curve(11, 70) - 0.5) - 4 * season - (stormy ? 6 : 0),
  };
}

function rainRate(forced: Forced, stormy: boolean, cloud: number, wetness: number): number {
  if (forced === "storm" || stormy) return 18 + 14 * wetness;
  if (forced !== null) return 3 + 5 * wetness;
  return cloud > 0.8 && wetness > 0.55 ? 12 * (wetness - 0.55) : 0;
}

/** Sine of the sun's elevation, 0 at night. */
function sunHeight(at: number): number {
  const tilt = 0.409 * Math.sin((2 * Math.PI * ((localDay(at) % 365.25) - 80)) / 365.25);
  const angle = (Math.PI * (localHour(at) - 12)) / 12;
  const sine = Math.sin(latitude) * Math.sin(tilt) + Math.cos(latitude) * Math.cos(tilt) * Math.cos(angle);
  return Math.max(0, sine);
}

interface Spell {
  readonly kind: NonNullable<Forced> | "gusts";
  readonly from: number;
  readonly to: number;
  /** For gusts: the wind speed, m/s. */
  readonly windMs: number;
}

const gustMs = 5_000;

const remembered = 4096;

/** The sky over the whole account, with storms and rains on request; remembers recent minutes. */
export class Sky {
  readonly #seed: number;
  readonly #minutes = new Map<number, Weather>();
  #spells: Spell[] = [];

  constructor(seed: number) {
    this.#seed = mix(seed, 77);
  }

  /** The weather of the minute that contains this time. */
  at(instant: number): Weather {
    const minute = Math.floor(instant / 60_000);
    const known = this.#minutes.get(minute);
    if (known) return known;
    if (this.#minutes.size >= remembered) this.#minutes.clear();
    const weather = this.#weather(minute * 60_000, minute * 60_000 + 59_999);
    this.#minutes.set(minute, weather);
    return weather;
  }

  /** The weather as sensors feel it: wind in gusts of seconds, and a spell from its very beginning. */
  felt(instant: number): Weather {
    const weather = this.#weather(instant, instant);
    const gust = 0.85 + 0.3 * smoothChance(mix(this.#seed, 12), instant / gustMs);
    return { ...weather, windMs: weather.windMs * gust };
  }

  /** Forces bad weather from one time to another (`Infinity`: until `calm`); gusts with a wind speed in m/s. */
  force(kind: Spell["kind"], from: number, to: number, windMs = 0): void {
    this.#spells = [...this.#spells.slice(-63), { kind, from, to, windMs }];
    this.#minutes.clear();
  }

  /** Ends all forced weather. */
  calm(at: number): void {
    this.#spells = this.#spells.map((spell) => (spell.to > at ? { ...spell, to: at } : spell));
    this.#minutes.clear();
  }

  #weather(instant: number, spellsAt: number): Weather {
    const now = this.#spells.filter((spell) => spell.from <= spellsAt && spellsAt < spell.to);
    const forced = (["storm", "rain", "showers"] as const).find((kind) =>
      now.some((spell) => spell.kind === kind),
    );
    const weather = weatherAt(instant, this.#seed, forced ?? null);
    return { ...weather, windMs: Math.max(weather.windMs, ...now.map(({ windMs }) => windMs)) };
  }
}

/** How far one controller's surroundings are from the account's average, -1 to 1. */
export const peculiarity = (seed: number, index: number): number => 2 * chanceAt(seed, index) - 1;
