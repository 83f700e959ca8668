import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deviceTypes, statusNumbers, typeRows } from "../../src/greenhouse/device-types.js";
import { deviceTypes as simulatedTypes } from "../../src/simulator/account.js";
import { addressTable } from "../../src/simulator/addresses.js";
import { Asking, list } from "./asking.js";

/* The document's three tables of type codes, word for word, judge the program's copies and those of the simulated platform. */

const document = readFileSync(new URL("interface-types.md", import.meta.url), "utf8");

/** Code and meaning of a table; `190 to 201` is each of these. */
function table(system: 1 | 2 | 3): ReadonlyMap<string, string> {
  const part = document.split(/\n(?=System \d)/).find((one) => one.startsWith(`System ${system}`)) ?? "";
  const rows = [...part.matchAll(/^\| `?(\w+)`?(?: to (\d+))? +\| (.+?) +\|$/gm)];
  return new Map(
    rows.flatMap(([, from = "", to, meaning = ""]) => {
      if (from === "Value") return [];
      const count = to === undefined ? 1 : Number(to) - Number(from) + 1;
      return Array.from({ length: count }, (_, n): [string, string] => [
        count === 1 ? from : String(Number(from) + n),
        meaning,
      ]);
    }),
  );
}

const [types, groups, statuses] = [table(1), table(2), table(3)];
/** Without what stands in brackets and behind a comma or semicolon. */
const plain = (meaning: string | undefined) => (meaning ?? "").replace(/ ?[(,;].*$/, "");

describe("the document's tables of type codes", () => {
  it("have 6, 31 and 6 rows", () => expect([types.size, groups.size, statuses.size]).toEqual([6, 31, 6]));

  it("device types: the program and the simulated platform have these, under their meanings", () => {
    expect([...deviceTypes.keys()].sort()).toEqual([...types.keys()].sort());
    expect([...simulatedTypes.keys()].sort()).toEqual([...types.keys()].sort());
    for (const [code, meaning] of deviceTypes) expect(String(meaning)).toBe(plain(types.get(code)));
  });

  it("control-parameter types: the program knows these and means the same; the simulated platform has no others", () => {
    expect([...typeRows.keys()].map(String).sort()).toEqual([...groups.keys()].sort());
    for (const [group, { meaning }] of typeRows) {
      const plan = /^irrigation plan (\d+)$/.exec(meaning)?.[1];
      if (plan === undefined) expect(meaning).toBe(plain(groups.get(String(group))));
      else
        expect([String(group), groups.get(String(group))]).toEqual([
          String(189 + Number(plan)),
          expect.stringMatching(/^irrigation plan 1 to 12/),
        ]);
    }
    for (const type of ["C001", "C003"])
      for (const { group, kind, names } of addressTable(type).values()) {
        if (group === null) continue;
        const row = [...typeRows].find(([id]) => String(id) === String(group))?.[1];
        expect(groups.has(String(group)), names.en).toBe(true);
        if (row?.role === "actuator") expect([names.en, kind]).toEqual([names.en, row.kind]);
        const plan = /^Irrigation plan (\d+)$/.exec(names.en)?.[1];
        if (plan !== undefined) expect(group).toBe(189 + Number(plan));
        const formula = /^Formula (\d+)$/.exec(names.en)?.[1];
        if (formula !== undefined) expect(group).toBe(203 + Math.floor((Number(formula) - 1) / 3));
      }
  });

  it("running statuses: the program means by each number what stands there; the simulated platform has no others", () => {
    expect([...statusNumbers].map(([number, meaning]) => [String(number), meaning])).toEqual([...statuses]);
    const { data } = new Asking().get("/api/device_status", { deviceCode: "GH-0001" });
    const numbers = list(data).map(({ deviceTypeNumber }) => String(deviceTypeNumber));
    expect(numbers.length).toBeGreaterThan(5);
    for (const number of numbers) expect([...statuses.keys()]).toContain(number);
  });
});
