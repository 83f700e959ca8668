import { describe, expect, it } from "vitest";
import { settingsBeside } from "../../src/beside/broker-client.js";
import { loaded, platform, tokenEnv } from "../config/loading.js";
import { stateTopic } from "../mqtt-connection/support.js";
import { besideBridge, type Fields } from "./beside-bridge.js";
import { fileWith, greenhouse2mqtt } from "./in-process.js";

/** A bridge that answers every request alike; `asked` is what it was asked. */
async function answering(answer: Fields = { status: "ok", data: {} }) {
  const asked: [name: string, fields: Fields][] = [];
  const bridge = await besideBridge(
    "greenhouse/bridge/request/+",
    (topic, { transaction, ...fields }) => {
      asked.push([topic.replace(/^.*\//, ""), fields]);
      const about = { ...answer, transaction };
      // Somebody else's answer comes on the same topic.
      const others = { ...about, transaction: "another", data: { odd: true } };
      const to = topic.replace("/request/", "/response/");
      return [others, about].map((one) => [to, one] as const);
    },
    "controllers: { GH-0001: { id: east } }\n",
  );
  return { asked, ...bridge };
}

const done = {
  status: "ok",
  data: { controller: "east", actuators: ["roof", "fan"], by: "anna", until: null },
};

describe("lock, unlock and release", () => {
  it.each([
    [
      ["lock", "east", "roof", "--by", "anna", "--reason", "glass", "--until", "3h"],
      ["lock", { controller: "GH-0001", actuator: "roof", by: "anna", reason: "glass", until: "3h" }],
    ],
    [
      ["lock", "GH-0001", "--by", "anna"],
      ["lock", { controller: "GH-0001", by: "anna" }],
    ],
    [
      ["unlock", "gh-0009", "roof", "--by", "anna", "--force"],
      ["unlock", { controller: "gh-0009", actuator: "roof", by: "anna", force: true }],
    ],
    [
      ["release", "east", "--by", "anna"],
      ["release", { controller: "GH-0001", by: "anna" }],
    ],
  ] as const)("%j asks the running bridge and prints its answer", async (words, request) => {
    const { asked, run } = await answering(done);
    const { code, out, err } = await run(words);
    expect({ code, err, asked }).toEqual({ code: 0, err: "", asked: [request] });
    expect(JSON.parse(out)).toEqual(done.data);
  });

  it("say on a terminal in a sentence what is locked now", async () => {
    const { run } = await answering({
      ...done,
      data: { ...done.data, until: "2026-11-22T20:00:00.000Z" },
    });
    expect((await run(["lock", "east", "--by", "anna"], { terminal: "both" })).out).toMatch(
      /^east: locked roof, fan \(anna\) until \d{4}-\d\d-\d\d \d\d:00:00\.\n$/,
    );
    expect((await run(["unlock", "east", "--by", "anna"], { terminal: "both" })).out).toMatch(
      /^east: unlocked roof, fan/,
    );
  });

  it("end with 1 and the bridge's sentence where it refuses, with the option in the place of the field", async () => {
    const error = 'east/roof is locked by ben; ask there, or unlock with "force": true.';
    const { run } = await answering({ status: "error", error });
    const err = "east/roof is locked by ben; ask there, or unlock with --force.\n";
    expect(await run(["lock", "east", "roof"])).toEqual({ code: 1, out: "", err });
  });

  it.each(["tomorrow", "2026-11-22T20:00", "-1h", ""])(
    "take no end such as %j, which is wrong usage",
    async (until) => {
      const { asked, run } = await answering(done);
      const { code, err } = await run(["lock", "east", `--until=${until}`]);
      expect({ code, asked }).toEqual({ code: 2, asked: [] });
      expect(err).toContain("expected a duration");
    },
  );

  it.each([["lock", "east"], ["unlock", "east"], ["release", "east"], ["alarms"]])(
    "do nothing where no bridge runs, and say so: %s",
    async (...words) => {
      const { asked, keep, run } = await answering(done);
      await keep(stateTopic, "offline");
      const { code, out, err } = await run(words);
      expect({ code, out, asked }).toEqual({ code: 1, out: "", asked: [] });
      expect(err).toMatch(/^no bridge is running \(greenhouse\/bridge\/state at mqtt:.* start it first\.\n$/);
    },
  );
});

it("say that they have no login where all that the configuration knows are hashes", async () => {
  const hash = "scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA";
  const config = await fileWith(`${platform}broker: { users: [{ username: ha, password: "${hash}" }] }\n`);
  const { code, err } = await greenhouse2mqtt(["alarms", "-c", config], { env: tokenEnv });
  expect(code).toBe(1);
  expect(err).toMatch(
    /^the running bridge could not be asked, so nothing was done\. The passwords .* are hashes/,
  );
});

it("the login is that of a user who may ask the bridge, where there is one", async () => {
  const rights = "publish: [greenhouse/+/actuator/+/set], subscribe: [greenhouse/+/actuator/+/result]";
  const users = (...all: readonly string[]) => `${platform}broker: { users: [${all.join(", ")}] }\n`;
  const [narrow, free] = [`{ username: op, password: opw, ${rights} }`, "{ username: free, password: fpw }"];
  const nameIn = async (text: string) => settingsBeside((await loaded(text)).configuration).username;
  expect(await nameIn(users(narrow, free))).toBe("free");
  expect(await nameIn(users(narrow))).toBe("op");
});

describe("alarms", () => {
  const alarm = (id: string, since: string): Fields => ({
    ...{ id, type: "guard_blind", state: "active", since, severity: "warning", controller: "east" },
    ...{ actuator: "roof", message: "The wind\u001b[31m is not good.", remedy: "Look.", by: null },
  });

  it("lists what the bridge shows, oldest first, as a table or as JSON lines", async () => {
    const { keep, run } = await answering();
    expect(await run(["alarms"])).toEqual({ code: 0, out: "no alarms\n", err: "" });
    expect(await run(["alarms", "--json"])).toEqual({ code: 0, out: "", err: "" });
    const newer = alarm("guard_blind.east.roof", "2026-11-22T20:00:00.000Z");
    const older = { ...alarm("flood", "2026-11-22T19:00:00.000Z"), state: "acknowledged", by: "ben" };
    await keep("greenhouse/alarm/guard_blind.east.roof", JSON.stringify(newer));
    await keep("greenhouse/alarm/flood", JSON.stringify(older));
    const lines = (await run(["alarms", "--json"])).out.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([older, newer]);
    const [head = "", first = "", second = ""] = (await run(["alarms"])).out.split("\n");
    expect(head).toMatch(/^ALARM +STATE +SINCE +SEVERITY +BY +MESSAGE +WHAT TO DO$/);
    expect(first).toMatch(
      /^flood +acknowledged +2026-11-22 \d\d:00:00 +warning +ben +The wind\S+ is not good\. +Look\.$/,
    );
    expect(second).toMatch(/^guard_blind\.east\.roof +active/);
    expect(second).not.toContain("\u001b");
  });

  it("acknowledges one by name", async () => {
    const { asked, run } = await answering({ status: "ok", data: { alarm: "flood", by: "anna" } });
    const { code, out } = await run(["alarms", "--acknowledge", "flood", "--by", "anna"]);
    expect({ code, out }).toEqual({ code: 0, out: '{"alarm":"flood","by":"anna"}\n' });
    expect(asked).toEqual([["acknowledge", { alarm: "flood", by: "anna" }]]);
  });
});
