import { Chance } from "../simulation/scenario.js";

/*
 * A platform whose every answer is drawn from a seed, written from the interface document alone: what the document shows is as shown, and
 * each of its "not shown" is filled in by one of several ways that its words allow. It shares no line with the simulated platform, with
 * the program or with the second platform beside it.
 */

type Fields = Readonly<Record<string, unknown>>;
type Group = "window" | "machine" | "fans" | "plan" | "light" | "motor" | "setting";

/** "Control values": what each device takes, word by word of the bridge. */
const takes: Readonly<Record<Group, Readonly<Record<string, string>>>> = {
  window: { open: "10010", close: "10001", auto: "11000", position: "10100" },
  machine: { on: "1010", off: "1001", auto: "1100" },
  fans: { all_on: "11110", fans_1_2_3: "11100", fans_1_2: "11000", fan_1: "10000", off: "00000" },
  plan: { on: "1010", off: "1001", auto: "1100", rotation: "11111111" },
  light: { on: "1010", off: "1001", auto: "1100" },
  motor: { stop: "00000100", open: "00000001", close: "00000010" },
  setting: {},
};

interface Register {
  readonly address: string;
  /** Control-parameter type; null where the document has none. */
  readonly type: number | null;
  readonly group: Group;
  value: string;
  next: { readonly value: string; readonly from: number; readonly at: number; readonly until: number } | null;
  /** Of a light: `1010` was sent, as it demands. */
  isLit: boolean;
  /** What came last to this address. */
  sent: string;
}

const devices: readonly (readonly [type: number | null, group: Group])[] = [
  ...([2, 4, 7, 3, 41, 146, 157] as const).map((type) => [type, "window"] as const),
  ...([190, 195, 201] as const).map((type) => [type, "plan"] as const),
  ...[[10, "fans"] as const, [11, "machine"] as const, [12, "light"] as const],
  ...[[212, "setting"] as const, [null, "machine"] as const, [null, "motor"] as const],
];

/** Where a device stands when it is met first. */
const standing: Readonly<Record<Group, readonly string[]>> = {
  window: ["10001", "10010", "11000", "10100", "0", "30", "100"],
  machine: ["1001", "1010", "1100"],
  fans: ["00000", "11100", "11110"],
  plan: ["1001", "1100", "11111111"],
  light: ["1001", "1010", "1100"],
  motor: ["00000100"],
  setting: ["180", "25"],
};

const isDegree = (value: string): boolean => /^(?:\d|[1-9]\d|100)$/.test(value);

/** What the document leaves open, as this seed has it. */
function drawnManners(chance: Chance) {
  return {
    envelope: chance.of(["plain", "text code", "flagged", "json text"] as const),
    list: chance.of(["array", "list", "content", "beside", "keyed"] as const),
    register: chance.of(["text", "number", "value", "val", "currentValue", "item"] as const),
    degree: chance.of(["plain", "fraction", "percent", "percent apart", "measured", "wide"] as const),
    group: chance.of(["keyed", "items", "short items", "below the device", "beside the device"] as const),
    moving: chance.of(["set", "travelling"] as const),
    wants: chance.of(["any degree mode", "the mode just sent"] as const),
    light: chance.of(["once", "after each off", "while on"] as const),
    echo: chance.of(["data", "flat", "nothing", "numbers"] as const),
    unknown: chance.of(["absent", "null", "code", "no data"] as const),
    status: chance.of(["number", "text", "flag"] as const),
    online: chance.of(["flag", "number", "text"] as const),
    time: chance.of(["local", "slashes", "iso", "zone", "ms", "s"] as const),
    sensors: chance.of(["name", "sensorName", "title", "factorName"] as const),
    addresses: chance.of(["40001", "0100", "D10", "M0.1"] as const),
    lagMs: chance.whole(0, 1_500),
    long: chance.hits(0.5),
    mark: chance.hits(0.3),
    row: chance.of(["items", "items", "names", "codes"] as const),
    statuses: chance.of(["items", "items", "numbers", "names"] as const),
    nothing: chance.of(["left out", "null", "empty"] as const),
    /** Set points that a type lists beside its device. */
    beside: chance.of([0, 0, 3] as const),
  };
}

export type Manners = ReturnType<typeof drawnManners>;

const code = "8C4B14A0F2";
const travelMs = 20_000;

const addressOf = (first: Manners["addresses"], n: number): string => {
  if (first === "40001") return String(40_001 + n);
  if (first === "0100") return String(100 + n).padStart(4, "0");
  return first === "D10" ? `D${10 + n}` : `M0.${1 + n}`;
};

