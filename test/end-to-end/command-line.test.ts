import { once } from "node:events";
import { readdir, mkdir } from "node:fs/promises";
import net from "node:net";
import { join } from "node:path";
import mqtt from "mqtt";
import { describe, expect } from "vitest";
import { configurationSchema } from "../../src/config/schema.js";
import { freePort } from "../support/mosquitto.js";
import { canaries, configurationFor, mosquittoSection, type Stage } from "./support/stage.js";
import { it } from "./support/staged.js";
import { until, type Watch } from "./support/watch.js";

/* Commands, outputs and exit codes of the built program. */

const run = (stage: Stage, ...args: readonly string[]) => stage.program(args).ended;

const good = [
  "platform:",
  "  business_url: https://business.example.com",
  "  realtime_url: https://realtime.example.com",
  "  token: !env GREENHOUSE_TOKEN",
  "mqtt: { url: mqtt://localhost:1883 }",
  "controllers:",
  "  GH-0001:",
  "    actuators:",
  "      roof:",
  "        kind: skylight",
  "        address: 0012",
  "",
].join("\n");

const withToken = { env: { GREENHOUSE_TOKEN: canaries.token } };

describe.concurrent("usage", () => {
  it("--version prints the version of the package alone", async ({ stage }) => {
    const { code, stdout } = await run(stage, "--version");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
  });

  it.for<readonly [string, readonly string[]]>([
    ["an unknown command", ["frobnicate"]],
    ["an unknown option", ["run", "--frobnicate"]],
    ["missing arguments", ["read", "GH-0001"]],
    ["a log level there is not", ["run", "--log-level", "loud"]],
    ["a port that is no number", ["simulate", "--port", "abc"]],
    ["an unknown profile", ["simulate", "--profile", "nonsense"]],
    ["a configuration file that is not there", ["run", "-c", "missing.yaml"]],
    ["the same without the word run", ["-c", "missing.yaml"]],
    ["the same for check", ["check", "missing.yaml"]],
  ])("ends with exit code 2 and says why: %s", async ([, args], { stage }) => {
    const { code, stdout, stderr } = await run(stage, ...args);
    expect(code).toBe(2);
    expect(`${stdout}${stderr}`).not.toBe("");
    if (args.includes("missing.yaml")) expect(`${stdout}${stderr}`).toContain("missing.yaml");
    expect(`${stdout}${stderr}`, "no stack trace").not.toMatch(/^\s+at /m);
  });
});

describe.concurrent("check", () => {
  it("accepts a right configuration with exit code 0, from any folder and without touching the network", async ({
    stage,
  }) => {
    await stage.write("config.yaml", good);
    const { code, stderr } = await stage.program(["check"], withToken).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const path = await stage.write("other.yaml", good);
    expect(await stage.program(["check", path], withToken).ended).toMatchObject({ code: 0 });
  });

  it("finds clashes between several files", async ({ stage }) => {
    await stage.write("one.yaml", good);
    await stage.write("two.yaml", good);
    const { code, stdout } = await stage.program(["check", "one.yaml", "two.yaml"], withToken).ended;
    expect(code).toBe(2);
    expect(stdout).toMatch(/client_id/);
  });

  it("prints the same problems on stderr when the bridge is to run, with exit code 2", async ({ stage }) => {
    await stage.write("config.yaml", `${good}nonsense: 1\n`);
    const { code, stdout, stderr } = await stage.program(["run"], withToken).ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^config\.yaml:12:1 nonsense: unknown key/m);
  });
});

describe.concurrent("schema", () =>
  it("prints a JSON Schema that knows every section and refuses unknown keys", async ({ stage }) => {
    const { code, stdout, stderr } = await run(stage, "schema");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const schema = JSON.parse(stdout) as {
      properties: Record<string, unknown>;
      additionalProperties: unknown;
    };
    const sections = Object.keys(configurationSchema.shape);
    expect(sections).toContain("controllers");
    expect(Object.keys(schema.properties).sort()).toEqual(sections.sort());
    expect(schema.additionalProperties).toBe(false);
  }),
);

