import { nameIn, type NameLanguage } from "./names.js";
import { clamp } from "./noise.js";

export interface Station {
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
    name: nameIn(
      language,
      `${places[index % places.length] ?? ""}${index < places.length ? "" : Math.floor(index / places.length) + 1}示范园`,
    ),
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
