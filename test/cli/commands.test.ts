import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import anyAscii from "any-ascii";
import { describe, expect, it } from "vitest";
import { encodeLine } from "../../src/journal/segments.js";
import { systemClock } from "../../src/runtime/clock.js";
import type { ProfileName } from "../../src/simulator/dialects.js";
import { mirrorSettings } from "../../src/sync/settings.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { loaded, platform, tokenEnv } from "../config/loading.js";
import { ended, stamped } from "../journal/support/samples.js";
import { stateTopic } from "../mqtt-connection/support.js";
import { configuration, greenhouse2mqtt } from "../setup/discover/support/account.js";
import { running } from "../simulator/running.js";
import { besideBridge, type Fields } from "./beside-bridge.js";
import { folder, greenhouse2mqtt as program } from "./in-process.js";

const controllers = `controllers:
  温室1: { parameters: { ec: { address: 501, writable: { min: 0, max: 5, step: 1 } } } }
  GH-0001: { id: east, actuators: { roof: { kind: skylight, address: 101 } } }
`;

/** `set` beside a bridge that answers every command alike; `asked` are the topics it was asked on. */
async function answering(answer: Fields = { outcome: "confirmed" }) {
  const asked: string[] = [];
  const payloads: Fields[] = [];
  const answersTo = (topic: string, { id, ...payload }: Fields) => {
    asked.push(topic);
    payloads.push(payload);
    return [[topic.replace(/set$/, "result"), { id, ...answer }]] as const;
  };
  const { keep, run } = await besideBridge("greenhouse/+/+/+/set", answersTo, controllers);
  const set = async (words: readonly string[], stop?: AbortSignal) => {
    const { code, err } = await run(["set", ...words], stop && { stop });
    return { code, err };
  };
  /** What a person reads on a terminal. */
  const told = async (...words: readonly string[]) =>
    (await run(["set", ...words], { terminal: "both" })).out.trimEnd();
  return { asked, payloads, keep, set, told };
}

/** A refusal as the bridge answers it. */
const refusal = (actuator: string, message: string): Fields => ({
  ...{ controller: "east", actuator, command: null, outcome: "refused", reason: "unknown_actuator", message },
  ...{ read_back: null, duration_ms: 4 },
});

async function idInBridge(code: string): Promise<string | undefined> {
  const { configuration } = await loaded(`${platform}${controllers}`);
  const store = new GreenhouseStore(mirrorSettings(configuration), systemClock, anyAscii);
  return store.admit(code).info.id;
}

describe("set", () => {
  it.each(["温室1", "温室2", "GH-0001", "GH/7"])(
    "reaches the controller of device code %s where the bridge has it",
    async (code) => {
      const { asked, set } = await answering();
      expect(await set([code, "roof", "open"])).toEqual({ code: 0, err: "" });
      expect(asked).toEqual([`greenhouse/${await idInBridge(code)}/actuator/roof/set`]);
    },
  );

  it.each(["gh-0009", "constructor"])("takes a name in small letters for a topic id: %s", async (name) => {
    const { asked, set } = await answering();
    await set([name, "address/101", "10010"]);
    expect(asked).toEqual([`greenhouse/${name}/address/101/set`]);
  });

  it("knows the parameters of a controller by the topic id that is made of its code", async () => {
    const { asked, set } = await answering();
    const id = (await idInBridge("温室1")) ?? "";
    expect(await set([id, "ec", "2"])).toEqual({ code: 0, err: "" });
    expect(asked).toEqual([`greenhouse/${id}/parameter/ec/set`]);
  });

  it("of what can be no target is a usage error in one line", async () => {
    const { asked, set } = await answering();
    const none = ["parameter/EC 2", "address/1 2", "Roof", "actuator/Roof", "parameter/a/b", "valve/1"];
    for (const name of [...none, "address/", "a\nb", ""]) {
      const { code, err } = await set(["east", name, "open"]);
      expect(code).toBe(2);
      expect(err).toMatch(/^"[^\n]*" can be no [^\n]*\n$/);
    }
    expect(asked).toEqual([]);
  });

  it("sends nothing through a bridge that is offline, nor after a signal", async () => {
    const { asked, keep, set } = await answering();
    const stopped = await set(["GH-0001", "roof", "open"], AbortSignal.abort());
    expect(stopped).toEqual({ code: 1, err: "stopped; the command was not sent\n" });
    await keep(stateTopic, "offline");
    expect((await set(["GH-0001", "roof", "open"])).code).not.toBe(0);
    expect(asked).toEqual([]);
  });

  it("of a target that is only unknown ends as the bridge answers", async () => {
    const { asked, set } = await answering({ outcome: "refused", reason: "unknown_actuator" });
    expect(await set(["east", "nowhere", "open"])).toMatchObject({ code: 3 });
    expect(await set(["east", "address/A.1", "1010"])).toMatchObject({ code: 3 });
    expect(asked).toEqual(["greenhouse/east/actuator/nowhere/set", "greenhouse/east/address/A.1/set"]);
  });

  it("hands on every field of a command that it has an option for", async () => {
    const { payloads, set } = await answering();
    const options = ["--for", "20m", "--hold", "2h", "--force", "--max-age", "30s", "--by", "anna"];
    expect(await set(["east", "roof", "open", ...options])).toEqual({ code: 0, err: "" });
    await set(["east", "roof", "open", "--dry-run", "--by", "anna"]);
    expect(payloads).toEqual([
      {
        ...{ command: "open", by: "anna", dry_run: false, for: "20m", hold: "2h", force: true },
        max_age: "30s",
      },
      { command: "open", by: "anna", dry_run: true },
    ]);
  });

  it.each([
    ["--for", "25h"],
    ["--for", "500ms"],
    ["--hold", "soon"],
    ["--max-age", "30"],
  ])("takes no %s of %s, which is wrong usage", async (option, text) => {
    const { asked, set } = await answering();
    const { code, err } = await set(["east", "roof", "open", option, text]);
    expect({ code, asked }).toEqual({ code: 2, asked: [] });
    expect(err).toContain("expected a duration");
  });

  it("sends nothing that has to end by itself where no bridge runs to end it", async () => {
    const { keep, set } = await answering();
    await keep(stateTopic, "offline");
    const { code, err } = await set(["east", "roof", "open", "--for", "20m"]);
    expect(code).toBe(1);
    expect(err).toContain("the command was not sent: only a running bridge could end it after 20m");
  });

  it("keeps the typed word in the line of what is refused, and says what was meant", async () => {
    const near = await answering(refusal("roff", 'Controller "east" has no actuator "roff"; it has roof.'));
    expect(await near.told("east", "roff", "close")).toBe(
      'east/roff close → refused (unknown_actuator) after 0.0 s: Controller "east" has no actuator "roff"; it has roof. Did you mean "roof"?',
    );
    const { told } = await answering(refusal("roof", "There is no controller."));
    expect(await told("eats", "roof", "close")).toMatch(/There is no controller\. Did you mean "east"\?$/);
    expect(await told("nothing-like-it", "roof", "close")).toMatch(
      /There is no controller\. The configuration has \S+, east\.$/,
    );
  });

  it("speaks of options where the bridge speaks of fields", async () => {
    const message = 'A command of ben holds this actuator; send with "hold", or release it first.';
    const { told } = await answering({ ...refusal("roof", message), reason: "interlock" });
    expect(await told("east", "roof", "close")).toMatch(/send with --hold, or release it first\.$/);
  });
});

