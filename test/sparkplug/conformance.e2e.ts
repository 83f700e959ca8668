import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startMosquitto } from "../support/mosquitto.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { until } from "../mqtt-connection/support.js";
import { edgeNodeAt } from "./bench.js";
import { host, nodeRoot } from "./host.js";
import { has, type Packet, type ProtoMetric, Recorder, type Told, valueOf } from "./wire.js";

/*
 * The statements of the specification that concern an edge node, by their numbers: one life of an edge node is recorded on the
 * wire, in each version of MQTT, and each row of statements.md is held against the record. A row that another test holds names it.
 */

const folder = import.meta.dirname;
const rows = readFileSync(join(folder, "statements.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| `tck-id-"))
  .map((line) => {
    const [, id = "", test = "", why = ""] = line.split("|").map((cell) => cell.trim());
    return { id: id.replaceAll("`", ""), test, why };
  });

const idsOf = (name: string) =>
  rows.flatMap(({ id, test }) => (test === name ? [id.replace("tck-id-", "")] : [])).join(", ");

type Record = readonly Packet[];
type Check = (record: Record, version: 4 | 5) => void;

const told = (record: Record, ...verbs: readonly string[]): readonly Told[] =>
  record
    .filter((packet) => packet.type === "told")
    .filter(({ verb }) => verbs.length === 0 || verbs.includes(verb));
const births = ["NBIRTH", "DBIRTH"];
const data = ["NDATA", "DDATA"];
const connects = (record: Record) => record.filter((packet) => packet.type === "connect");
const placeOf = (record: Record, text: string) => {
  const place = record.findIndex((packet) => packet.type === "note" && packet.text === text);
  expect(place, text).toBeGreaterThanOrEqual(0);
  return place;
};
const metricOf = ({ payload }: Told, name: string): ProtoMetric | undefined =>
  payload.metrics.find((metric) => metric.name === name);
const number = (value: unknown) => Number(value);
/** The sessions of the record: the messages from each NBIRTH to the next. */
const sessions = (record: Record) => {
  const all: Told[][] = [];
  for (const message of told(record)) {
    if (message.verb === "NBIRTH") all.push([]);
    if (message.verb !== "NDEATH") all.at(-1)?.push(message);
  }
  return all;
};
const some = <Thing>(things: readonly Thing[]): readonly Thing[] => {
  expect(things.length).toBeGreaterThan(0);
  return things;
};
const properties = (record: Record) =>
  told(record).flatMap(({ payload }) => payload.metrics.flatMap((metric) => metric.properties ?? []));
const bdSeqOf = (message: Told) => {
  const metric = metricOf(message, "bdSeq");
  expect(metric?.datatype).toBe(4);
  return number(metric && valueOf(metric));
};

