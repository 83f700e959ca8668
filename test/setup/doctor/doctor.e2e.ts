import { mkdir, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { connectAsync } from "mqtt";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { startBroker } from "../../../src/broker/broker.js";
import { acquire } from "../../journal/support/disk.js";
import { systemClock } from "../../../src/runtime/clock.js";
import { silentLog } from "../../../src/runtime/log.js";
import { BrokerClient, openClient, settingsBeside } from "../../../src/beside/broker-client.js";
import type { Simulator } from "../../../src/simulator/simulator.js";
import { testBroker, testMosquitto, until } from "../../mqtt-connection/support.js";
import { fileWith, folder, greenhouse2mqtt } from "../../cli/in-process.js";
import {
  canaries,
  complaints,
  examined,
  loaded,
  login,
  plainConfiguration,
  platform,
  type Section,
  users,
} from "./support/bench.js";

const bridgeRights = ["user bridge", "topic readwrite greenhouse/#", "topic readwrite homeassistant/#"];
const broker = { acl: [...bridgeRights, "user spy", "topic read #"], users: { ...users, spy: "spy" } };

/** What a quiet platform and a fresh broker leave to warn of. */
const expectable = /^warning home_assistant: nothing of Home Assistant/;

describe("where everything works", { timeout: 60_000 }, () => {
  it.each([5, 4] as const)(
    "nothing is failed, nothing is sent to an actuator, and nothing stays at the broker (MQTT version %i)",
    async (version) => {
      const simulator = await platform();
      const { url } = await testMosquitto(broker);
      const spying = { username: "spy", password: "spy", protocolVersion: 5 } as const;
      const spy = await connectAsync(url, spying);
      onTestFinished(() => spy.endAsync(true));
      const seen: string[] = [];
      spy.on("message", (topic) => seen.push(topic));
      await spy.subscribeAsync("#", { qos: 1 });
      const section = plainConfiguration(simulator, { url, protocol_version: version, ...login });
      const { findings, of } = await examined(await loaded(section, await folder()));
      const warned = complaints(findings).filter((line) => !expectable.test(line));
      expect(warned).toEqual(version === 5 ? [] : [expect.stringMatching(/^warning broker\.version/)]);
      expect(String(of("broker.anonymous").summary)).toMatch(/refuses clients without a user name/);
      const tried = ["greenhouse/bridge/doctor", "homeassistant/device/greenhouse2mqtt_doctor/config"];
      expect([...new Set(seen)].sort()).toEqual(tried);
      expect(simulator.control.posts()).toEqual([]);
      const later = await openClient({ url, clientId: "later", ...spying }, systemClock, 5_000);
      if (!(later instanceof BrokerClient)) throw new Error(String(later.reason));
      onTestFinished(() => later.close());
      expect([...(await later.readRetained(["#"])).found.keys()]).toEqual([]);
    },
  );

  it("the embedded broker is tried on a port of its own, and the configured one stays free", async () => {
    const given = { broker: { port: 0, users: [{ username: "ha", password: "plain-canary" }] } };
    const section = plainConfiguration(await platform(), {}, given);
    const { findings, of } = await examined(await loaded(section, await folder()));
    expect(complaints(findings).filter((line) => !expectable.test(line))).toEqual([]);
    expect(String(of("broker").summary)).toMatch(/embedded broker/);
    const statuses = ["broker.publish", "broker.retained", "home_assistant"].map((check) => of(check).status);
    expect(statuses).toEqual(["ok", "ok", "skipped"]);
  });

  it("a link of the doctor has no will and not the bridge's client id", async () => {
    const given = { url: "mqtt://127.0.0.1:1", client_id: "bridge-one" };
    const configuration = await loaded(plainConfiguration(await platform(), given), await folder());
    const settings = settingsBeside(configuration);
    expect(Object.keys(settings)).not.toContain("will");
    expect(settings.clientId).toMatch(/^bridge-one-[0-9a-f]{8}$/);
  });

  it("Home Assistant is seen by its status, or by what others announce to it", async () => {
    const { url } = await testMosquitto();
    const client = await connectAsync(url);
    onTestFinished(() => client.endAsync(true));
    const configuration = await loaded(plainConfiguration(await platform(), { url }), await folder());
    const seenAfter = async (topic: string, payload: string) => {
      await client.publishAsync(`homeassistant/${topic}`, payload, { retain: true, qos: 1 });
      const { status, summary } = (await examined(configuration)).of("home_assistant");
      return `${status} ${String(summary)}`;
    };
    expect(await seenAfter("sensor/other/config", "{}")).toMatch(/^ok /);
    expect(await seenAfter("status", "offline")).toMatch(/^warning /);
    expect(await seenAfter("status", "online")).toMatch(/^ok Home Assistant is online/);
  });

  it("the Sparkplug edge node is told what it may hear, and whether its primary host is there", async () => {
    // Mosquitto grants every subscription, and keeps back what comes of it.
    const all = ["#"];
    const { url } = await testBroker({
      users: [
        { username: "east", password: "pass", publish: all, subscribe: all },
        { username: "west", password: "pass", publish: all, subscribe: ["greenhouse/#"] },
      ],
    });
    const client = await connectAsync(url, { username: "east", password: "pass" });
    onTestFinished(() => client.endAsync(true));
    const verdict = async (username: string, sparkplug: object) => {
      const given = plainConfiguration(await platform(), { url, username, password: "pass" }, { sparkplug });
      const { status, summary } = (await examined(await loaded(given, await folder()))).of("sparkplug");
      return `${status} ${String(summary)}`;
    };
    const awaited = { enabled: true, primary_host: "scada1" };
    expect(await verdict("east", {})).toBe("skipped not tried: sparkplug.enabled is false");
    expect(await verdict("west", { enabled: true })).toMatch(
      /^failed .*NCMD\/greenhouse2mqtt.*not born without/,
    );
    expect(await verdict("east", { enabled: true })).toMatch(
      /^ok .*greenhouses\/greenhouse2mqtt subscribes to$/,
    );
    expect(await verdict("east", awaited)).toMatch(/^warning .*has said nothing at this broker/);
    const said = (online: boolean) =>
      client.publishAsync("spBv1.0/STATE/scada1", JSON.stringify({ online, timestamp: 5 }), {
        retain: true,
        qos: 1,
      });
    await said(false);
    expect(await verdict("east", awaited)).toMatch(/^warning .*is not online/);
    await said(true);
    expect(await verdict("east", awaited)).toMatch(/^ok .*scada1 is online$/);
  });

  it("beside a running bridge its embedded broker is used as a guest", async () => {
    const topics = { base: "greenhouse", status: "homeassistant/status", discoveryPrefix: "homeassistant" };
    const settings = { host: "127.0.0.1", port: 0, users: [], topics };
    const running = await startBroker(settings, { clock: systemClock, log: silentLog });
    onTestFinished(() => running.close());
    const section = plainConfiguration(await platform(), {}, { broker: { port: running.port } });
    const configuration = await loaded(section, await folder());
    await acquire(configuration.data_dir);
    const { findings, of } = await examined(configuration);
    expect(complaints(findings).filter((line) => !expectable.test(line))).toEqual([
      expect.stringMatching(/^warning lock: the data directory is in use/),
    ]);
    expect(String(of("broker").summary)).toMatch(/running bridge lets us in/);
    const rights = ["broker.publish", "broker.subscribe", "broker.announce"].map((check) => of(check).status);
    expect(rights).toEqual(["skipped", "skipped", "skipped"]);
  });
});

it(
  "an address that the group of its type_id does not list is named, with what to do",
  { timeout: 60_000 },
  async () => {
    const simulator = await platform();
    const home = await folder();
    const foundWith = async (type_id: number) => {
      const actuators = { roof: { kind: "skylight", address: "101", type_id } };
      const section = plainConfiguration(
        simulator,
        { url: "mqtt://127.0.0.1:1" },
        { controllers: { "GH-0001": { actuators } } },
      );
      return (await examined(await loaded(section, home))).of("addresses");
    };
    expect(await foundWith(2)).toMatchObject({ status: "ok" });
    const { status, summary, remedy } = await foundWith(4);
    expect(status).toBe("warning");
    expect(String(summary)).toContain("type 4 (right skylight) of GH-0001 does not list roof (101)");
    expect(String(remedy)).toContain("leave type_id out");
  },
);

it(
  "both reads of an address are compared, and what they tell otherwise is named with what to do",
  { timeout: 60_000 },
  async () => {
    const actuators = { roof: { kind: "skylight", address: "101", type_id: 2 } } as const;
    const foundAt = async (readings: NonNullable<Parameters<typeof platform>[0]>["readings"]) => {
      const simulator = await platform({ readings });
      const home = await folder();
      const section = plainConfiguration(
        simulator,
        { url: "mqtt://127.0.0.1:1" },
        { controllers: { "GH-0001": { actuators } } },
      );
      return (await examined(await loaded(section, home))).of("both_reads");
    };
    expect(await foundAt([])).toMatchObject({ status: "ok" });
    const { status, summary, remedy } = await foundAt(["actual_positions", "group_of_settings"]);
    expect(status).toBe("warning");
    expect(String(summary)).toContain("roof (101) of GH-0001 is 10001 by set-value/flush and 0 by get-value");
    expect(String(remedy)).toContain("doctor --watch");
  },
);

it(
  "a watched movement is told by the second and ends in the setting that it needs, and nothing is sent from here",
  { timeout: 60_000 },
  async () => {
    const simulator = await platform({ profile: "mode_stays" });
    const file = await configured(plainConfiguration(simulator, { url: "mqtt://127.0.0.1:1" }));
    const stop = new AbortController();
    let out = "";
    const watching = doctor(["-c", file, "--watch", "gh-0001/roof", "--command", "45"], {
      stop: stop.signal,
      printed: (text) => (out += text),
    });
    await until(() => out.includes("Now send"), "asked to move it");
    simulator.control.moveByHand("GH-0001", "101", "10100");
    await until(() => /get-value flush=1\s+101: \S+ → 10100/.test(out), "seen");
    stop.abort();
    expect((await watching).code).toBe(0);
    const yaml = parse(out.slice(out.indexOf("# found by"))) as unknown;
    expect(yaml).toEqual({ controllers: { "GH-0001": { actuators: { roof: { position_reads: "mode" } } } } });
    expect(simulator.control.posts()).toEqual([]);
  },
);

describe("shapes", { timeout: 60_000 }, () => {
  it("the line that is recommended for an unknown one makes it understood", async () => {
    const simulator = await platform({ profile: "odd" });
    const { url } = await testMosquitto();
    const home = await folder();
    const withShapes = async (shapes: unknown) =>
      examined(await loaded(plainConfiguration(simulator, { url }, { platform: { shapes } }), home));
    const before = (await withShapes({})).of("shapes.sensor-data");
    const flow = /shapes: (\{.*?\} \} \}) \}/.exec(String(before.remedy))?.[1] ?? "";
    const { of } = await withShapes(parse(flow));
    expect(before.status).toBe("failed");
    expect([of("shapes.sensor-data").status, of("time_zone").status]).toEqual(["ok", "ok"]);
  });
});

