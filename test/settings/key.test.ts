import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { configurationSchema } from "../../src/config/schema.js";
import { type Shape, shapeOf } from "../../src/config/yaml/read-document.js";
import { keyText, pathOf } from "../../src/settings/key.js";
import type { SettingNode } from "../../src/page/protocol.js";
import { schemaTree } from "../../src/saving/schema-tree.js";

describe("a key as text", () => {
  it("leads back to its path, whatever the names are", () => {
    const part = fc.oneof(
      fc.string({ minLength: 1, maxLength: 8 }).filter((name) => name !== "__proto__"),
      fc.string({ minLength: 1, maxLength: 4, unit: "grapheme" }),
      fc.constantFrom("GH-0001", "a.b", "[0]", '"', "温室"),
      fc.nat(99),
    );
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }).filter((name) => name !== "__proto__"),
        fc.array(part),
        (first, rest) => {
          const path = [first, ...rest];
          expect(pathOf(keyText(path))).toEqual(path);
        },
      ),
    );
  });

  it.each(["", ".", "a.", "a..b", "[0]", "a[", "a[x]", "a b", "a.__proto__", '"a', "a]"])(
    "%j is none",
    (text) => {
      expect(pathOf(text)).toBeNull();
    },
  );
});

const keysOfShape = (shape: Shape, above: string): readonly string[] => {
  if (shape.type === "either") return shape.options.flatMap((option) => keysOfShape(option, above));
  if (shape.type === "list") return keysOfShape(shapeOf(shape.item), `${above}[]`);
  if (shape.type === "map") return keysOfShape(shapeOf(shape.value), `${above}.*`);
  if (shape.type !== "section") return [];
  return [...shape.keys].flatMap(([name, schema]) => {
    const here = above === "" ? name : `${above}.${name}`;
    return [here, ...keysOfShape(shapeOf(schema), here)];
  });
};

const keysOfTree = (node: Omit<SettingNode, "name">, above: string): readonly string[] => [
  ...(node.options ?? []).flatMap((option) => keysOfTree(option, above)),
  ...(node.entry === undefined
    ? []
    : keysOfTree(node.entry, node.type === "list" ? `${above}[]` : `${above}.*`)),
  ...(node.keys ?? []).flatMap((key) => {
    const here = above === "" ? key.name : `${above}.${key.name}`;
    return [here, ...keysOfTree(key, here)];
  }),
];

it("every key of the schema is in the tree that forms are made from", () => {
  const wanted = new Set(keysOfShape(shapeOf(configurationSchema), ""));
  const shown = new Set(keysOfTree({ type: "section", keys: schemaTree() }, ""));
  expect(wanted.size).toBeGreaterThan(200);
  expect([...wanted].filter((key) => !shown.has(key))).toEqual([]);
});

it("names that are one of a list are offered as that", () => {
  const words = (name: string) => schemaTree().find((key) => key.name === name)?.words;
  expect([words("alarms"), words("kinds"), words("groups")]).toEqual([
    expect.arrayContaining(["temperature", "humidity"]),
    expect.arrayContaining(["skylight"]),
    undefined,
  ]);
});
