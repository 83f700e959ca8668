/*
 * One spelling for each unit, as Home Assistant refuses a class with an unknown unit. Numbers are never converted here.
 * `μ` is always the Greek letter, to which Home Assistant converts the micro sign.
 */

const maxLength = 32;

/** One line a unit: its spelling, then further folded forms (see `folded`) that mean it. */
const spellings = `
°C = c oc degc deg.c celsius centigrade 'c 摄氏度 摄氏 度c
°F = f degf deg.f fahrenheit 华氏度
K = k kelvin
° = 度 deg degree degrees 角度
% = %rh rh% %r.h. r.h.% percent pct 百分比 百分号 %vwc vwc% %vol vol% v/v% %v/v %(v/v) %soc
ppm = 百万分之一 umol/mol
ppb
lx = lux 勒克斯 勒克司 勒
klx = klux kilolux 千勒克斯 千勒
μmol/m²/s = umol/m2/s umol/m2s umol/m2.s umol/m2*s umol/s/m2 umolm-2s-1 umol.m-2.s-1 umol/m2/sec umols-1m-2
mol/m²/d = mol/m2/d mol/m2/day mol/m2d mol/m2.d molm-2d-1
W/m² = w/m2 wm-2 w.m-2 w/sqm w/平方米 瓦/平方米 瓦每平方米
kW/m² = kw/m2 kwm-2
J/cm² = j/cm2
MJ/m² = mj/m2
mS/cm = ms/cm mscm-1 ms.cm-1 毫西门子/厘米 毫西/厘米 毫西门子每厘米
μS/cm = us/cm uscm-1 us.cm-1 微西门子/厘米 微西/厘米 微西门子每厘米
dS/m = ds/m dsm-1 ds.m-1
mS/m = ms/m
pH = ph
m/s = ms-1 m.s-1 m/sec mps 米/秒 米每秒
km/h = kmh kph kmh-1 km/hr 千米/小时 公里/小时
mph = mi/h
kn = kt knot knots
ft/s
hPa = hpa 百帕
kPa = kpa 千帕
Pa = pa 帕 帕斯卡
MPa = mpa 兆帕
mbar = mb 毫巴
bar = 巴
mmHg = mmhg 毫米汞柱
psi
mm = 毫米 millimeter millimetre
cm = 厘米 公分
m = 米
in = inch inches 英寸
mm/h = mm/hr mm/hour mmh-1 mm.h-1 毫米/小时 毫米每小时 毫米/时
mm/min = 毫米/分钟 毫米/分 mm/minute
mm/d = mm/day 毫米/天 毫米/日
in/h = in/hr
L/min = l/min lpm l/m l/minute 升/分钟 升/分 升每分钟
L/h = l/h l/hr lph 升/小时 升每小时 升/时
L/s = l/s 升/秒 升每秒
mL/min = ml/min
m³/h = m3/h m3/hr cmh m3h-1 立方米/小时 立方/小时 方/小时 立方米每小时 立方米/时
m³/min = m3/min
m³/s = m3/s
L = l liter litre liters litres 升
mL = ml 毫升
m³ = m3 立方米 立方 方 cbm
mg/L = mg/l mgl-1 毫克/升 毫克每升
g/L = g/l
mg/kg = 毫克/千克 毫克/公斤
g/m³ = g/m3
mg/m³ = mg/m3
μg/m³ = ug/m3
m³/m³ = m3/m3 m3m-3
V = v volt volts 伏 伏特
mV = mv 毫伏
A = a amp amps 安 安培
mA = ma 毫安
W = w watt 瓦
kW = kw 千瓦
Wh = wh
kWh = kwh 千瓦时 千瓦小时
Hz = hz 赫兹
dB = db 分贝
dBm = dbm
rpm = r/min 转/分 转/分钟
kg = 千克 公斤
g = 克
s = sec second seconds 秒
min = minute minutes 分钟
h = hr hour hours 小时
d = day days 天
`;

/** Words that mean "nothing", and for which fields: a `register` may hold a text such as `none`, and `Na` is a unit. */
const nothings: readonly (readonly [words: string, ...of: ("reading" | "unit" | "register")[]])[] = [
  ["- -- null undefined nan", "reading", "unit", "register"],
  ["--- — —— / \\ none nil n/a 无 暂无 无数据 无单位", "reading", "unit"],
  ["na", "reading"],
];

const nothingOf = (what: "reading" | "unit" | "register"): ReadonlySet<string> =>
  new Set(nothings.flatMap(([words, ...of]) => (of.includes(what) ? ["", ...words.split(" ")] : [])));

const nothing = { reading: nothingOf("reading"), unit: nothingOf("unit"), register: nothingOf("register") };

/** Whether a text means that there is no value. */
export const saysNothing = (text: string, what: keyof typeof nothing): boolean =>
  !startsWithDigit.test(text) && nothing[what].has(text.trim().normalize("NFKC").toLowerCase());

const wideDigit = /[０-９]/;
const wideNumber = /^[+\-＋－]?[\d０-９]+(?:[.．][\d０-９]+)?/;

/** A text with a leading number in full-width digits (`４５．５`) as plain digits. */
export const plainDigits = (text: string): string =>
  wideDigit.test(text) ? text.replace(wideNumber, (number) => number.normalize("NFKC")) : text;

/** Most texts begin so and need no further look. */
const startsWithDigit = /^\d/;

let table: ReadonlyMap<string, string> | null = null;

function unitTable(): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  for (const line of spellings.trim().split("\n")) {
    const [unit, forms] = line.split(" = ");
    if (unit === undefined) continue;
    for (const form of [unit, ...(forms?.split(" ") ?? [])]) entries.set(foldCase(form), unit);
  }
  return entries;
}

/** The common form of a unit's spellings, without width, case, exponents, dots, brackets and white space. */
function foldCase(text: string): string {
  return text
    .replace(/[˚º]/gu, "°")
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[∕⁄÷]/gu, "/")
    .replace(/[−‐‑–]/gu, "-")
    .replace(/[\p{White_Space}\p{Cf}^()[\]·⋅•・]/gu, "")
    .replaceAll("μ", "u");
}

/** Control characters and lone surrogates, which would not survive on the way to a broker. */
const unprintable = /[\p{Cc}\p{Cs}]/gu;

/**
 * One spelling for every form of a known unit (`℃` → `°C`, `%RH` → `%`, `us/cm` → `μS/cm`). Unknown text is trimmed and
 * cut to 32 characters; null for none.
 */
export function normaliseUnit(text: string | null): string | null {
  if (text === null) return null;
  const written = text
    .slice(0, 4 * maxLength)
    .replace(unprintable, "")
    .trim();
  if (saysNothing(written, "unit")) return null;
  const kept = Array.from(written).slice(0, maxLength).join("").trim();
  return knownUnit(written) ?? kept;
}

// `S`, `G` and `M` may be siemens, gauss and mega, or seconds, grams and metres, so they stay as written.
const ambiguous = /^[BDGHIJMNOPQRSTUXYZ]$/;

/** The spelling of a known unit, else null. */
export function knownUnit(text: string): string | null {
  if (ambiguous.test(text)) return null;
  table ??= unitTable();
  return table.get(foldCase(text)) ?? null;
}
