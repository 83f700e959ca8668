import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { linesAbout } from "../../src/cli/explain.js";
import { loaded, platform, tokenEnv } from "../config/loading.js";
import { folder, greenhouse2mqtt } from "./in-process.js";

/* What an owner lays beside the vendor's papers: each call of each word, in its order. */

const actuators = `
      roof: { kind: skylight, address: "101", type_id: 2, travel_time: 90s, mode_again: when_needed }
      louvre: { kind: positioner, address: "108", position_address: "109", mode_reads: never }
      motor: { kind: motor, address: "300", values: { open: "00000001" }, pulse: true, flush_lag: 5s }
      light: { kind: light, address: "220" }`;
const parameters = `
      night: { address: "500", scale: 0.1, writable: { min: 12, max: 30, step: 0.5 } }
      runtime: { address: "501", type_id: 9 }`;
const text = `${platform}\ncontrollers:\n  GH-0001:\n    actuators:${actuators}\n    parameters:${parameters}\n`;
const about = async (target: string) => linesAbout((await loaded(text)).configuration, target).map(String);
const under = (lines: readonly string[], head: RegExp) => {
  const from = lines.findIndex((line) => head.test(line));
  const rest = lines.slice(from + 1);
  const end = rest.findIndex((line) => /^ {0,2}\S/.test(line));
  return rest.slice(0, end === -1 ? rest.length : end).map((line) => line.trim());
};

describe("what is asked, sent and read", () => {
  it("of several files, of a fleet and of one of its accounts is told by what names the target", async () => {
    const place = await folder();
    await mkdir(join(place, "accounts"));
    const other = (code: string, token: string) =>
      `${platform.replace(/token: .*/, `token: ${token}`)}\ndata_dir: ${code}\nmqtt: { url: mqtt://127.0.0.1:1, base_topic: "${code}", client_id: "${code}" }\nhttp: false\ncontrollers: { ${code}: { actuators: { roof: { kind: skylight, address: "7" } } } }\n`;
    const [north = "", south = "", fleet = ""] = [
      "accounts/north.yaml",
      "accounts/south.yaml",
      "fleet.yaml",
    ].map((name) => join(place, name));
    await writeFile(north, other("GH-0001", "one-token"), { mode: 0o600 });
    await writeFile(south, other("GH-0002", "two-token"), { mode: 0o600 });
    await writeFile(fleet, "defaults: { mqtt: { url: mqtt://127.0.0.1:1 } }\n");
    const head = async (...words: readonly string[]) => {
      const { code, out, err } = await greenhouse2mqtt(["check", "--explain", ...words], { env: tokenEnv });
      return [code, `${out}${err}`.split("\n")[0]];
    };
    const said = [0, "GH-0002/roof: skylight, address 7"];
    expect(await head("GH-0002/roof", north, south)).toEqual(said);
    expect(await head("GH-0002/roof", fleet)).toEqual(said);
    expect(await head("GH-0002/roof", "--account", "south", "-c", fleet)).toEqual(said);
    const unnamed = [2, 'the configuration names no actuator "GH-0002/roof"'];
    expect(await head("GH-0002/roof", "--account", "north", "-c", fleet)).toEqual(unnamed);
    expect(await head("GH-0003", fleet)).toEqual([2, 'the configuration names no actuator "GH-0003"']);
  });

  it("of a degree: the mode first, and what each read-back has to show", async () => {
    expect(under(await about("GH-0001/roof"), /^ {2}45 /)).toEqual([
      "GET /api/mqtt-client-status?deviceCode=GH-0001   goes on where status is 1",
      "GET /api/get-value?deviceCode=GH-0001&address=101&flush=1   sends nothing where it shows it already",
      'POST /api/set-value {"address":"101","value":"10100","deviceCode":"GH-0001"}   left out where it shows the mode already',
      "GET /api/get-value?deviceCode=GH-0001&address=101&flush=1   up to 30 s, until it shows 10100 or any degree",
      'POST /api/set-value {"address":"101","value":"45","deviceCode":"GH-0001"}',
      "GET /api/get-value?deviceCode=GH-0001&address=101&flush=1   up to 120 s, until it shows 45",
      "GET /api/get-value?deviceCode=GH-0001&address=101&flush=1   once more 90 s after the POST, where it was confirmed before",
    ]);
  });

  it("of a mode that can only be written", async () => {
    const lines = await about("gh-0001/louvre");
    expect(under(lines, /^ {2}45 /)[3]).toBe(
      "taken where the answer's code is 200: nothing can be read back",
    );
    expect(under(lines, /^ {2}open:/).at(-2)).toMatch(/address=109.*until it shows the degree 100$/);
    expect(under(lines, /^ {2}auto:/).at(-1)).toMatch(
      /address=109&flush=1 {3}no degree shows whether it was done: it ends unconfirmed$/,
    );
  });

  it("of a pulse, and of a stop, which nothing comes before", async () => {
    const lines = await about("GH-0001/motor");
    expect(under(lines, /^ {2}open:/).at(-1)).toMatch(/until it shows 00000001 or idle again$/);
    expect(under(lines, /^ {2}stop:/)[0]).toBe("sent at once, without a question before it");
  });

  it("of a parameter, which takes numbers, and of one that takes no commands", async () => {
    const lines = await about("GH-0001/night");
    expect(lines[0]).toBe("GH-0001/night: parameter, address 500");
    expect(under(lines, /^ {2}12 \(any number from 12 to 30\):/).slice(1)).toEqual([
      "GET /api/get-value?deviceCode=GH-0001&address=500&flush=1   sends nothing where it shows it already",
      'POST /api/set-value {"address":"500","value":"120","deviceCode":"GH-0001"}',
      "GET /api/get-value?deviceCode=GH-0001&address=500&flush=1   up to 60 s, until it shows 120",
    ]);
    const [, , read, kept] = await about("GH-0001/runtime");
    expect([read, kept]).toEqual([
      expect.stringMatching(/^ {4}GET .*deviceTypeId=9/),
      "  commands are refused: it has no writable",
    ]);
  });

  it("of a whole controller, and of nothing that is not there", async () => {
    const heads = (await about("GH-0001")).filter((line) => /^GH-0001/.test(line));
    expect(heads.map((line) => line.split(":")[0])).toEqual(
      ["roof", "louvre", "motor", "light", "night", "runtime"].map((id) => `GH-0001/${id}`),
    );
    await expect(about("GH-0001/rooff")).rejects.toThrow('did you mean "roof"?');
  });
});
