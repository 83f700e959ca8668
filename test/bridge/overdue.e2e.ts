import { describe, expect, it } from "vitest";
import type { Overdue } from "../../src/status/overdue.js";
import { systemClock } from "../../src/runtime/clock.js";
import { otherClient, testMosquitto, until } from "../mqtt-connection/support.js";
import { bridge, platform } from "./support/bridge.js";

const minute = 60_000;

describe("bridge/health", () => {
  it("names an actuator whose address the platform does not show, and since when", async () => {
    const { url } = await testMosquitto();
    const client = await otherClient(url);
    const answers: Readonly<Record<string, unknown>>[] = [];
    client.on("message", (_, payload) => {
      const { data } = JSON.parse(payload.toString()) as { data: Readonly<Record<string, unknown>> };
      answers.push(data);
    });
    await client.subscribeAsync("greenhouse/bridge/response/health", { qos: 1 });
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
      const before = answers.length;
      const ask = () => client.publishAsync("greenhouse/bridge/request/health", "", { qos: 1 });
      await ask();
      await until(() => answers.length > before, "answered", lines);
      return answers.at(-1)?.["overdue"];
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