const checks: Readonly<{ [name: string]: Check }> = {
  connectsCleanly: (record, version) => {
    for (const { isClean, expiryS, version: spoken } of some(connects(record)))
      expect([isClean, expiryS, spoken]).toEqual([true, 0, version]);
  },
  willIsTheDeath: (record) => {
    for (const { will } of some(connects(record))) {
      expect([will.topic, will.qos, will.retain]).toEqual([nodeRoot("NDEATH"), 1, false]);
      expect(will.payload.metrics.map(({ name, datatype }) => [name, datatype])).toEqual([["bdSeq", 4]]);
      expect(has(will.payload, "seq")).toBe(false);
    }
  },
  deathHasOnlyItsNumber: (record) => {
    for (const { topic, qos, retain, payload } of some(told(record, "NDEATH"))) {
      expect([topic, qos, retain, has(payload, "seq")]).toEqual([nodeRoot("NDEATH"), 1, false, false]);
      expect(payload.metrics.map(({ name }) => name)).toEqual(["bdSeq"]);
    }
  },
  bdSeqCountsConnects: (record) => {
    let current = -1;
    for (const packet of record) {
      if (packet.type === "connect") {
        const [metric] = packet.will.payload.metrics;
        expect(number(metric && valueOf(metric))).toBe(current + 1);
        current += 1;
      } else if (packet.type === "told" && ["NBIRTH", "NDEATH"].includes(packet.verb))
        expect(bdSeqOf(packet)).toBe(current);
    }
    expect(current).toBe(1);
  },
  birthsFollowTheSession: (record) => {
    for (const [place, packet] of record.entries()) {
      if (packet.type !== "connect") continue;
      const rest = record.slice(place);
      const subscribed = rest.findIndex(({ type }) => type === "subscribe");
      const first = rest.findIndex(({ type }) => type === "told");
      expect(subscribed).toBeGreaterThan(0);
      expect(first).toBeGreaterThan(subscribed);
      expect(rest[first]).toMatchObject({ verb: "NBIRTH" });
    }
  },
  hearsCommands: (record) => {
    const filters = record.flatMap((packet) => (packet.type === "subscribe" ? packet.filters : []));
    expect(filters).toContainEqual({ filter: nodeRoot("NCMD"), qos: 1 });
    expect(filters).toContainEqual({ filter: `${nodeRoot("DCMD")}/+`, qos: 1 });
    expect(filters).toContainEqual({ filter: "spBv1.0/STATE/scada1", qos: 1 });
  },
  topicsAreSpelt: (record) => {
    for (const { topic } of some(told(record)))
      expect(topic).toMatch(
        /^spBv1\.0\/greenhouses\/(?:N(?:BIRTH|DATA|DEATH)\/greenhouse2mqtt|D(?:BIRTH|DATA|DEATH)\/greenhouse2mqtt\/gh-\d{4})$/,
      );
    expect(new Set(told(record).map(({ verb }) => verb)).size).toBe(6);
  },
  qos0NotRetained: (record) => {
    for (const { qos, retain } of some(told(record, ...births, ...data, "DDEATH")))
      expect([qos, retain]).toEqual([0, false]);
  },
  numbersFollowEachOther: (record) => {
    for (const session of some(sessions(record)))
      for (const [place, { payload }] of session.entries()) {
        expect(has(payload, "seq")).toBe(true);
        expect(number(payload.seq)).toBe(place % 256);
      }
  },
  messagesAreDated: (record) => {
    for (const { payload } of some(told(record))) {
      expect(has(payload, "timestamp")).toBe(true);
      expect(Math.abs(number(payload.timestamp) - Date.now())).toBeLessThan(120_000);
    }
  },
  metricsAreDated: (record) => {
    for (const { payload } of some(told(record, ...births, ...data)))
      for (const metric of payload.metrics)
        expect(Math.abs(number(metric.timestamp) - Date.now())).toBeLessThan(900_000);
  },
  birthsAreWhole: (record) => {
    for (const message of some(told(record, ...births)))
      for (const metric of some(message.payload.metrics)) {
        expect(metric.name).toMatch(/./);
        expect([4, 10, 11, 12]).toContain(metric.datatype);
        expect(valueOf(metric) === undefined).toBe(metric.isNull === true);
      }
  },
  dataAreInTheirBirth: (record) => {
    for (const session of some(sessions(record))) {
      const known = new Map<string | null, Set<string>>();
      for (const { verb, device, payload } of session) {
        const aliases = payload.metrics.map(({ alias }) => String(alias));
        if (births.includes(verb)) known.set(device, new Set(aliases));
        if (data.includes(verb)) for (const alias of aliases) expect(known.get(device)).toContain(alias);
      }
    }
  },
  aliasesNameOneMetric: (record) => {
    const names = new Map<string, string>();
    for (const { device, payload } of told(record, ...births))
      for (const { name, alias } of payload.metrics.filter((metric) => has(metric, "alias"))) {
        const key = `${device ?? ""}/${name ?? ""}`;
        expect(names.get(String(alias)) ?? key).toBe(key);
        names.set(String(alias), key);
      }
    expect(names.size).toBeGreaterThan(20);
  },
  birthsHaveNamesAndAliases: (record) => {
    for (const { payload } of told(record, ...births)) {
      const without = payload.metrics.filter((metric) => !has(metric, "alias") || !has(metric, "name"));
      for (const { name } of without) expect(name).toBe("Node Control/Rebirth");
    }
  },
  dataHaveAliasesAlone: (record) => {
    for (const { payload } of some(told(record, ...data)))
      for (const metric of some(payload.metrics))
        expect([has(metric, "alias"), has(metric, "name"), has(metric, "datatype")]).toEqual([
          true,
          false,
          false,
        ]);
  },
  rebirthCanBeAsked: (record) => {
    for (const message of some(told(record, "NBIRTH"))) {
      const metric = metricOf(message, "Node Control/Rebirth");
      expect([metric?.datatype, metric && valueOf(metric), metric && has(metric, "alias")]).toEqual([
        11,
        false,
        false,
      ]);
    }
  },
  rebirthIsAnswered: (record) => {
    const after = told(record.slice(placeOf(record, "rebirth asked")));
    // Data may have been on its way when the host asked.
    const [first, ...rest] = after.slice(after.findIndex(({ verb }) => verb !== "DDATA"));
    expect(first?.verb).toBe("NBIRTH");
    expect(rest.slice(0, 2).map(({ verb }) => verb)).toEqual(["DBIRTH", "DBIRTH"]);
    const before = told(record.slice(0, placeOf(record, "rebirth asked")), "NBIRTH").at(-1);
    expect(first && bdSeqOf(first)).toBe(before && bdSeqOf(before));
  },
  birthsComeBeforeData: (record) => {
    for (const session of some(sessions(record))) {
      const devices = new Set(session.map(({ device }) => device));
      const born = new Set<string | null>();
      expect(session[0]?.verb).toBe("NBIRTH");
      for (const { verb, device } of session) {
        if (births.includes(verb)) born.add(device);
        else expect(born).toContain(device);
      }
      expect(devices).toContain(null);
    }
  },
  deviceDiesWithItsController: (record) => {
    const after = told(record.slice(placeOf(record, "second offline")), "DDEATH", "NBIRTH");
    expect(after[0]).toMatchObject({ verb: "DDEATH", device: "gh-0002" });
    expect(after[0]?.payload.metrics).toEqual([]);
  },
  deathBeforeTheEnd: (record, version) => {
    const ends = record.flatMap((packet, place) => (packet.type === "disconnect" ? [{ packet, place }] : []));
    expect(ends).toHaveLength(2);
    for (const { packet, place } of ends) {
      expect(record.slice(0, place).findLast(({ type }) => type === "told")).toMatchObject({
        verb: "NDEATH",
      });
      expect(packet.reason).toBe(version === 5 ? 4 : 0);
    }
  },
  waitsForItsHost: (record) => {
    const online = placeOf(record, "host online");
    expect(told(record.slice(0, online))).toEqual([]);
    expect(told(record.slice(online), "NBIRTH").length).toBeGreaterThan(0);
  },
  olderWordsCountNothing: (record) => {
    const between = record.slice(placeOf(record, "older offline"), placeOf(record, "host offline"));
    expect(between.filter(({ type }) => type === "disconnect" || type === "connect")).toEqual([]);
    expect(told(between, "NDEATH")).toEqual([]);
  },
  endsWithItsHost: (record) => {
    const after = record.slice(placeOf(record, "host offline"));
    const kinds = after.map((packet) => (packet.type === "told" ? packet.verb : packet.type));
    const death = kinds.indexOf("NDEATH");
    expect(kinds.slice(death, death + 3)).toEqual(["NDEATH", "disconnect", "connect"]);
    const back = placeOf(record, "host online again");
    expect(
      told(record.slice(record.indexOf(after[death + 2] ?? after[0] ?? { type: "note", text: "" }), back)),
    ).toEqual([]);
    expect(told(record.slice(back), "NBIRTH")).toHaveLength(1);
  },
  oneLinkAtATime: (record) => {
    let links = 0;
    for (const { type } of record) {
      if (type === "connect") links += 1;
      if (type === "disconnect") links -= 1;
      expect(links).toBeLessThanOrEqual(1);
    }
  },
  metricsAreInTheOrderOfTheirTimes: (record) => {
    for (const { payload } of told(record, ...births, ...data)) {
      const times = payload.metrics.map(({ timestamp }) => number(timestamp));
      expect(times).toEqual([...times].sort((one, other) => one - other));
    }
  },
  nothingIsToldTwice: (record) => {
    for (const session of some(sessions(record))) {
      const shown = new Map<string, string>();
      for (const { verb, device, payload } of session)
        for (const metric of payload.metrics) {
          const key = `${device ?? ""} ${String(metric.alias)}`;
          const value = JSON.stringify([valueOf(metric), metric.isNull, metric.properties?.values?.[0]]);
          if (data.includes(verb)) expect(value).not.toBe(shown.get(key));
          shown.set(key, value);
        }
    }
  },
  propertiesArePairs: (record) => {
    for (const { keys = [], values = [] } of some(properties(record))) {
      expect(keys?.length).toBe(values?.length);
      for (const { type } of values ?? []) expect([3, 10, 12]).toContain(type);
    }
  },
  qualityIsOneOfThree: (record) => {
    const qualities = properties(record).flatMap(({ keys, values }) =>
      (values ?? []).filter((_, place) => keys?.[place] === "Quality"),
    );
    for (const { type, intValue } of some(qualities)) {
      expect(type).toBe(3);
      expect([0, 192, 500]).toContain(intValue);
    }
  },
  namesDifferInAnyCase: (record) => {
    for (const { payload } of told(record, ...births)) {
      const names = payload.metrics.map(({ name }) => name?.toLowerCase());
      expect(new Set(names).size).toBe(names.length);
    }
    expect(nodeRoot("NBIRTH").toLowerCase()).toBe(nodeRoot("nbirth").toLowerCase());
  },
};