const doctor = (args: readonly string[], call: Parameters<typeof greenhouse2mqtt>[1] = {}) =>
  greenhouse2mqtt(["doctor", ...args], call);

/** Channels that wait for a frame would only make the tests slow. */
const configured = (section: Section): Promise<string> =>
  fileWith(
    JSON.stringify({
      ...section,
      platform: { push: { enabled: false }, ...(section["platform"] as Section) },
    }),
  );

/** A configuration of a platform that works and a broker that is not there. */
const withoutBroker = async (simulator?: Simulator): Promise<string> =>
  configured(plainConfiguration(simulator ?? (await platform()), { url: "mqtt://127.0.0.1:1" }));

interface Report {
  readonly ok: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly checks: readonly { readonly check: string; readonly status: string }[];
}

describe("the command", { timeout: 60_000 }, () => {
  it("ends with 0 where nothing failed, a line for each check and their sum at the end", async () => {
    const broker = await testMosquitto({ users, acl: ["user bridge", "topic readwrite #"] });
    const file = await configured(plainConfiguration(await platform(), { url: broker.url, ...login }));
    const { code, out, err } = await doctor(["-c", file]);
    const lines = out.trimEnd().split("\n");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(lines[0]).toMatch(/^greenhouse2mqtt \d+\.\d+\.\d+, Node\.js v\d+/);
    for (const line of lines.slice(1, -1)) expect(line).toMatch(/^(ok|warning|skipped) +[a-z_]+[\w./-]* +\S/);
    expect(lines.at(-1)).toMatch(/^\d+ ok, \d+ warnings?, 0 failed, \d+ not tried$/);
  });

  it("ends with 1 where something failed, and what depends on it says that it was not tried", async () => {
    const file = await withoutBroker(await platform({ auth: { tokens: "known" } }));
    const { code, out } = await doctor(["-c", file]);
    expect(code).toBe(1);
    expect(out).toMatch(/^failed +token /m);
    expect(out).toMatch(/^skipped +shapes\.control\/mqtt +not tried: it needs "token", which did not pass$/m);
    expect(out).toMatch(/^skipped +broker\.publish +not tried: it needs "broker"/m);
  });

  it("ends with 2 for a configuration that cannot be used, and connects to nothing", async () => {
    const { code, out, err } = await doctor(["-c", await fileWith("platform: { business_url: https://a }")]);
    expect(code).toBe(2);
    expect(out).toMatch(/^failed +configuration +.* problems?, so nothing else was tried/m);
    expect(err).toMatch(/platform/);
    expect((await doctor(["-c", join(await folder(), "none.yaml")])).err).toMatch(/greenhouse2mqtt init/);
  });

  it("--json is one document with every check", async () => {
    const { code, out } = await doctor(["-c", await withoutBroker(), "--json"]);
    const report = JSON.parse(out) as Report;
    expect(code).toBe(1);
    expect(report).toMatchObject({ ok: false, counts: { failed: 1 } });
    expect(report.checks.find(({ check }) => check === "broker")).toMatchObject({ status: "failed" });
    expect(new Set(report.checks.map(({ check }) => check)).size).toBe(report.checks.length);
  });

  it("shows what it is doing on a terminal, and only there", async () => {
    const file = await withoutBroker();
    expect((await doctor(["-c", file], { terminal: "both" })).err).toContain("token …");
    expect((await doctor(["-c", file], { terminal: "stderr" })).err, "with a pipe behind it").toBe("");
  });
});