describe.concurrent("set beside a bridge whose own broker knows only hashes", () => {
  const start = async (stage: Stage, login: object) => {
    const platform = await stage.platform();
    const hashed = (
      await stage.program(["passwd"], { input: "correct horse battery\n" }).ended
    ).stdout.trim();
    const broker = { port: await freePort(), users: [{ username: "ha", password: hashed }] };
    const configuration = {
      ...configurationFor(platform.url, { broker }),
      mqtt: login,
      controllers: { "GH-0003": { id: "east", actuators: { roof: { kind: "skylight", address: "101" } } } },
    };
    const bridge = await stage.bridge(configuration);
    const url = `mqtt://127.0.0.1:${broker.port}`;
    const known = { username: "ha", password: "correct horse battery" };
    await until(
      await stage.watch({ url, protocolVersion: 5, ...known }),
      "greenhouse/bridge/state",
      "online",
    );
    return bridge;
  };

  const logins = {
    "with the login of its broker": { username: "ha", password: "correct horse battery" },
    "without one": {},
  };
  for (const [how, login] of Object.entries(logins))
    it(`goes through it ${how}, as the socket in data_dir is open to its own user alone`, async ({
      stage,
    }) => {
      const bridge = await start(stage, login);
      const set = await run(stage, "set", "GH-0003", "roof", "fly");
      expect({ code: set.code, stderr: set.stderr }).toMatchObject({ code: 3 });
      expect(JSON.parse(set.stdout)).toMatchObject({
        ...{ outcome: "refused", reason: "unknown_command", controller: "east" },
      });
      expect((await bridge.end("SIGTERM")).stderr).not.toContain("wrong user name or password");
    });
});

describe.concurrent("get and read", () => {
  const platformFor = async (stage: Stage) => {
    const platform = await stage.platform();
    const configuration = configurationFor(platform.url, { broker: { port: await freePort() } });
    const controllers = { "GH-0003": { id: "east" } };
    await stage.write("config.yaml", JSON.stringify({ ...configuration, controllers }));
    return platform;
  };

  it("get prints the answer of a read-only operation as JSON, with its parameters passed on", async ({
    stage,
  }) => {
    await platformFor(stage);
    const { code, stdout } = await run(stage, "get", "weather-data/list", "deviceCode=WS-0001", "a=b");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ code: 200 });
    expect(stdout).toContain("WS-0001");
  });

  it("get refuses what is not a read-only operation, and parameters without a value, with exit code 2", async ({
    stage,
  }) => {
    const platform = await platformFor(stage);
    for (const args of [["set-value"], ["account/sign-in"], ["nonsense"], ["station", "key"]])
      expect(await run(stage, "get", ...args), args.join(" ")).toMatchObject({ code: 2, stdout: "" });
    expect(await platform.posts()).toEqual([]);
  });

  it("get ends with exit code 1 and a remedy when the platform does not answer", async ({ stage }) => {
    const platform = await platformFor(stage);
    await platform.tell("host_down", { host: "both" });
    const { code, stdout, stderr } = await run(stage, "get", "station");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it("read gives one fresh value; the controller is named by code or id", async ({ stage }) => {
    const platform = await platformFor(stage);
    await platform.tell("move_by_hand", { controller: "GH-0001", address: "101", value: "00045" });
    for (const [name, value] of [
      ["GH-0001", "00045"],
      ["gh-0001", "00045"],
      ["GH-0003", "10001"],
      ["east", "10001"],
    ] as const) {
      const { code, stdout } = await run(stage, "read", name, "101");
      expect(code, name).toBe(0);
      expect(JSON.parse(stdout), name).toMatchObject({ value });
    }
  });

  it("read ends with exit code 1 where there is no such address or controller", async ({ stage }) => {
    await platformFor(stage);
    for (const args of [
      ["GH-0001", "9999"],
      ["GH-9999", "101"],
    ])
      expect(await run(stage, "read", ...args)).toMatchObject({ code: 1, stdout: "" });
  });
});

describe.concurrent("simulate", () =>
  it("prints configuration lines that pass check, and ends with 0 on SIGTERM", async ({ stage }) => {
    const platform = await stage.platform({ controllers: 3 });
    await platform.program.untilPrinted(/parameters:\n( +p_\S+: .*\n)+/, 20_000);
    await stage.write("config.yaml", platform.program.stdout);
    expect(await run(stage, "check")).toMatchObject({ code: 0 });
    expect(await platform.program.end("SIGTERM")).toMatchObject({ code: 0 });
  }),
);

