import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { reorderedText } from "../../src/saving/reorder.js";
import { pathOf } from "../../src/settings/key.js";

function order(text: string, key: string, ...names: readonly string[]): string {
  const edited = reorderedText(text, [{ path: pathOf(key) ?? [], names }]);
  return edited.ok ? edited.text : `refused: ${String(edited.message)}`;
}

const file = `# My greenhouses
controllers: # as one walks
  # by the gate
  GH-0001: # the old one
    name: East
    actuators:
      roof: { kind: skylight, address: 0012 }   # by the door
      # not yet built
      fan:  { kind: machine, address: 140 }
    # sensors: {}

  # --- beyond the road ---

  # the new one
  # with the big door
  GH-0002: { ignore: true } # let to Li
  GH-0003:
    name: >
      A long
      name
polling: # often
  sensors: 1m
`;

describe("a section in another order", () => {
  it("has each house with its remarks at its new place, and nothing else is another", () => {
    expect(order(file, "controllers", "GH-0003", "GH-0002", "GH-0001")).toBe(`# My greenhouses
controllers: # as one walks
  GH-0003:
    name: >
      A long
      name

  # --- beyond the road ---

  # the new one
  # with the big door
  GH-0002: { ignore: true } # let to Li
  # by the gate
  GH-0001: # the old one
    name: East
    actuators:
      roof: { kind: skylight, address: 0012 }   # by the door
      # not yet built
      fan:  { kind: machine, address: 140 }
    # sensors: {}
polling: # often
  sensors: 1m
`);
  });

  it("is the same text where the order is the same, and has those that are not named behind the others", () => {
    expect(order(file, "controllers", "GH-0001")).toBe(file);
    expect(order("a: {}\nb: 1\nc: 2", "", "c")).toBe("c: 2\na: {}\nb: 1");
  });

  it("keeps line ends of Windows, and the end of a file without one", () => {
    expect(order("a:\r\n  x: 1\r\n  # y\r\n  y: 2", "a", "y")).toBe("a:\r\n  # y\r\n  y: 2\r\n  x: 1");
  });

  it("changes places in brackets", () => {
    expect(order("a: { x: {p: 1}, 'y': 2,\n  z: [3] } # all\n", "a", "z", "x")).toBe(
      "a: { z: [3], x: {p: 1},\n  'y': 2 } # all\n",
    );
  });

  it.each([
    ["a name that is not there", "a: { x: 1 }\n", ["y"], '"y" does not stand in the file'],
    ["a name twice", "a: { x: 1, y: 2 }\n", ["x", "x"], "each can only have one place"],
    ["no section", "a: 1\n", ["x"], "a is no section in the file"],
    ["a shared one", "b: &one { x: 1, y: 2 }\na: *one\n", ["y"], "anchors and aliases"],
  ])("is refused: %s", (_, text, names, why) => {
    expect(order(text, "a", ...names)).toContain(`refused: ${why}`);
  });

  it("says what it said, whatever stands in it", () => {
    const line = fc.constantFrom("", "  # remark", "    # deeper", "# at the edge");
    const value = fc.constantFrom(
      " 1",
      " { x: 1 }",
      "\n    x: 1\n    # inner\n    y: 2",
      " |\n    a\n    b",
      "",
    );
    const item = fc.tuple(fc.array(line, { maxLength: 3 }), value);
    fc.assert(
      fc.property(
        fc.array(item, { minLength: 1, maxLength: 5 }),
        fc.infiniteStream(fc.nat()),
        (items, chance) => {
          const parts = items.map(([above, inner], at) => [...above, `  k${at}:${inner}`].join("\n"));
          const text = `top:\n${parts.join("\n")}\nrest: 1\n`;
          const names = items
            .map((_, at) => ({ name: `k${at}`, by: Number(chance.next().value) }))
            .toSorted((one, other) => one.by - other.by)
            .map(({ name }) => name);
          const changed = order(text, "top", ...names);
          // Remarks that would become a part of a text of several lines.
          if (text.includes("|\n") && changed.startsWith("refused: this place")) return;
          expect(parse(changed)).toEqual(parse(text));
          expect(Object.keys((parse(changed) as { readonly top: object }).top)).toEqual(names);
          const lines = (whole: string) => whole.split("\n").toSorted();
          expect(lines(changed)).toEqual(lines(text));
        },
      ),
    );
  });
});