describe("an interrupted doctor", { timeout: 60_000 }, () => {
  it("ends with 1 and names what was not tried", async () => {
    const stop = new AbortController();
    const printed = (text: string) => {
      if (text.includes("business.dns")) stop.abort();
    };
    const { code, out, err } = await doctor(["-c", await withoutBroker()], { stop: stop.signal, printed });
    expect({ code, err }).toEqual({ code: 1, err: "stopped before everything was tried\n" });
    expect(out).toMatch(/, 0 failed, \d+ not tried\n$/);
    for (const check of ["token", "broker"])
      expect(out).toMatch(new RegExp(`^skipped +${check} +not tried: stopped$`, "m"));
  });

  it("ends so where it was stopped before it began, also as a document", async () => {
    const { code, out } = await doctor(["-c", await withoutBroker(), "--json"], {
      stop: AbortSignal.abort(),
    });
    const report = JSON.parse(out) as Report;
    expect(code).toBe(1);
    expect(report).toMatchObject({ ok: false, counts: { failed: 0 } });
    expect(report.checks.filter(({ status }) => status === "skipped").length).toBeGreaterThan(10);
  });
});

const failing = (operation: "control/mqtt" | "sensor-data", message: string) => ({
  faults: [{ fault: "body_code" as const, operation, code: 500, message, for: 3_600_000 }],
});
const signIn = { body: { account: canaries.account, password: canaries.password } };

