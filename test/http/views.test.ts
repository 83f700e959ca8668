import fc from "fast-check";
import { expect, it } from "vitest";
import { mergePatch } from "../../src/http/live.js";
import type { Alarm } from "../../src/greenhouse/limits.js";
import { actuator, controller, parameter, reading, status } from "../homeassistant/fixtures.js";
import { record } from "../support/builders.js";
import { emptyService, field, patched } from "./support.js";

const inherited = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];
const id = fc.oneof(
  fc.constantFrom(...inherited, "温度", "ñ", "𝒳", "a b", "0", "-0", "10", "length"),
  fc.string({ unit: "binary", minLength: 1, maxLength: 12 }),
);
const ids = fc.uniqueArray(id, { maxLength: 6 });

/** A bridge whose controllers and what they have are all called by these ids. */
function serviceOf(names: readonly string[]) {
  const all = names.map((code) => ({
    ...controller({
      code,
      info: { id: code },
      sensors: names.map((one) => reading("温度", one, "other", null)),
      statuses: names.map((one) => status(16, "fan", 1, one)),
      actuators: names.map((one) => actuator({ id: one, kind: "circulation_fan" })),
      parameters: names.map((one) => parameter({ id: one })),
    }),
  }));
  const byId = (wanted: string) => all.find(({ info }) => info.id === wanted);
  const alarms = () =>
    names.map((one) => ({ id: one, controller: one, actuator: one, state: "active" }) as unknown as Alarm);
  return emptyService({ store: { controllers: () => all, byId, get: byId, find: byId }, alarms });
}

const keysOf = (document: unknown, ...path: string[]) => {
  const found = path.length === 0 ? document : field(document, ...path);
  return typeof found === "object" && found !== null ? Object.keys(found).toSorted() : null;
};
const wire = (document: unknown): unknown => JSON.parse(JSON.stringify(document));

it("every document shows everything under its own id, whatever it is called, and a patch leads from any to any", () => {
  fc.assert(
    fc.property(ids, ids, (before, after) => {
      const [one, other] = [serviceOf(before), serviceOf(after)];
      const sorted = after.toSorted();
      expect(keysOf(wire(other.controllers()))).toEqual(sorted);
      expect(keysOf(wire(other.view("overview")), "controllers")).toEqual(sorted);
      expect(keysOf(wire(other.view("alarms")))).toEqual(sorted);
      for (const name of after) {
        const shown = wire(other.view(`controller/${name}`));
        for (const part of ["sensors", "status", "actuators", "parameters"])
          expect(keysOf(shown, part)).toEqual(sorted);
      }
      const views = [
        "alarms",
        ...before.filter((name) => after.includes(name)).map((n) => `controller/${n}`),
      ];
      for (const view of views) {
        const [was, is] = [one.view(view), other.view(view)];
        const patch = mergePatch(was, is);
        const shown = patch === undefined ? wire(was) : patched(wire(was), wire(patch));
        expect(patched({}, shown)).toEqual(patched({}, wire(is)));
      }
    }),
    { numRuns: 150 },
  );
});

it("what every object inherits is no view and no controller", () => {
  const service = serviceOf([]);
  for (const name of inherited) {
    expect(service.view(name)).toBeNull();
    expect(service.view(`controller/${name}`)).toBeNull();
  }
});

it("a video's address is told apart from the documents that viewers read, and only that there is one", () => {
  const stream = "https://cam:secret@video.example.com/live.flv";
  const all = [controller({ code: "CAM", info: { id: "cam", stream } })];
  const get = () => all[0];
  const service = emptyService({ store: { controllers: () => all, byId: get, get, find: get } });
  const shown = JSON.stringify([
    service.controllers(),
    service.view("overview"),
    service.view("controller/cam"),
  ]);
  expect(shown).not.toContain("video.example.com");
  expect(service.view("controller/cam")).toMatchObject({ video: true, last_online_at: null });
});

it("the overview has the station of each controller and its place on the platform", () => {
  const listed = (sortOrder: string) => {
    const one = controller({ code: "A", info: { id: "a" } });
    const known = record({ stationName: "North", extra: { sortOrder } });
    return [{ ...one, info: { ...one.info, record: known } }];
  };
  const row = (sortOrder: string) => {
    const all = listed(sortOrder);
    const service = emptyService({
      store: { controllers: () => all, byId: () => all[0], get: () => all[0], find: () => all[0] },
    });
    return field(service.view("overview"), "controllers", "a");
  };
  expect(row("12")).toMatchObject({ station: "North", order: 12 });
  for (const text of ["", "first", "1e9", "1.5"]) expect(row(text)).toMatchObject({ order: null });
  expect(row("12")).toMatchObject({ place: null });
});

it("what was read before an outage is told apart with its age, and is no state of now", () => {
  const read = (id: string, state: string | null, position: number | null, readAt: number | null) => ({
    ...actuator({ id, kind: "skylight" }),
    ...{ state, position, readAt, quality: "stale" as const },
  });
  const windows = [
    read("a", "position", 45, 60_000),
    read("b", "position", 45, 30_000),
    read("c", "closed", null, 90_000),
    read("never", null, null, null),
  ];
  const fan = {
    ...actuator({ id: "fan", kind: "circulation_fan" }),
    state: "on",
    readAt: 5,
    quality: "good" as const,
  };
  const old = {
    ...reading("温度", "t", "temperature", "°C"),
    value: 20,
    measuredAt: 70_000,
    quality: "stale" as const,
  };
  const new_ = {
    ...reading("湿度", "h", "humidity", "%"),
    value: 60,
    measuredAt: 70_000,
    quality: "good" as const,
  };
  const one = controller({
    code: "A",
    info: { id: "a" },
    sensors: [old, new_],
    actuators: [...windows, fan],
  });
  const all = [one];
  const service = emptyService({
    store: { controllers: () => all, byId: () => one, get: () => one, find: () => one },
    kinds: () => ["temperature", "humidity"],
  });
  const row = field(service.view("overview"), "controllers", "a");
  expect(row).toMatchObject({
    actuators: { vents: { stale: 4 }, fans: { on: 1 } },
    last: { vents: { states: { "45": 2, closed: 1 }, read_at: new Date(30_000).toISOString() } },
    readings: { temperature: { at: new Date(70_000).toISOString() }, humidity: { at: null } },
  });
  expect(keysOf(row, "last")).toEqual(["vents"]);
});

it.each([
  ["one by its name", ["on", "off"], { on: "CO2", off: "Heater" }],
  ["several by their kind where they are of one", ["off", "on", "on"], { on: "Hot air blower", off: "CO2" }],
  ["not where they are of several kinds", ["on", "on"], {}],
])("the overview names what of a mixed group is in a state: %s", (_, states, expected) => {
  const kinds = ["co2_supply", "hot_air_blower", "hot_air_blower"] as const;
  const names = ["CO2", "Heater", "Other heater"];
  const actuators = states.map((state, at) => ({
    ...actuator({ id: `a${at}`, kind: kinds[at] ?? "machine", name: names[at] }),
    ...{ state, readAt: 5, quality: "good" as const },
  }));
  const one = controller({ code: "A", info: { id: "a" }, actuators });
  const service = emptyService({
    store: { controllers: () => [one], byId: () => one, get: () => one, find: () => one },
  });
  const named = field(service.view("overview"), "controllers", "a", "named");
  expect(wire(named)).toEqual({ climate: expected });
});