/** One life: waiting for the host, births, data, a device that comes and goes, a rebirth, a host that goes and comes, the end. */
async function life(version: 4 | 5): Promise<Record> {
  const mosquitto = await startMosquitto();
  onTestFinished(() => mosquitto.stop());
  const recorder = new Recorder();
  const proxy = await startTcpProxy(mosquitto.port, recorder.heard);
  onTestFinished(() => proxy.close());
  const scada = await host(mosquitto.url);
  const says = async (text: string, ...state: Parameters<typeof scada.state>) => {
    recorder.note(text);
    await scada.state(...state);
  };
  await scada.state("scada1", false, 1_000);
  const { node, sweep, connection, platformIs, stop, lines } = edgeNodeAt(`mqtt://127.0.0.1:${proxy.port}`, {
    controllers: 2,
    primaryHost: "scada1",
    version,
  });
  const saw = (what: string, verb: string, count = 1, from = 0) =>
    until(() => told(recorder.packets.slice(from), verb).length >= count, what, lines);
  await until(() => node.facts().connected, "linked");
  await says("another online", "scada2", true, 5_000);
  await says("host online", "scada1", true, 2_000);
  await saw("born", "DBIRTH", 2);
  sweep("GH-0001", 25);
  await saw("data", "DDATA");
  platformIs("degraded");
  await saw("data of the node", "NDATA");
  recorder.note("second offline");
  connection("GH-0002", "offline");
  await saw("a death", "DDEATH");
  connection("GH-0002", "online");
  await saw("born again", "DBIRTH", 3);
  recorder.note("rebirth asked");
  await scada.rebirth();
  sweep("GH-0001", 30);
  await saw("reborn", "DBIRTH", 5);
  await says("older offline", "scada1", false, 1_500);
  sweep("GH-0002", 35);
  await saw("data all the same", "DDATA", 2);
  const from = recorder.packets.length;
  await says("host offline", "scada1", false, 2_000);
  await until(() => connects(recorder.packets).length === 2, "connected anew", lines);
  await until(() => node.facts().connected, "linked again");
  await says("host online again", "scada1", true, 3_000);
  await saw("born in a second session", "DBIRTH", 2, from);
  await stop();
  return [...recorder.packets];
}