/** Circumstances in which other programs like to print what they should not. */
const scenes: readonly (readonly [string, Parameters<typeof platform>[0], Section])[] = [
  ["all is well", {}, {}],
  ["the token is refused", { auth: { tokens: "known", refusal: "body" } }, {}],
  ["the answer repeats the token", failing("control/mqtt", `bad ${canaries.token}`), {}],
  [
    "the push credential is in the query",
    { auth: { checkRealtime: true, tokens: "known" } },
    { push: { credential: "query" } },
  ],
  [
    "signing in is refused",
    { auth: { signIn: { account: "x", password: "y" } } },
    { token: undefined, sign_in: signIn },
  ],
];

describe("secrets", () =>
  it.each(scenes)("are in no output of any mode: %s", { timeout: 120_000 }, async (_, options, more) => {
    const broker = await testMosquitto({ users: { bridge: "another-password" } });
    const mqtt = { url: broker.url, ...login };
    const file = await configured(plainConfiguration(await platform(options), mqtt, { platform: more }));
    const home = dirname(file);
    const written: string[] = [];
    for (const mode of [
      ["--log-level", "trace"],
      ["--json"],
      ["--redact", "--record", join(home, "recorded"), "--bundle", join(home, "bundle.json")],
    ]) {
      const { out, err } = await doctor(["-c", file, ...mode]);
      written.push(out, err);
    }
    const recorded = await readdir(join(home, "recorded")).catch(() => []);
    for (const name of ["bundle.json", ...recorded.map((one) => join("recorded", one))])
      written.push(await readFile(join(home, name), "utf8"));
    for (const canary of Object.values(canaries)) expect(written.join("\n")).not.toContain(canary);
  }));

