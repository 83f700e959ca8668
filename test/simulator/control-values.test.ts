import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  type ActuatorKind,
  actuatorKinds,
  type KindRow,
  kindRows,
} from "../../src/greenhouse/actuator-kinds.js";
import { documentedValues, isWindow } from "../../src/simulator/control-values.js";
import { words } from "../campaign/judge/states.js";
import { byHand, targets } from "../campaign/support/house.js";
import { positionMode, valueOf } from "../judge/values.js";

/*
 * The tables of the interface document, word for word, are the judge of three copies: the simulator's, which the program is tried
 * against, the program's own, and those of the tests that see the built program alone. None imports the other, so that a wrong value
 * cannot be shared.
 */
const document = readFileSync(new URL("control-values.md", import.meta.url), "utf8");
const values = readFileSync(new URL("../../docs/inside/values.md", import.meta.url), "utf8");

/** What docs/inside/values.md shows of a kind: the values that were sent, in order, for each command. */
const sentOf = (kind: string) =>
  [...values.matchAll(/^\| `(\w+)` +\| `(\w+)` +\| `\d+` +\| (.+?) +\|/gm)]
    .filter(([, of]) => of === kind)
    .map(([, , command = "", sent = ""]) => ({
      command,
      sent: [...sent.matchAll(/`(\d+)`/g)].map(([, value = ""]) => value),
    }));

/** Each table by the sentence above it. */
const tables = new Map(
  document
    .split(/\n(?=[A-Z][^|\n]*[:.]\n)/)
    .map((part) => {
      const [title = "", ...lines] = part.split("\n");
      const rows = lines.flatMap((line) => {
        const [, value, meaning] = /^\| `(\d+)` *\| (.+?) *\|$/.exec(line) ?? [];
        return value === undefined || meaning === undefined ? [] : [[value, meaning] as const];
      });
      return [title, Object.fromEntries(rows)] as const;
    })
    .filter(([, values]) => Object.keys(values).length > 0),
);
const tableOf = (title: RegExp) => [...tables].find(([above]) => title.test(above))?.[1] ?? {};

/** Which table of the document a kind of actuator stands in. */
const titles: Readonly<Record<Exclude<ActuatorKind, "motor" | "custom">, RegExp>> = {
  ...{ skylight: /skylight/, shade_curtain: /skylight/, thermal_curtain: /skylight/ },
  ...{ side_vent: /skylight/, positioner: /skylight/ },
  ...{ circulation_fan: /circulation fan/, uv_disinfection: /circulation fan/ },
  ...{
    mist_humidifier: /circulation fan/,
    co2_supply: /circulation fan/,
    humidity_control: /circulation fan/,
  },
  ...{
    hot_air_blower: /circulation fan/,
    heating_blower: /circulation fan/,
    mist_cooling: /circulation fan/,
  },
  machine: /circulation fan/,
  fan_wet_curtain: /Fan and wet-curtain/,
  irrigation: /Irrigation plan/,
  light: /Supplemental light/,
};

/** What each command word is called there. */
const meanings: Readonly<Record<string, RegExp>> = {
  open: /^manual open$/,
  close: /^manual close$/,
  auto: /^automatic$/,
  on: /^manual on\b/,
  off: /^(?:manual off|all off)$/,
  rotation: /^rotation irrigation mode$/,
  all_on: /^all on$/,
  fans_1_2_3: /^fans of stages 1, 2, 3 on, wet curtain off$/,
  fans_1_2: /^fans of stages 1 and 2 on, stage 3 off/,
  fan_1: /^stage 1 fan on, stages 2 and 3 off/,
};

describe("the document's tables of control values", () => {
  it("are five", () => expect(tables.size).toBe(5));

  it.each(Object.entries(titles))("%s: the simulator takes what stands there", (kind, title) =>
    expect(documentedValues(kind)).toEqual(tableOf(title)),
  );

  it.each(Object.entries(titles))(
    "%s: the program sends what stands there, under words that mean it",
    (kind, title) => {
      const row: KindRow = kindRows[kind as keyof typeof titles];
      const table = tableOf(title);
      const { [row.positionMode ?? ""]: mode, ...others } = table;
      expect(Object.values(row.values).sort()).toEqual(Object.keys(others).sort());
      for (const [word, value] of Object.entries(row.values))
        expect(table[value]).toMatch(meanings[word] ?? /^$/);
      expect(mode).toBe(isWindow(kind) ? "specified-position mode" : undefined);
      expect(row.positionMode !== null).toBe(isWindow(kind));
    },
  );

  it.each(Object.entries(titles))(
    "%s: the judge of recorded runs takes for each word what means it there",
    (kind, title) => {
      const row: KindRow = kindRows[kind as keyof typeof titles];
      for (const word of Object.keys(row.values))
        expect(tableOf(title)[valueOf({ kind, values: {} }, word) ?? ""], word).toMatch(
          meanings[word] ?? /^$/,
        );
    },
  );

  it.each(Object.entries(titles))(
    "%s: docs/inside/values.md sends each value that stands there, for its word",
    (kind, title) => {
      const { [positionMode]: mode, ...others } = tableOf(title);
      const rows = sentOf(kind);
      const words = rows.filter(({ command }) => !/^\d+$/.test(command));
      expect(words.map(({ sent }) => sent.at(-1)).sort()).toEqual(Object.keys(others).sort());
      for (const { command, sent } of words)
        expect(others[sent.at(-1) ?? ""], command).toMatch(meanings[command] ?? /^$/);
      const degrees = rows.filter(({ command }) => /^\d+$/.test(command));
      expect(degrees.map(({ sent }) => sent)).toEqual(
        mode === undefined ? [] : ["0", "45", "100"].map((degree) => [positionMode, degree]),
      );
    },
  );

  it("what a campaign commands, moves by hand and calls by a word means that there", () => {
    for (const { settings, commands } of Object.values(targets)) {
      const { kind } = settings as { readonly kind: ActuatorKind };
      if (kind === "custom" || kind === "motor") continue;
      for (const [command, value] of commands)
        if (!/^\d+$/.test(command))
          expect(tableOf(titles[kind])[value], command).toMatch(meanings[command] ?? /^$/);
    }
    for (const { values } of Object.values(byHand))
      for (const value of values) expect(Object.keys(tableOf(/skylight/))).toContain(value);
    const everywhere = [...tables.values()].flatMap((table) => Object.entries(table));
    for (const [value, called] of Object.entries(words)) {
      const told = everywhere.filter(([own]) => own === value).map(([, meaning]) => meaning);
      const commands = called.map((state) => (state === "closed" ? "close" : state));
      // `0110` and such are a configuration's own.
      if (told.length > 0)
        for (const word of commands) expect(told.some((one) => meanings[word]?.test(one))).toBe(true);
    }
  });

  it("a motor has its stop alone", () => {
    expect(document).toContain("a value such as `00000100` stops the motor");
    expect([kindRows.motor.values, documentedValues("motor")]).toEqual([
      { stop: "00000100" },
      { "00000100": "stop" },
    ]);
  });

  it("every kind stands in one of them, or is a motor or the configuration's own", () =>
    expect([...Object.keys(titles), "motor", "custom"].sort()).toEqual([...actuatorKinds].sort()));
});
