import { readdirSync, readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { parseDocument, visit } from "yaml";
import { readPayload } from "../../src/commands/payload.js";

const folder = "deploy/home-assistant/blueprints/automation/greenhouse2mqtt";

interface Blueprint {
  readonly blueprint: {
    readonly input: Readonly<Record<string, unknown>>;
    readonly homeassistant: { readonly min_version: string };
  };
}

describe.each(readdirSync(folder))("the blueprint %s", (name) => {
  const text = readFileSync(`${folder}/${name}`, "utf8");
  const inputs: string[] = [];
  const customTags = [{ tag: "!input", resolve: (input: string) => input }];
  const document = parseDocument(text, { customTags });
  visit(document, {
    Scalar: (_, { tag, value }) => {
      if (tag === "!input") inputs.push(String(value));
    },
  });

  it("asks for what it uses and uses what it asks for, and runs where the announcements are understood", () => {
    expect(document.errors).toEqual([]);
    const { blueprint } = document.toJS() as Blueprint;
    expect([...new Set(inputs)].toSorted()).toEqual(Object.keys(blueprint.input).toSorted());
    expect(blueprint.homeassistant.min_version).toBe("2024.11.0");
  });

  it("lets nothing run without an end, and sends nothing that a broker would keep", () => {
    expect(text).not.toMatch(/retain: true/);
    for (const [, payload = ""] of text.matchAll(/\{"command": "on"([^}]*)\}/g))
      expect(payload).toContain('"for"');
  });
});

describe("the flow of Node-RED with recipes", () => {
  interface Node {
    readonly id: string;
    readonly type: string;
    readonly func?: string;
    readonly broker?: string;
    readonly wires?: readonly (readonly string[])[];
    readonly props?: readonly { readonly p: string; readonly v: string }[];
  }
  type Message = Readonly<Record<string, unknown>>;
  const text = readFileSync("deploy/node-red/recipes.json", "utf8");
  const nodes = JSON.parse(text) as readonly Node[];
  const ids = new Set(nodes.map(({ id }) => id));

  /** Functions of the flow by a clock of their own, each with the memory that Node-RED gives it. */
  const at = (start: number) => {
    let now = start;
    class Clock extends Date {
      static override now = () => now;
    }
    return {
      pass: (ms: number) => {
        now += ms;
      },
      functionOf: (id: string, edit: (source: string) => string = String) => {
        const source = nodes.find((one) => one.id === id)?.func ?? "";
        const memory = new Map<string, unknown>();
        const context = { get: (key: string) => memory.get(key), set: memory.set.bind(memory) };
        return runInNewContext(`(function (msg) {${edit(source)}})`, { Date: Clock, context }) as (
          msg: Message,
        ) => Message | null;
      },
    };
  };

  it("is joined to nodes that are there", () => {
    for (const { wires = [], broker } of nodes) {
      for (const to of wires.flat()) expect(ids).toContain(to);
      if (broker !== undefined && nodes.some(({ id }) => id === broker)) expect(ids).toContain(broker);
    }
  });

  it("sends what the bridge takes, each `on` with an end", () => {
    const run = at(0).functionOf("g2m-recipes-command");
    const pressed = nodes
      .filter(({ type, wires = [] }) => type === "inject" && wires.flat().includes("g2m-recipes-command"))
      .map(({ props = [] }) => Object.fromEntries(props.map(({ p, v }) => [p, v])));
    const written = [...text.matchAll(/return (\{ target: [^}]*\});/g)].map(
      ([, object = ""]) => runInNewContext(`(${object.replaceAll('\\"', '"')})`) as Message,
    );
    expect([pressed.length, written.length]).toEqual([1, 3]);
    for (const msg of [...pressed, ...written]) {
      const { topic, payload } = run(msg) ?? {};
      expect(topic).toMatch(/^greenhouse\/(?:gh-0001\/actuator\/\w+|scene\/\w+)\/set$/);
      const read = readPayload(new TextEncoder().encode(String(payload)));
      expect(read).not.toHaveProperty("reason");
      if (msg["command"] === "on") expect(JSON.parse(String(payload))).toHaveProperty("for");
    }
  });

  it.each([
    ["a summer evening", 0, "2026-06-21T20:00:00Z", "2026-06-21T20:10:00Z"],
    ["a winter evening", 0, "2026-12-21T15:20:00Z", "2026-12-21T15:30:00Z"],
    ["an equinox", 0, "2026-03-20T17:45:00Z", "2026-03-20T17:55:00Z"],
    ["half an hour before", -30, "2026-12-21T14:50:00Z", "2026-12-21T15:00:00Z"],
    ["two hours after", 120, "2026-12-21T17:20:00Z", "2026-12-21T17:30:00Z"],
  ])("activates the scene at sunset of %s, once a day", (_, minutes, before, after) => {
    const place = (source: string) => source.replace("5.2, 0]", `5.2, ${minutes}]`);
    const sunset = at(0).functionOf("g2m-recipes-sunset", place);
    const tells = (time: number) => sunset({ payload: time })?.["target"] ?? null;
    const [early, late, day] = [Date.parse(before), Date.parse(after), 86_400_000];
    expect(tells(early)).toBeNull();
    expect(tells(late)).toBe("scene/night");
    expect(tells(late + 60_000)).toBeNull();
    expect(tells(early + day)).toBeNull();
    expect(tells(late + day)).toBe("scene/night");
  });

  it("leaves out a sunset that was missed, and one that does not come", () => {
    const hours = Array.from({ length: 24 * 60 }, (_, minute) => Date.parse("2026-06-21") + minute * 60_000);
    const north = at(0).functionOf("g2m-recipes-sunset", (source) => source.replace("52.1", "70"));
    expect(hours.map((payload) => north({ payload }))).toEqual(hours.map(() => null));
    expect(
      at(0).functionOf("g2m-recipes-sunset")({ payload: Date.parse("2026-12-21T16:00:00Z") }),
    ).toBeNull();
  });

  it("waters a bed that was dry for long enough, by day, and then waits", () => {
    const clock = at(new Date(2026, 5, 1, 6, 30).getTime());
    const dry = clock.functionOf("g2m-recipes-dry");
    const reads = (minutes: number, value: unknown, quality = "good") => {
      clock.pass(minutes * 60_000);
      return dry({ payload: { value, quality } })?.["command"] ?? null;
    };
    expect(reads(0, 20)).toBeNull();
    expect(reads(20, 20), "before seven").toBeNull();
    expect(reads(15, 20)).toBe("on");
    expect(reads(170, 20), "the water has not come down").toBeNull();
    expect(reads(15, 20)).toBe("on");
    expect(reads(300, 20, "stale"), "a stale reading").toBeNull();
    expect(reads(1, 20), "not yet for long").toBeNull();
    expect(reads(14, 30), "wet").toBeNull();
    expect(reads(1, null)).toBeNull();
    expect(reads(1, 20)).toBeNull();
    expect(reads(20, 20)).toBe("on");
    expect(reads(240, 20), "after four").toBeNull();
  });

  it.each([
    ["36", false, "10.00"],
    [" 0 ", false, "0.00"],
    ["", false, null],
    ["unknown", false, null],
    ["-1", false, null],
    ["36", true, null],
  ])(
    "tells the wind %j of a station in m/s, and nothing that may be old or is none",
    (payload, retain, told) =>
      expect(at(0).functionOf("g2m-recipes-wind-unit")({ payload, retain })?.["payload"] ?? null).toBe(told),
  );
});
