import { describe, expect, it, vi } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import type { Simulator } from "../../src/simulator/simulator.js";
import type { Overdue } from "../../src/status/overdue.js";
import { until } from "../mqtt-connection/support.js";
import { obliging, puback, scriptedBroker } from "../mqtt-connection/wire.js";
import { freePort } from "../support/mosquitto.js";
import { brokerAndClient, bridge, type Fields, platform } from "./support/bridge.js";

const minute = 60_000;

describe("bridge/health", () => {
  it("names an actuator whose address the platform does not show, and since when", async () => {
    const { url, json, say } = await brokerAndClient();
    const answers = () => json("greenhouse/bridge/response/health").map(({ data }) => data as Fields);
    // Time that can leap ahead, as after a long silence; waits take their real time.
    let leapMs = 0;
    const clock = {
      ...systemClock,
      now: () => systemClock.now() + leapMs,
      monotonic: () => systemClock.monotonic() + leapMs,
    };
    const started = clock.now();
    const { lines } = await bridge(
      [
        `mqtt: { url: "${url}" }`,
        "http: false",
        "polling: { controllers: 1s, sensors: 1s, running_status: 1s, actuators: 1s }",
        'controllers: { GH-0001: { id: east, actuators: { ghost: { kind: light, address: "999" } } } }',
      ].join("\n"),
      await platform(),
      { clock },
    );
    const health = async () => {
      const before = answers().length;
      await say("greenhouse/bridge/request/health", "");
      await until(() => answers().length > before, "answered", lines);
      return answers().at(-1)?.["overdue"];
    };
    await until(() => lines.some((line) => line.includes("the platform answers")), "reading", lines);
    await until(() => lines.some((line) => line.includes("connected to")), "connected", lines);
    expect(await health()).toEqual([]);
    leapMs = 10 * minute;
    let late: unknown = null;
    while (JSON.stringify(late) !== JSON.stringify([{ controller: "east", what: "actuator/ghost" }])) {
      const found = (await health()) as readonly Overdue[];
      for (const { since } of found) expect(Date.parse(since)).toBeLessThan(started + 5 * minute);
      late = found.map(({ controller, what }) => ({ controller, what }));
    }
  });
});

/** A bridge on a Mosquitto, and the events it raises. */
async function eventsOf(text: string, simulator: Simulator) {
  const { url, json } = await brokerAndClient();
  const { lines } = await bridge(`${text}\nmqtt: { url: "${url}" }\nhttp: false`, simulator);
  const events = () => json("greenhouse/bridge/event");
  /** The event of this type, once it was said. */
  const said = async (type: string) => {
    const event = () => events().find((one) => one["type"] === type);
    await until(() => event() !== undefined, `said ${type}`, lines);
    return event();
  };
  return { events, said };
}

describe("on bridge/event", () => {
  it("a sensor answer of an unknown shape is said with its operation and the names it had", async () => {
    const simulator = await platform({ profile: "odd" });
    const half = "  shapes: { sensor-data: { query: { deviceCode: facility } } }\n  push: { enabled: false }";
    const { said } = await eventsOf(half, simulator);
    const event = await said("shape_unknown");
    expect(event).toMatchObject({ severity: "warning" });
    expect(event?.["message"]).toContain(`platform.shapes.${String(event?.["operation"])}`);
  });

  it("a refused sign-in is said, and never the password", async () => {
    const auth = {
      tokens: "known",
      checkRealtime: true,
      signIn: { account: "grower", password: "right-password" },
    } as const;
    const simulator = await platform({ auth });
    const body = "  sign_in: { body: { account: grower, password: wrong-canary-password } }";
    const { events, said } = await eventsOf(body, simulator);
    const event = await said("sign_in_refused");
    expect(event).toMatchObject({ severity: "error" });
    expect(event?.["message"]).toContain("platform.sign_in.body");
    expect(JSON.stringify(events())).not.toContain("canary");
  });
});

describe("a broker that acknowledges no publish", () =>
  it("makes /healthz say 503 until it does, and the log one line with their number", async () => {
    const unanswered: (() => void)[] = [];
    let acknowledges = false;
    const broker = await scriptedBroker((packet, peer) => {
      const ack = packet.type === 3 ? puback(packet, 5) : null;
      if (ack === null || acknowledges) obliging(packet, peer, 5);
      else unanswered.push(() => peer.send(...ack));
    });
    const port = await freePort();
    const { lines } = await bridge(
      `mqtt: { url: "${broker.url}" }\nhttp: { port: ${port} }`,
      await platform(),
    );
    const patient = { timeout: 45_000, interval: 50 };
    const answers = async (status: number) => {
      expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status, lines.join("\n")).toBe(status);
    };
    await vi.waitFor(() => answers(200), patient);
    await vi.waitFor(() => answers(503), patient);
    const before = unanswered.length;
    await vi.waitFor(() => expect(unanswered.length).toBeGreaterThan(before + 1), patient);
    const told = lines.filter((line) => /^(warn|error) .*acknowledge/.test(line));
    expect(told).toEqual([expect.stringMatching(/^warn .*"count":\d+/)]);
    acknowledges = true;
    await vi.waitFor(() => answers(200), patient);
    await vi.waitFor(
      () =>
        expect(lines.filter((line) => line.includes("acknowledges what we publish again"))).toHaveLength(1),
      patient,
    );
  }, 150_000));