describe("--redact", { timeout: 60_000 }, () => {
  it("shows no host, code, name, user or path, and neither does the bundle; the same placeholder for the same thing", async () => {
    const simulator = await platform(
      failing("sensor-data", "device GH-0001 of a@mail.example at 10.9.8.7 is away"),
    );
    const broker = await testMosquitto({ users: { "canary-user": "p" } });
    const mqtt = { url: broker.url, username: "canary-user", password: "p", base_topic: "canary/base" };
    const dataDir = "/nowhere/canary-folder/file.txt/data";
    const file = await configured(plainConfiguration(simulator, mqtt, { data_dir: dataDir }));
    const bundle = join(dirname(file), "bundle.json");
    const { out } = await doctor(["-c", file, "--redact", "--bundle", bundle]);
    const written = await readFile(bundle, "utf8");
    const plain = (await doctor(["-c", file])).out;
    const { port } = new URL(simulator.businessUrl);
    for (const own of ["127.0.0.1", port, "canary", "GH-0001", "mail.example", "10.9.8.7", "East roof"])
      for (const text of [out, written]) expect(text, own).not.toContain(own);
    const token: unknown = expect.objectContaining({ check: "token", status: "ok" });
    expect(JSON.parse(written)).toMatchObject({
      bridge: expect.stringMatching(/^none is online with this configuration/) as unknown,
      doctor: expect.arrayContaining([token]) as unknown,
    });
    for (const own of [port, "canary/base"]) expect(plain).toContain(own);
    const hosts = [...out.matchAll(/^ok +business\.\w+ +(<host-\d+>)/gm)].map(([, host]) => host);
    expect(hosts).toHaveLength(2);
    expect(out).toMatch(/<platform-text-1>/);
  });

  it("leaves everything else as it is", async () => {
    const file = await withoutBroker();
    await mkdir(join(dirname(file), "data"));
    const statuses = async (...mode: readonly string[]) =>
      (await doctor(["-c", file, ...mode])).out.split("\n").map((line) => line.slice(0, 34));
    expect((await statuses("--redact")).slice(1)).toEqual((await statuses()).slice(1));
  });
});