async function read(profile: ProfileName, ...words: readonly string[]) {
  const simulator = await running({ controllers: 12, mix: "C001", profile });
  const config = await configuration(simulator, { more: "controllers: { GH-0002: { id: east } }" });
  return greenhouse2mqtt(["read", "-c", config, ...words]);
}

describe("read of a controller that the account does not have", () => {
  it.each(["default", "list", "records", "text"] as const)(
    "says so and names some it has, instead of advising about the address (%s)",
    async (profile) => {
      const { code, out, err } = await read(profile, "GH-9999", "101");
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toContain('the account has no controller "GH-9999"');
      expect(err).toContain("; it has GH-0001, GH-0002 (east), GH-0003");
      expect(err).toMatch(/, and \d+ more$/m);
      expect(err).not.toContain("address");
    },
  );

  it("names the nearest one", async () => {
    expect((await read("default", "GH-001", "101")).err).toContain('did you mean "GH-0001"?');
    expect((await read("default", "eats", "101")).err).toContain('did you mean "east"?');
  });

  it.each(["default", "records"] as const)(
    "an address that a known controller does not have is still about the address (%s)",
    async (profile) => {
      const { code, err } = await read(profile, "GH-0001", "9999");
      expect(code).toBe(1);
      expect(err).not.toContain("the account has no controller");
      expect(err).toMatch(/no value for address 9999 of GH-0001|the platform refused/);
    },
  );
});

/** What `journal` prints of a bridge that has had so many commands. */
async function printed(commands: number, ...words: readonly string[]): Promise<string> {
  const home = await folder({ "config.yaml": platform });
  await mkdir(join(home, "journal"));
  const records = stamped(Array.from({ length: commands }, (_, n) => ended(String(n))));
  const lines = Buffer.concat(records.map(encodeLine));
  await writeFile(join(home, "journal", "journal-000000000001.jsonl"), lines);
  const argv = ["journal", "-c", join(home, "config.yaml"), "--data-dir", home, ...words];
  const { code, out } = await program(argv, { env: tokenEnv });
  expect(code).toBe(0);
  return out;
}

/** The ids of the commands it lists. */
async function listed(commands: number, ...words: readonly string[]): Promise<readonly string[]> {
  const text = await printed(commands, "--json", ...words);
  return [...text.matchAll(/"id":"(\d+)"/g)].map(([, id = ""]) => id);
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => String(from + n));

describe("journal", () => {
  it("shows the newest 100 where nothing else is asked", async () => {
    expect(await listed(250)).toEqual(numbers(150, 250));
  });

  it("shows all since a time, however many", async () => {
    expect(await listed(250, "--since", "2026-04-01")).toEqual(numbers(0, 250));
    expect(await listed(250, "--since", "2026-05-01T06:01:01Z")).toEqual(numbers(60, 250));
  });

  it("shows the newest --limit, also since a time", async () => {
    expect(await listed(250, "--limit", "120")).toEqual(numbers(130, 250));
    expect(await listed(250, "--since", "2026-04-01", "--limit", "3")).toEqual(numbers(247, 250));
  });

  it("calls a controller by its id in all lines, whether that is kept with its code or its id", async () => {
    const text = await printed(2, "--kind", "all");
    expect(text).toContain(" gh-0001 ");
    expect(text).not.toContain("GH-0001");
  });

  it("says where it found none, and whether there may be some that were not asked for", async () => {
    expect(await printed(0)).toMatch(/^no commands yet in .*journal\n$/);
    expect(await printed(3, "--controller", "GH-0009")).toMatch(/^no commands that match in .*journal\n$/);
  });
});
