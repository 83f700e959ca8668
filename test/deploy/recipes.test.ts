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
  const nodes = JSON.parse(readFileSync("deploy/node-red/recipes.json", "utf8")) as readonly Node[];
  const ids = new Set(nodes.map(({ id }) => id));
  const functionOf = (id: string) => nodes.find((one) => one.id === id)?.func ?? "";

  it("is joined to nodes that are there", () => {
    for (const { wires = [], broker } of nodes) {
      for (const to of wires.flat()) expect(ids).toContain(to);
      if (broker !== undefined && nodes.some(({ id }) => id === broker)) expect(ids).toContain(broker);
    }
  });

  it("sends what the bridge takes, each `on` with an end", () => {
    const source = `(function (msg) {${functionOf("g2m-recipes-command")}})`;
    const run = runInNewContext(source) as (msg: object) => {
      readonly topic: string;
      readonly payload: string;
    };
    for (const { props } of nodes.filter(({ type }) => type === "inject")) {
      const msg = Object.fromEntries((props ?? []).map(({ p, v }) => [p, v]));
      const { topic, payload } = run(msg);
      expect(topic).toMatch(/^greenhouse\/(?:gh-0001\/actuator\/\w+|scene\/\w+)\/set$/);
      const read = readPayload(new TextEncoder().encode(payload));
      expect(read).not.toHaveProperty("reason");
      if (msg["command"] === "on") expect(JSON.parse(payload)).toHaveProperty("for");
    }
  });
});