/** A broker that holds more than a default Mosquitto keeps back for one subscriber. */
async function greatAccount(
  stage: Stage,
  state: "online" | "offline",
  version: 4 | 5,
  acl = ["topic readwrite #"],
) {
  const topics = 5_000;
  const users = { owner: "a long password", bridge: "a long password" };
  const broker = await stage.mosquitto(acl[0]?.startsWith("user") ? { acl, users } : {});
  const login = { username: "owner", password: users.owner };
  const owner = await mqtt.connectAsync(broker.url, { ...login, protocolVersion: 5 });
  const retain = (topic: string, text: string) => owner.publishAsync(topic, text, { qos: 1, retain: true });
  const all = Array.from({ length: topics }, (_, n) => retain(`greenhouse/gh-${n}/availability`, "online"));
  await Promise.all([...all, retain("greenhouse/bridge/state", state)]);
  const section = { url: broker.url, protocol_version: version, username: "bridge", password: users.bridge };
  const configuration = configurationFor("https://platform.invalid", { mqtt: section });
  await stage.write("config.yaml", JSON.stringify(configuration));
  const kept = async () => {
    const seen = new Set<string>();
    owner.on("message", (topic) => seen.add(topic));
    await owner.subscribeAsync("greenhouse/+/availability", { qos: 0 });
    // What is kept comes before the answer to whatever is asked after it.
    await owner.publishAsync("nothing", "", { qos: 1 });
    await owner.endAsync();
    return seen.size;
  };
  return { topics, kept, cleanUp: () => run(stage, "cleanup") };
}

describe.concurrent("cleanup", () => {
  it("lists and clears what a bridge that ended left, and nothing of anybody else", async ({ stage }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto();
    const watch = await stage.watch({ url: broker.url, protocolVersion: 5 });
    const notes = [
      "greenhouse/notes/from-me",
      "greenhouse/weather/availability",
      "greenhouse/weather/sensor/wind",
    ];
    for (const topic of notes) await watch.publish(topic, "keep", { retain: true });
    await watch.publish("homeassistant/device/stranger/config", '{"origin":{"name":"x"}}', { retain: true });
    const bridge = await stage.bridge(configurationFor(platform.url, mosquittoSection(broker.url)));
    await until(watch, "greenhouse/gh-0001/sensor/airtemp/quality", "good");
    const devices = (await platform.codes()).length + 2;
    await watch.untilTrue(
      () => watch.current(/^homeassistant\/device\//).size === devices,
      "every device is announced",
    );
    await bridge.end("SIGTERM");
    const kept = [...notes, "homeassistant/device/stranger/config"];
    const ours = (from: Watch) =>
      [...from.current(/^(?!.*\/bridge\/(event|response|self_test|mark)\b)/).keys()]
        .filter((topic) => !kept.includes(topic))
        .sort();
    await until(watch, "greenhouse/bridge/state", "offline");
    await watch.publish("greenhouse/alarm/flood", '{"state":"active"}', { retain: true });
    await until(watch, "greenhouse/alarm/flood", '{"state":"active"}');
    const left = ours(watch);
    const late = await stage.watch({ url: broker.url, protocolVersion: 5 });
    await late.untilTrue(() => ours(late).length === left.length, "what was left is retained");
    const first = await run(stage, "cleanup");
    expect(first.stdout).not.toContain("greenhouse/bridge/");
    const { code, stdout } = await run(stage, "cleanup", "--all");
    expect([first.code, code]).toEqual([0, 0]);
    const listed = `${first.stdout}${stdout}`.trim().split("\n");
    expect(
      left.filter((topic) => !listed.includes(topic)),
      "left, but not listed",
    ).toEqual([]);
    expect(
      listed.filter((topic) => !left.includes(topic)),
      "listed, but nobody's",
    ).toEqual([]);
    await late.untilTrue(() => ours(late).length === 0, "nothing of the bridge is left");
    for (const topic of kept) expect(late.latest(topic)).not.toBe("");
    for (const topic of notes) expect(watch.latest(topic)).toBe("keep");
  });

  it.for([4, 5] as const)(
    "refuses while bridge/state is online, however much there is beside it, with MQTT %i",
    async (version, { stage }) => {
      const { topics, cleanUp, kept } = await greatAccount(stage, "online", version);
      expect(await cleanUp()).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringContaining("stop it first") as string,
      });
      expect(await kept()).toBe(topics);
    },
  );

  it.for([4, 5] as const)("clears all of 5,000 topics, with MQTT %i", async (version, { stage }) => {
    const { topics, cleanUp, kept } = await greatAccount(stage, "offline", version);
    const { code, stdout, stderr } = await cleanUp();
    expect({ code, listed: stdout.trim().split("\n").length }).toEqual({ code: 0, listed: topics });
    expect(stderr).toContain(`${topics} of ${topics} retained topics cleared`);
    expect(await kept()).toBe(0);
  });

  it.for([4, 5] as const)(
    "counts again what is left, says it, and ends with exit code 1, with MQTT %i",
    async (version, { stage }) => {
      const acl = ["user owner", "topic readwrite #", "user bridge", "topic read #"];
      const { topics, cleanUp, kept } = await greatAccount(stage, "offline", version, acl);
      const { code, stderr } = await cleanUp();
      expect(code).toBe(1);
      expect(stderr).toContain(`0 of ${topics} retained topics cleared`);
      expect(stderr).toContain(`${topics} retained topics are still there`);
      expect(stderr).toContain("access list");
      expect(await kept()).toBe(topics);
    },
  );

  it("ends with exit code 1 when no broker answers", async ({ stage }) => {
    const url = `mqtt://127.0.0.1:${await freePort()}`;
    await stage.write(
      "config.yaml",
      JSON.stringify(configurationFor("https://platform.invalid", mosquittoSection(url))),
    );
    expect(await run(stage, "cleanup")).toMatchObject({ code: 1, stdout: "" });
  });
});

