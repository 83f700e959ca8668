import { clamp } from "./weather.js";

export type NameLanguage = "en" | "zh";

/* What the simulated platform calls things. Sensors keep their Chinese names, as a real platform's do. */

/** `{}` stands for a number. */
const words: Readonly<Record<string, string>> = {
  左天窗: "Left skylight",
  右天窗: "Right skylight",
  内遮阳: "Inner shade",
  外遮阳: "Outer shade",
  侧通风窗: "Side vent",
  内保温: "Thermal curtain",
  百叶窗: "Louvre",
  百叶窗开度: "Louvre position",
  风机湿帘: "Fans and wet curtain",
  循环风机: "Circulation fan",
  补光灯: "Grow light",
  卷膜电机: "Film roller",
  CO2补气: "CO2 supply",
  热风炉: "Hot-air stove",
  微雾降温: "Mist cooling",
  备用输出: "Spare output",
  EC目标值: "EC target",
  目标温度: "Target temperature",
  开窗温差: "Venting difference",
  综合温度: "Combined temperature",
  平台报表: "Platform report",
  EC上限: "High EC limit",
  pH下限: "Low pH limit",
  废液回收模式: "Waste-liquid recovery",
  寿光: "Shouguang",
  兰陵: "Lanling",
  章丘: "Zhangqiu",
  金乡: "Jinxiang",
  莘县: "Shenxian",
  青州: "Qingzhou",
  昌乐: "Changle",
  临淄: "Linzi",
  安丘: "Anqiu",
  平度: "Pingdu",
  "{}号日光温室": "Greenhouse {}",
  "{}号水肥一体机": "Fertilizer machine {}",
  "{}号气象站": "Weather station {}",
  "{}号虫情测报灯": "Pest lamp {}",
  "{}号球机": "Dome camera {}",
  "{}号云摄像机": "Cloud camera {}",
  "灌溉方案{}": "Irrigation plan {}",
  "配方{}": "Formula {}",
  "通道{}校准": "Channel {} calibration",
};

/** A Chinese name of the simulated account in the language asked for; a name without a translation stays. */
export function nameIn(language: NameLanguage, chinese: string): string {
  if (language === "zh") return chinese;
  const [number = ""] = /\d+/.exec(chinese) ?? [];
  return words[chinese] ?? words[chinese.replace(number, "{}")]?.replace("{}", number) ?? chinese;
}

/** The `nth` station, from 0. */
function stationName(language: NameLanguage, nth: number): string {
  const place = nameIn(language, places[nth % places.length] ?? "");
  const round = Math.floor(nth / places.length) + 1;
  const number = round === 1 ? "" : String(round);
  return language === "zh" ? `${place}${number}示范园` : `${place} farm${number === "" ? "" : ` ${number}`}`;
}

interface Station {
  readonly id: number;
  readonly name: string;
}

/** A device of the account. `isController` tells whether the list of all controllers shows it. */
export interface Device {
  readonly code: string;
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly station: Station;
  readonly isController: boolean;
}

export interface Account {
  readonly stations: readonly Station[];
  /** In the order lists show them. */
  readonly devices: ReadonlyMap<string, Device>;
}

/** `all`: every device type of the interface; `C001`: nothing but sunlight greenhouse controllers. */
export type AccountMix = "all" | "C001";

export const typeNames: ReadonlyMap<string, string> = new Map([
  ["C001", "日光温室控制器"],
  ["C003", "水肥一体机"],
  ["W001", "数据采集器"],
  ["V003", "虫情监测"],
  ["V008", "国标视频"],
  ["V009", "云联视频"],
]);

const places = ["寿光", "兰陵", "章丘", "金乡", "莘县", "青州", "昌乐", "临淄", "安丘", "平度"];
const perStation = 12;
const mostStations = 50;

const padded = (n: number): string => String(n).padStart(4, "0");

/** The second, tenth, eighteenth ... controller is a fertilizer machine, the others are greenhouses. */
const typeOf = (n: number, mix: AccountMix): string => (mix === "all" && n % 8 === 2 ? "C003" : "C001");

function controller(n: number, station: Station, mix: AccountMix): Device {
  const type = typeOf(n, mix);
  const [prefix, name] = type === "C003" ? ["FM", `${n}号水肥一体机`] : ["GH", `${n}号日光温室`];
  return { code: `${prefix}-${padded(n)}`, id: 100_000 + n, name, type, station, isController: true };
}

const extras = [
  ["WS", "W001", "号气象站"],
  ["PM", "V003", "号虫情测报灯"],
  ["CAM", "V008", "号球机"],
  ["CLD", "V009", "号云摄像机"],
] as const;

function extrasOf(station: Station): readonly Device[] {
  return extras.map(([prefix, type, name], index) => ({
    code: `${prefix}-${padded(station.id)}`,
    id: 900_000 + station.id * 10 + index,
    name: `${station.id}${name}`,
    type,
    station,
    isController: false,
  }));
}

/**
 * An account of `controllers` (1 to 10,000) controllers in stations of at least twelve. With the mix `all`, each station
 * also has a weather station and three kinds of cameras, which come on top of that number.
 */
export function accountOf(controllers: number, mix: AccountMix, language: NameLanguage = "zh"): Account {
  const count = clamp(Math.floor(controllers), 1, 10_000);
  const stationCount = clamp(Math.ceil(count / perStation), 1, mostStations);
  const stations = Array.from({ length: stationCount }, (_, index) => ({
    id: index + 1,
    name: stationName(language, index),
  }));
  const devices = new Map<string, Device>();
  for (let n = 1; n <= count; n++) {
    const station = stations[Math.floor(((n - 1) * stationCount) / count)];
    if (!station) continue;
    const device = controller(n, station, mix);
    devices.set(device.code, { ...device, name: nameIn(language, device.name) });
  }
  for (const device of mix === "all" ? stations.flatMap(extrasOf) : [])
    devices.set(device.code, { ...device, name: nameIn(language, device.name) });
  return { stations, devices };
}
