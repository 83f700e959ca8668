import { describe, expect, it } from "vitest";
import type { Simulator } from "../../src/simulator/simulator.js";
import { otherClient, testMosquitto, until } from "../mqtt-connection/support.js";
import { bridge, platform } from "./support/bridge.js";

/** A bridge on a Mosquitto, and the events it raises. */
async function eventsOf(text: string, simulator: Simulator) {
  const { url } = await testMosquitto();
  const client = await otherClient(url);
  const events: Readonly<Record<string, unknown>>[] = [];
  client.on("message", (_, payload) => {
    events.push(JSON.parse(payload.toString()) as Readonly<Record<string, unknown>>);
  });
  await client.subscribeAsync("greenhouse/bridge/event", { qos: 1 });
  const { lines } = await bridge(`${text}\nmqtt: { url: "${url}" }\nhttp: false`, simulator);
  const said = (type: string) =>
    until(() => events.some((event) => event["type"] === type), `said ${type}`, lines);
  return { events, said };
}

describe("on bridge/event", () => {
  it("a sensor answer of an unknown shape is said with its operation and the names it had", async () => {
    const simulator = await platform({ profile: "odd" });
    const half = "  shapes: { sensor-data: { query: { deviceCode: facility } } }\n  push: { enabled: false }";
    const { events, said } = await eventsOf(half, simulator);
    await said("shape_unknown");
    const event = events.find(({ type }) => type === "shape_unknown");
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
    await said("sign_in_refused");
    const event = events.find(({ type }) => type === "sign_in_refused");
    expect(event).toMatchObject({ severity: "error" });
    expect(event?.["message"]).toContain("platform.sign_in.body");
    expect(JSON.stringify(events)).not.toContain("canary");
  });
});