export interface Post {
  readonly address: string;
  readonly value: string;
  /** It had an effect. */
  readonly isTaken: boolean;
}

export interface Asked {
  readonly host: "business" | "realtime";
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string | null;
}

const sensorNames = [
  ["棚内温度", 21.4, "℃"],
  ["棚内湿度", 63, "%"],
  ["CO2浓度", 655, "ppm"],
] as const;

export class DrawnPlatform {
  readonly code = code;
  readonly manners: Manners;
  readonly posts: Post[] = [];
  readonly registers: ReadonlyMap<string, Register>;
  #now = 0;
  /** `flush` ("1 forces a fresh read") has to be there in each read of a value. */
  readonly #wantsFlush: boolean;

  constructor(seed: number, wantsFlush = false) {
    this.#wantsFlush = wantsFlush;
    this.manners = drawnManners(new Chance(seed, "drawn from the document"));
    const chance = new Chance(seed, "where devices stand");
    this.registers = new Map(
      devices.map(([type, group], n) => {
        const address = addressOf(this.manners.addresses, n);
        const value = chance.of(standing[group]);
        return [address, { address, type, group, value, next: null, isLit: false, sent: "" }];
      }),
    );
  }

  /** The words that it takes at an address, and two degrees. */
  wordsOf({ group }: Register): readonly string[] {
    const words = Object.keys(takes[group]).filter((word) => word !== "position");
    return group === "window" ? ["open", "45", "close", "auto", "0", "100"] : words;
  }

  /** What a register holds at an instant. */
  heldAt(one: Register, now: number): string {
    this.#now = now;
    return this.#held(one);
  }

  /** Which of the three fans and the wet curtain run. */
  running(now: number): readonly boolean[] {
    this.#now = now;
    const fans = [...this.registers.values()].find(({ group }) => group === "fans");
    const bits = fans === undefined ? "" : this.#held(fans);
    return [0, 1, 2, 3].map((n) => bits[n] === "1");
  }

  /** What a word leaves in its register. */
  valueOf({ group }: Register, word: string): string {
    return takes[group][word] ?? word;
  }

  answer(asked: Asked, now: number): { readonly status: number; readonly body: string } {
    this.#now = now;
    if (asked.host === "business" && asked.headers["authorization"] === undefined)
      return { status: 403, body: JSON.stringify({ error: "Forbidden", message: "Access Denied" }) };
    const found = this.#found(asked);
    const body = JSON.stringify(found ?? { code: 404, message: "no such operation" });
    // A Long beyond 2^53 stands in the text as it is.
    const long = body.replace(/"customerId":"(\d+)"/g, '"customerId":$1');
    return { status: found === null ? 404 : 200, body: this.manners.mark ? `\uFEFF${long}` : long };
  }

