import { describe, expect, it } from "vitest";
import { running } from "../simulator/running.js";
import { settled } from "../support/virtual-clock.js";
import { listening } from "./push/listening.js";
import { factsOf, makeClient, never, settingsFor } from "./support/client-under-test.js";
import { startRawHost } from "./support/hosts.js";

describe("total deadlines", () =>
  it("1,000 exchanges that time out leave no connection behind", async () => {
    const host = await startRawHost(() => undefined);
    const timeouts = { connect: 1_000, read: 20, control: 20 };
    const { client } = makeClient(settingsFor(host.url, { timeouts }));
    for (let round = 0; round < 125; round += 1)
      await Promise.all(Array.from({ length: 8 }, () => factsOf(client.connection("GH-1", never))));
    await expect.poll(() => host.open, { timeout: 50_000 }).toBe(0);
    expect(host.accepted).toBeGreaterThanOrEqual(500);
  }));

const patience = { timeout: 30_000, interval: 1 };

/** Sockets and timers that the process holds now. */
const held = () => {
  const kinds = process.getActiveResourcesInfo();
  const count = (name: string) => kinds.filter((kind) => kind === name).length;
  return { sockets: count("TCPSocketWrap"), timers: count("Timeout") };
};

it("a channel that comes and goes 1,000 times leaves no socket, no timer and no listener behind", async () => {
  const simulator = await running({ pushIntervalMs: 1 });
  await settled();
  const before = held();
  const { client, lost, stop, lines } = listening(simulator.realtimeUrl);
  for (let n = 1; n <= 1_000; n++) {
    await expect.poll(() => client.pushCounters().connects, patience).toBe(n);
    simulator.control.push("drop");
    await expect.poll(lost, patience).toBe(n);
    expect(simulator.pushConnections()).toBeLessThanOrEqual(2);
  }
  await expect.poll(() => client.pushCounters().open, patience).toBe(1);
  await expect.poll(() => simulator.pushConnections(), patience).toBe(1);
  expect(client.pushCounters()).toMatchObject({ lost: 1_000, failures: 0 });
  expect(lines.filter((line) => /"level":[3-6]0/.test(line)).length).toBeLessThanOrEqual(3);
  await stop();
  await expect.poll(() => simulator.pushConnections(), patience).toBe(0);
  await expect.poll(() => held().sockets, patience).toBeLessThanOrEqual(before.sockets);
  await expect.poll(() => held().timers, patience).toBeLessThanOrEqual(before.timers + 1);
}, 180_000);
