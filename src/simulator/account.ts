import { clamp } from "./weather.js";

export type NameLanguage = "en" | "zh";

/** Names of a thing of the account; sensors keep their Chinese names, as on a real platform. */
export type Names = Readonly<Record<NameLanguage, string>>;

interface Station {
  readonly id: number;
  readonly name: string;
}

/** A device of the account. `isController`: whether the list of all controllers shows it. */
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
  /** In the order of the lists. */
  readonly devices: ReadonlyMap<string, Device>;
}

/** `all`: every device type of the interface; `C001`: nothing but sunlight greenhouse controllers. */
export type AccountMix = "all" | "C001";

/** A device type of the interface (system 1), with the lists that contain its devices. */
interface DeviceType {
  readonly title: string;
  readonly prefix: string;
  readonly nameOf: (n: number) => Names;
  readonly lists: readonly ("TEXT" | "STREAM")[];
}

const type = (
  title: string,
  prefix: string,
  nameOf: DeviceType["nameOf"],
  ...lists: DeviceType["lists"]
): DeviceType => ({ title, prefix, nameOf, lists });

const types = {
  C001: type("日光温室控制器", "GH", (n) => ({ zh: `${n}号日光温室`, en: `Greenhouse ${n}` }), "TEXT"),
  C003: type("水肥一体机", "FM", (n) => ({ zh: `${n}号水肥一体机`, en: `Fertilizer machine ${n}` }), "TEXT"),
  W001: type("数据采集器", "WS", (n) => ({ zh: `${n}号气象站`, en: `Weather station ${n}` }), "TEXT"),
  V003: type("虫情监测", "PM", (n) => ({ zh: `${n}号虫情测报灯`, en: `Pest lamp ${n}` }), "TEXT", "STREAM"),
  V008: type("国标视频", "CAM", (n) => ({ zh: `${n}号球机`, en: `Dome camera ${n}` }), "STREAM"),
  V009: type("云联视频", "CLD", (n) => ({ zh: `${n}号云摄像机`, en: `Cloud camera ${n}` }), "TEXT", "STREAM"),
};

export const deviceTypes: ReadonlyMap<string, DeviceType> = new Map(Object.entries(types));

/** Device types that each station has beside its controllers. */
const extras = ["W001", "V003", "V008", "V009"] as const;

const places: readonly Names[] = Object.entries({
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
}).map(([zh, en]) => ({ zh, en }));
const perStation = 12;
const mostStations = 50;

/** The name of station number `nth`, from 0. */
function stationName(language: NameLanguage, nth: number): string {
  const place = places[nth % places.length]?.[language] ?? "";
  const round = Math.floor(nth / places.length) + 1;
  if (language === "zh") return `${place}${round === 1 ? "" : round}示范园`;
  return `${place} farm${round === 1 ? "" : ` ${round}`}`;
}

/**
 * An account of `controllers` (1 to 10,000) controllers in stations of at least twelve. With the mix `all`, the second,
 * tenth, eighteenth ... is a fertilizer machine. Each station then has a weather station and three kinds of cameras in
 * addition.
 */
export function accountOf(controllers: number, mix: AccountMix, language: NameLanguage = "zh"): Account {
  const count = clamp(Math.floor(controllers), 1, 10_000);
  const stationCount = clamp(Math.ceil(count / perStation), 1, mostStations);
  const stations = Array.from({ length: stationCount }, (_, index) => ({
    id: index + 1,
    name: stationName(language, index),
  }));
  const devices = new Map<string, Device>();
  const add = (type: keyof typeof types, n: number, id: number, station: Station, isController: boolean) => {
    const { prefix, nameOf } = types[type];
    const code = `${prefix}-${String(n).padStart(4, "0")}`;
    devices.set(code, { code, id, name: nameOf(n)[language], type, station, isController });
  };
  for (let n = 1; n <= count; n++) {
    const station = stations[Math.floor(((n - 1) * stationCount) / count)];
    if (station) add(mix === "all" && n % 8 === 2 ? "C003" : "C001", n, 100_000 + n, station, true);
  }
  for (const station of mix === "all" ? stations : [])
    extras.forEach((type, index) => add(type, station.id, 900_000 + station.id * 10 + index, station, false));
  return { stations, devices };
}
