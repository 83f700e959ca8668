import { describe, expect, it } from "vitest";
import { startBroker } from "../../src/broker/broker.js";
import { systemClock } from "../../src/runtime/clock.js";
import { capturedLog, otherClient, retainedValue, testBroker, topics } from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";

const ports = { clock: systemClock, log: capturedLog().log };
const good = { host: "127.0.0.1", port: 0, users: [], topics };
const strong = "correct horse battery";

describe("starting", () => {
  it("tells a taken port, and leaves no other port open behind", async () => {
    const first = await testBroker();
    const other = await freePort();
    await expect(
      startBroker({ ...good, port: other, websocketPort: first.port }, ports),
    ).rejects.toMatchObject({ key: "broker.websocket_port", portInUse: true });
    await expect(startBroker({ ...good, port: first.port }, ports)).rejects.toMatchObject({
      key: "broker.port",
      portInUse: true,
      message: expect.stringContaining("mqtt.url") as string,
    });
    await testBroker({ port: other });
  });

  it("tells a certificate that cannot be used", async () => {
    await expect(
      startBroker({ ...good, tls: { cert: "/nowhere.pem", key: "/nowhere.key", port: 0 } }, ports),
    ).rejects.toMatchObject({
      key: "broker.tls",
      message: expect.stringContaining("broker.tls.cert") as string,
    });
  });

  it("binds the loopback address only, unless told otherwise", async () => {
    const broker = await testBroker();
    expect(broker.url).toBe(`mqtt://127.0.0.1:${broker.port}`);
    const open = await testBroker({ host: "0.0.0.0", users: [{ username: "a", password: strong }] });
    expect(open.url).toBe(`mqtt://127.0.0.1:${open.port}`);
  });

  it("keeps nothing over a restart, frees its ports, and tells its clients", async () => {
    const broker = await startBroker(good, ports);
    const client = await otherClient(broker.url, { ...broker.credential, protocolVersion: 5 });
    let reason: number | undefined;
    client.on("disconnect", (packet) => {
      reason = packet.reasonCode;
    });
    await client.publishAsync("greenhouse/a", "x", { qos: 1, retain: true });
    await broker.close();
    expect(reason).toBe(0x8b);
    const again = await testBroker({ port: broker.port });
    expect(await retainedValue(again.url, "greenhouse/a")).toBeNull();
    expect(again.credential).not.toEqual(broker.credential);
  });
});