  #found({ method, path, query, body }: Asked): Fields | null {
    if (method === "POST") return path === "/api/set-value" ? this.#set(body ?? "") : null;
    const { deviceCode = "", address = "", deviceTypeId = "" } = query;
    const answers: Readonly<Record<string, () => Fields>> = {
      "/api/station": () => this.#listed([["31", { id: 31, name: "East farm" }]]),
      "/api/device": () => this.#listed([[code, this.#item()]]),
      "/api/control/mqtt": () => this.#controllers(),
      "/api/mqtt-client-status": () => this.#status(deviceCode),
      "/api/sensor-data": () => this.#sensors(deviceCode),
      "/api/device_status": () => this.#running(),
      "/api/get-value": () =>
        this.#wantsFlush && query["flush"] === undefined
          ? { code: 400, message: "Required request parameter 'flush' is not present" }
          : this.#value(address),
      "/api/set-value/flush": () => this.#listing(deviceTypeId),
      "/api/weather-data/list": () => this.#around([]),
      "/api/weather-data/avg": () => this.#around([]),
      "/api/video-data/list": () => this.#around([]),
    };
    return answers[path]?.() ?? null;
  }

  /** `{code, message, data}`, as "the platform's general convention suggests". */
  #around(data: unknown, beside: Fields = {}): Fields {
    const { envelope } = this.manners;
    const told = { requestId: "0b7e6f6e-5b0c-4d0c-8a51-6f1c0f6f0f11", timestamp: this.#now };
    if (envelope === "text code") return { code: "200", message: "success", data, ...beside };
    if (envelope === "flagged") return { ...told, code: 200, success: true, data, ...beside };
    if (envelope === "json text" && typeof data === "object" && data !== null)
      return { code: 200, message: "success", data: JSON.stringify(data), ...beside };
    return { code: 200, message: "success", data, ...beside };
  }

  #listed(named: readonly (readonly [key: string, item: Fields])[]): Fields {
    const items = named.map(([, item]) => item);
    const total = items.length;
    switch (this.manners.list) {
      case "array":
        return this.#around(items);
      case "list":
        return this.#around({ list: items, total, pageNum: 1, pageSize: 100 });
      case "content":
        return this.#around({ content: items, totalElements: total, totalPages: 1 });
      case "beside":
        return { code: 200, msg: "操作成功", rows: items, total };
      case "keyed":
        return this.#around(Object.fromEntries(named));
    }
  }

  #item(): Fields {
    const customerId = this.manners.long ? "1680236549218304003" : 99;
    return {
      ...{
        id: 7,
        code,
        name: "House 1",
        deviceTypeId: "C001",
        deviceTypeName: "sunlight greenhouse controller",
      },
      ...{ stationId: 31, stationName: "East farm", customerId, sortOrder: 1, deviceBrand: "", hls: "" },
      ...{ channel: 1, number: 1, version: 4 },
      ...{
        "left out": {},
        null: { tag: null, prefix: null, type: null },
        empty: { tag: "", prefix: "", type: "" },
      }[this.manners.nothing],
    };
  }

  /** The envelope that the document shows. */
  #controllers(): Fields {
    const online = { flag: true, number: 1, text: "true" }[this.manners.online];
    return {
      ...{ requestId: "0b7e6f6e-5b0c-4d0c-8a51-6f1c0f6f0f12", code: 200 },
      ...{ data: [{ ...this.#item(), online }], timestamp: this.#now, success: true },
    };
  }

  #status(device: string): Fields {
    if (device !== code)
      return {
        ...{ code: 200, message: { code: "CLIENTID_NOT_FOUND", message: "not found" } },
        data: { status: 0, type: 2 },
      };
    const since = this.#time(this.#now - 3_600_000);
    const latest_online_datetime = this.manners.long ? String(since) : "";
    const data = { status: 1, type: 2, version: 4, description: null, latest_online_datetime };
    return { code: 200, message: "success", data };
  }

  #time(at: number): string | number {
    const local = new Date(at + 8 * 3_600_000).toISOString().slice(0, 19).replace("T", " ");
    const forms: Readonly<Record<Manners["time"], string | number>> = {
      ...{ local, slashes: local.replaceAll("-", "/"), iso: new Date(at).toISOString() },
      ...{ zone: `${local.replace(" ", "T")}+08:00`, ms: at, s: Math.floor(at / 1_000) },
    };
    return forms[this.manners.time];
  }

  #sensors(device: string): Fields {
    if (device !== code) return this.#around([]);
    const dateTime = this.#time(this.#now);
    const { row } = this.manners;
    if (row === "names")
      return this.#around({
        dateTime,
        ...Object.fromEntries(sensorNames.map(([name, value]) => [name, value])),
      });
    if (row === "codes") return this.#around([{ dateTime, airTemp: 21.4, airHumi: 63, co2: 655 }]);
    const named = sensorNames.map(([name, value, unit]) => {
      const forms: Readonly<Record<Manners["sensors"], Fields>> = {
        name: { name, value, unit, dateTime },
        sensorName: { sensorName: name, sensorValue: String(value), sensorUnit: unit, dateTime },
        title: { title: name, val: value, unitName: unit, dateTime },
        factorName: { factorName: name, factorValue: `${value}${unit}`, dateTime },
      };
      return [name, forms[this.manners.sensors]] as const;
    });
    return this.#listed(named);
  }

  #running(): Fields {
    const running = this.running(this.#now);
    const items = (["一级风机", "二级风机", "三级风机", "湿帘"] as const).map((name, n) => {
      const runs = running[n] === true;
      const status = { number: Number(runs), text: String(Number(runs)), flag: runs }[this.manners.status];
      return [name, { name, deviceTypeNumber: 16 + n, status }] as const;
    });
    const { statuses } = this.manners;
    if (statuses === "items") return this.#listed(items);
    const keyOf = ([name, one]: (typeof items)[number]) =>
      [statuses === "names" ? name : String(one.deviceTypeNumber), one.status] as const;
    return this.#around(Object.fromEntries(items.map(keyOf)));
  }

  /** What a register holds now, after what was on its way. */
  #held(one: Register): string {
    const { next } = one;
    if (next === null || this.#now < next.at) return one.value;
    if (this.manners.moving === "travelling" && isDegree(next.value) && this.#now < next.until) {
      const share = (this.#now - next.at) / Math.max(1, next.until - next.at);
      return String(Math.round(next.from + (Number(next.value) - next.from) * share));
    }
    one.value = next.value;
    one.next = null;
    return one.value;
  }

  #written(one: Register): unknown {
    const held = this.#held(one);
    const isOpening = one.group === "window" && isDegree(held);
    const text = isOpening ? this.#degree(held) : held;
    const { register } = this.manners;
    if (register === "text") return text;
    if (register === "number") return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
    if (register === "item") return { address: one.address, value: text };
    return { [register]: text, dateTime: this.#time(this.#now) };
  }

  /** An integer from 0 to 100, as a device may have measured it. */
  #degree(held: string): string {
    const measured = Math.min(100, Math.max(0, Number(held) - 0.3));
    const forms: Readonly<Record<Manners["degree"], string>> = {
      ...{ plain: held, fraction: `${held}.0`, percent: `${held}%`, "percent apart": `${held} %` },
      measured: measured === 100 || measured === 0 ? held : measured.toFixed(1),
      wide: held.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    };
    return forms[this.manners.degree];
  }

  #value(address: string): Fields {
    const one = this.registers.get(address);
    if (one !== undefined) return this.#around({ [address]: this.#written(one) });
    const { unknown } = this.manners;
    if (unknown === "code") return { code: 40_402, message: { code: "ADDRESS", message: "地址不存在" } };
    if (unknown === "no data") return this.#around(null);
    return this.#around(unknown === "null" ? { [address]: null } : {});
  }

  #setPoints(type: number): readonly Register[] {
    return ["45", "250", "7"].slice(0, this.manners.beside).map((value, n) => {
      const address = String(50_000 + 10 * type + n);
      return { address, type, group: "setting", value, next: null, isLit: false, sent: "" } as const;
    });
  }

  #listing(type: string): Fields {
    const all = [...this.registers.values()].filter((one) => String(one.type) === type);
    if (all.length === 0) return this.#around(this.manners.unknown === "no data" ? null : {});
    const listed = [...all, ...this.#setPoints(Number(type))];
    const keyed = Object.fromEntries(listed.map((one) => [one.address, this.#written(one)]));
    const items = listed.map((one) => ({ address: one.address, value: this.#written(one) }));
    const forms: Readonly<Record<Manners["group"], unknown>> = {
      ...{ keyed, items, "below the device": { [code]: keyed } },
      "short items": items.map(({ address, value }) => ({ addr: address, val: value, name: "parameter" })),
      "beside the device": { deviceCode: code, deviceTypeId: Number(type), list: items },
    };
    return this.#around(forms[this.manners.group]);
  }

  #set(body: string): Fields {
    const { address, value, deviceCode } = JSON.parse(body) as Readonly<Record<string, unknown>>;
    const one = this.registers.get(String(address));
    if (one === undefined || deviceCode !== code || typeof value !== "string")
      return { code: 40_001, message: "refused", requestId: "9f0c" };
    const isTaken = this.#take(one, value);
    this.posts.push({ address: one.address, value, isTaken });
    const { echo } = this.manners;
    const told = { address: one.address, deviceCode, value };
    if (echo === "flat") return { code: 200, message: "操作成功", ...told };
    if (echo === "nothing") return { code: 200, message: "操作成功", data: null };
    return this.#around(echo === "numbers" ? { ...told, value: Number(value) } : told);
  }

  /** "A successful response means the command was accepted, not that the device has finished acting." */
  #take(one: Register, value: string): boolean {
    const held = this.#held(one);
    const { wants, light, lagMs } = this.manners;
    const isOpening = one.group === "window" && isDegree(value);
    const isInMode =
      wants === "the mode just sent" ? one.sent === "10100" : held === "10100" || isDegree(held);
    const isKnown = isOpening ? isInMode : Object.values(takes[one.group]).includes(value);
    const isOff =
      one.group === "light" && value !== "1010" && !(light === "while on" ? held === "1010" : one.isLit);
    one.sent = value;
    if (!isKnown || isOff) return false;
    if (value === "1010") one.isLit = true;
    if (value === "1001" && light === "after each off") one.isLit = false;
    const at = this.#now + lagMs;
    const from = isDegree(held) ? Number(held) : held === "10010" ? 100 : 0;
    one.next = { value, from, at, until: at + (isOpening ? travelMs : 0) };
    return true;
  }
}
