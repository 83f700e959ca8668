import { describe, expect, it, vi } from "vitest";
import { obliging, puback, scriptedBroker } from "../mqtt-connection/wire.js";
import { freePort } from "../support/mosquitto.js";
import { bridge, platform } from "./support/bridge.js";

describe("a broker that acknowledges no publish", () =>
  it("makes /healthz say 503 until it does, and the log one line with their number", async () => {
    const unanswered: (() => void)[] = [];
    let acknowledges = false;
    const broker = await scriptedBroker((packet, peer) => {
      const ack = packet.type === 3 ? puback(packet) : null;
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
