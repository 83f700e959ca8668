import { knownName } from "./known-name.js";
import { statusWord } from "./status-names.js";

export type NameLanguage = "en" | "zh";

/** Written another way than as a plain word. */
const spellings: ReadonlyMap<string, string> = new Map(
  Object.entries({
    co2: "CO2",
    ec: "EC",
    ph: "pH",
    par: "PAR",
    vpd: "VPD",
    uv: "UV",
    tds: "TDS",
    orp: "ORP",
    tvoc: "TVOC",
    pm25: "PM2.5",
    pm10: "PM10",
  }),
);

const isChinese = (name: string): boolean => /\p{Script=Han}/u.test(name);

/** `soil_temperature_10cm_zone_a` → `Soil temperature 10 cm zone A`. */
export function englishName(word: string): string {
  const text = word
    .split("_")
    .map(
      (part) =>
        spellings.get(part) ??
        part.replace(/^(\d+)cm$/, "$1 cm").replace(/^[a-h]$/, (one) => one.toUpperCase()),
    )
    .join(" ");
  return text.startsWith("pH") ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

/** A sensor's name in a language; null where the catalogue does not know it or it is in that language already. */
export function translatedSensorName(name: string, language: NameLanguage): string | null {
  if (isChinese(name) === (language === "zh")) return null;
  const known = knownName(name);
  if (known === null) return null;
  return language === "en" ? englishName(known.word) : known.chinese;
}

/** As above, of a running status. */
export function translatedStatusName(name: string, language: NameLanguage): string | null {
  const word = language === "en" ? statusWord(name) : null;
  return word === null ? null : englishName(word);
}
