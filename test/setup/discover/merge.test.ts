import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { isMap, parseDocument, type YAMLMap } from "yaml";
import { running } from "../../simulator/running.js";
import { configuration, flushes, greenhouse2mqtt, loadedText } from "./support/account.js";

/** The file of a first scan, and the way to scan again. */
async function discovered(controllers: number) {
  const simulator = await running({ controllers, mix: "C001" });
  const config = await configuration(simulator);
  const file = join(dirname(config), "greenhouse.yaml");
  expect(await greenhouse2mqtt(["discover", "-c", config, "--out", file])).toMatchObject({ code: 0 });
  return { simulator, config, file, merge: () => greenhouse2mqtt(["discover", "--merge", file]) };
}

/** Puts a fragment under the same keys of a file, as a person would. */
function pasted(file: string, fragment: string): string {
  const whole = parseDocument(file);
  const add = (into: YAMLMap, from: YAMLMap) => {
    for (const pair of from.items) {
      const held: unknown = into.get(pair.key, true);
      if (isMap(held) && isMap(pair.value)) add(held, pair.value);
      else into.add(pair);
    }
  };
  const root = parseDocument(fragment).contents;
  if (isMap(root)) add(whole.contents as YAMLMap, root);
  return whole.toString({ lineWidth: 0 });
}

describe("discover --merge", () => {
  it("finds nothing new in the file it has just written, also among what stands there in comments", async () => {
    const { merge, file } = await discovered(3);
    const { code, out } = await merge();
    expect(code).toBe(0);
    expect(out).toBe(
      `# Nothing new against ${file}: 3 devices compared by \`discover\` of greenhouse2mqtt ${(await greenhouse2mqtt(["--version"])).out.trim()}.\n`,
    );
  });

  it("prints new controllers and new addresses only; pasted, the file is whole and holds all it held", async () => {
    const { simulator, file, merge } = await discovered(2);
    const text = await readFile(file, "utf8");
    const without = text
      .replace(/^ {6}left_skylight: .*address: 101.*\n/m, "")
      .replace(/^.*address: 501,.*\n/m, "");
    await writeFile(file, without);
    simulator.control.addController("GH-0100", "New house");
    const { code, out, err } = await merge();
    expect(code).toBe(0);
    expect(err).toContain("new: 1 device, 12 actuators");
    expect(out.match(/address: 101,/g)).toHaveLength(2);
    expect(out.match(/GH-0002/g)).toBeNull();
    expect(out).toMatch(/# +machine_parameter_501: \{/);
    const merged = await loadedText(pasted(without, out));
    const before = await loadedText(without);
    expect(Object.keys(merged.controllers)).toEqual([...Object.keys(before.controllers), "GH-0100"]);
    for (const [name, { actuators }] of Object.entries(before.controllers))
      expect(merged.controllers[name]?.actuators).toMatchObject(actuators);
    expect(Object.keys(merged.controllers["GH-0100"]?.actuators ?? {})).toHaveLength(11);
    expect(merged).toMatchObject({ platform: before.platform, mqtt: before.mqtt, commands: before.commands });
  });

  it("finds what it wrote itself under codes of any characters, also in comments", async () => {
    const simulator = await running({ controllers: 1, mix: "C001" });
    for (const code of ["GH/1", "温室 #2", "a: b", "'q'"]) simulator.control.addController(code);
    const config = await configuration(simulator);
    const file = join(dirname(config), "greenhouse.yaml");
    expect(await greenhouse2mqtt(["discover", "-c", config, "--out", file])).toMatchObject({ code: 0 });
    const { code, out } = await greenhouse2mqtt(["discover", "--merge", file]);
    expect(code).toBe(0);
    expect(out).toMatch(/^# Nothing new against [^\n]*: 5 devices compared[^\n]*\n$/);
  });

  it("leaves alone what a person has renamed, moved or joined", async () => {
    const { file, merge } = await discovered(1);
    const text = await readFile(file, "utf8");
    const own = text
      .replace("left_skylight: { kind: skylight", "roof: { kind: positioner, position_address: 103")
      .replace(/^ {6}right_skylight: .*\n/m, "")
      .replace("side_vent: {", "side_vent: { stop: { address: 150, value: 1 },")
      .replace(/^ {6}circulation_fan: .*\n/m, "");
    await writeFile(file, own);
    await loadedText(own);
    expect((await merge()).out).toContain("# Nothing new against");
  });

  it("gives a new address an id that the file does not use", async () => {
    const { file, merge } = await discovered(1);
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(/^( {6}left_skylight: .*)address: 101/m, "$1address: 199"));
    const { out } = await merge();
    expect(out).toContain(
      "left_skylight_101: { kind: skylight, name: Left skylight (101), address: 101, type_id: 2 }",
    );
    await loadedText(pasted(await readFile(file, "utf8"), out));
  });

  it("never writes the file, whatever was found", async () => {
    const { simulator, file, merge } = await discovered(1);
    simulator.control.addController("GH-0100");
    await chmod(file, 0o400);
    const [text, facts] = [await readFile(file, "utf8"), await stat(file)];
    expect(await merge()).toMatchObject({ code: 0 });
    expect(await readFile(file, "utf8")).toBe(text);
    expect((await stat(file)).mtimeMs).toBe(facts.mtimeMs);
    const over = await greenhouse2mqtt(["discover", "--merge", file, "--out", file]);
    expect(over).toMatchObject({ code: 2 });
    expect(await readFile(file, "utf8")).toBe(text);
  });

  it("compares with one file while another leads to the platform", async () => {
    const { config, file } = await discovered(1);
    const elsewhere = (await readFile(file, "utf8")).replaceAll(/_url: .*/g, "_url: http://127.0.0.1:9");
    await writeFile(file, elsewhere);
    const { code, out } = await greenhouse2mqtt(["discover", "-c", config, "--merge", file]);
    expect({ code, nothing: out.startsWith("# Nothing new") }).toEqual({ code: 0, nothing: true });
  });

  it("says which known controllers it could not look into", async () => {
    const { simulator, merge } = await discovered(2);
    simulator.control.setOnline("GH-0002", false);
    const { out, err } = await merge();
    expect(out).toContain("# GH-0002 may have more: not connected; run discover again.");
    expect(err).toContain("not connected: GH-0002");
  });

  it("a file that is no configuration is a usage error, before any request", async () => {
    const { simulator, file, merge } = await discovered(1);
    const before = flushes(simulator);
    await writeFile(file, "controlers: {}\n");
    expect(await merge()).toMatchObject({ code: 2, out: "" });
    expect(flushes(simulator)).toBe(before);
  });
});
