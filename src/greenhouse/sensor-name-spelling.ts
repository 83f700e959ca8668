import { acceptsUnit, type SensorKind, sensorKinds } from "./sensors.js";

/* One spelling for names that differ only in width, script variant, case, brackets or white space. */

// Traditional characters of the catalogue's words, each followed by the simplified one.
const variants =
  "溫温濕湿氣气濃浓壓压風风電电導导養养營营進进內内葉叶輻辐強强層层號号測测飽饱虧亏總总傳传時时當当點点採采個个莖茎稈秆質质區区東东後后間间邊边側侧頂顶" +
  "陽阳範范濁浊鹽盐氫氢離离設设備备機机櫃柜環环蓋盖兩两車车際际樣样積积發发勢势礦矿實实降降蓄蓄漿浆長长徑径訊讯號号噪噪聲声臟脏舊旧極极紫紫線线雙双緩缓淨净廢废" +
  "補补給给過过濾滤滲渗壤壤場场體体無无雲云熱热暖暖廠厂處处滴滴灑洒溉溉溶溶鉀钾鈣钙銨铵類类擴扩數数據据雜杂頻频轉转瞬瞬爐炉棟栋";

const simplified = new Map<string, string>();
for (let place = 0; place < variants.length; place += 2)
  simplified.set(variants.charAt(place), variants.charAt(place + 1));

/** Normalised for reading: simplified characters, lower case, one kind of bracket, single spaces. Word breaks stay. */
export function readable(name: string): string {
  return Array.from(name.normalize("NFKC").toLowerCase(), (char) => simplified.get(char) ?? char)
    .join("")
    .replace(/\p{Cf}/gu, "")
    .replace(/[[{【〔〖「『<《]/gu, "(")
    .replace(/[\]}】〕〗」』>》]/gu, ")")
    .replace(/[\p{White_Space}]+/gu, " ")
    .trim();
}

/** Normalised for look-up: word breaks and punctuation between words are removed too (`soil_temp` = `Soil Temp`). */
export const compact = (name: string): string => readable(name).replace(/[ _\-–—.·•:;,、，/'"|&]/gu, "");

const numerals = "零一二三四五六七八九十";

/** A Chinese numeral in digits; anything else as it is. */
export const digits = (text: string): string =>
  numerals.includes(text) ? String(numerals.indexOf(text)) : text;

/** The kinds that a name can mean; the first one where no unit decides, unless the name needs a unit. */
export interface Kinds {
  readonly kinds: readonly SensorKind[];
  readonly needsUnit: boolean;
}

/** Parses `rain+rain_rate` or `?battery+voltage`. */
export function kindsOf(text: string): Kinds {
  const needsUnit = text.startsWith("?");
  const words = (needsUnit ? text.slice(1) : text).split("+");
  return { kinds: sensorKinds.filter((kind) => words.includes(kind)).sort(byPlaceIn(words)), needsUnit };
}

const byPlaceIn = (words: readonly string[]) => (one: SensorKind, other: SensorKind) =>
  words.indexOf(one) - words.indexOf(other);

/** The kind that fits the unit; `other` where none does, or a needed unit is missing. */
export function kindWithUnit({ kinds, needsUnit }: Kinds, unit: string | null): SensorKind {
  if (unit === null) return needsUnit ? "other" : (kinds[0] ?? "other");
  return kinds.find((kind) => acceptsUnit(kind, unit)) ?? "other";
}