describe.each([5, 4] as const)("with MQTT %s", (version) => {
  let lived: Promise<Record> | null = null;
  // The first of them lives it.
  const record = () => (lived ??= life(version));
  const named = Object.entries(checks).map(([name, check]) => ({ name, check, ids: idsOf(name) }));
  it.each(named)("$name: $ids", async ({ check }) => check(await record(), version));
});

describe("the table of statements", () => {
  it("has every statement of the specification once, each with its test or the reason why it does not apply", () => {
    const ids = rows.map(({ id }) => id);
    expect([new Set(ids).size, ids.length]).toEqual([295, 295]);
    // Of the ids of the specification, release 3.0.0 with its errata, sorted, one a line.
    const digest = createHash("sha256")
      .update([...ids].sort().join("\n"))
      .digest("hex");
    expect(digest).toBe("2725f04c487b5f5c578569b2eece01e403fce18f57f94820430790449bfca961");
    for (const { test, why } of rows) expect(test === "").toBe(why !== "");
  });

  it("names tests that there are, and no check is left out", () => {
    const sources = ["session.test.ts", "messages.test.ts", "metrics.test.ts", "edge-node.e2e.ts"]
      .map((name) => readFileSync(join(folder, name), "utf8"))
      .join("\n");
    const elsewhere = rows.filter(({ test }) => test !== "" && !(test in checks)).map(({ test }) => test);
    expect(elsewhere.filter((title) => !sources.includes(title))).toEqual([]);
    const named = new Set(rows.map(({ test }) => test));
    expect(Object.keys(checks).filter((name) => !named.has(name))).toEqual([]);
  });
});