describe.concurrent("run", () => {
  it("ends with exit code 1 and names the port when the embedded broker's port is taken", async ({
    stage,
  }) => {
    const server = net.createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as net.AddressInfo;
    await stage.write(
      "config.yaml",
      JSON.stringify(configurationFor("https://platform.invalid", { broker: { port } })),
    );
    const { code, stderr } = await run(stage, "run");
    server.close();
    expect(code).toBe(1);
    expect(stderr).toContain(String(port));
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it("writes logs to stderr, one JSON object a line when that is no terminal without a line for each actuator found, and nothing to stdout", async ({
    stage,
  }) => {
    const platform = await stage.platform();
    const broker = await stage.mosquitto();
    const watch = await stage.watch({ url: broker.url, protocolVersion: 5 });
    await stage.write(
      "config.yaml",
      JSON.stringify(configurationFor(platform.url, mosquittoSection(broker.url))),
    );
    const bridge = stage.program([]);
    await until(watch, "greenhouse/bridge/state", "online");
    await until(watch, "greenhouse/gh-0001/availability", "online");
    const { code, stdout, stderr } = await bridge.end("SIGTERM");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    const lines = stderr.split("\n").filter((line) => line !== "" && !/^config\.yaml:\d+:\d+ /.test(line));
    expect(lines).not.toEqual([]);
    const parsed = lines.map((line) => JSON.parse(line) as unknown);
    expect(parsed).toContainEqual(expect.objectContaining({ level: 30 }));
    expect(stderr).not.toContain("actuator found");
  });
});

describe.concurrent("demo", () => {
  const listensAt = async (port: number): Promise<net.Server | null> => {
    const server = net.createServer();
    try {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      return server;
    } catch {
      return null;
    }
  };

  const answersAt = async (port: number): Promise<boolean> => {
    const socket = net.connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  };

  it("works without configuration, also when 1883 and 8099 are busy, and leaves nothing behind", async ({
    stage,
  }) => {
    // A port that somebody else has already is busy as well.
    const busy = [await listensAt(1883), await listensAt(8099)];
    const temporary = join(stage.folder, "tmp");
    await mkdir(temporary);
    try {
      const demo = stage.program(["demo"], { env: { TMPDIR: temporary } });
      const [url = "", port] = await demo.untilPrinted(/mqtt:\/\/127\.0\.0\.1:(\d+)/, 20_000);
      expect(Number(port)).not.toBe(1883);
      // Whoever copies the printed address must find the broker there.
      expect(await answersAt(Number(port))).toBe(true);
      const watch = await stage.watch({ url, protocolVersion: 4 });
      await until(watch, "greenhouse/bridge/state", "online");
      await until(watch, "greenhouse/gh-0001/sensor/airtemp/quality", "good");
      await watch.untilTrue(
        () => watch.current(/^homeassistant\/device\/[^/]+\/config$/).size > 3,
        "discovery messages",
      );
      expect(await demo.end("SIGINT")).toMatchObject({ code: 0 });
      expect(await readdir(temporary)).toEqual([]);
      expect(await readdir(stage.folder)).toEqual(["tmp"]);
    } finally {
      for (const server of busy) server?.close();
    }
  });
});
