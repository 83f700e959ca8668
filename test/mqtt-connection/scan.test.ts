import { describe, expect, it } from "vitest";
import { anyBroker, brokerTable, connect, otherClient, until } from "./support.js";

describe.each(brokerTable)("on $make with MQTT $version", ({ make, version }) => {
  it("a scan shows every retained message once and no live ones, and commands go on arriving", async () => {
    const broker = await anyBroker(make);
    const { connection, messages, online } = connect({
      ...broker,
      ...broker.credential,
      protocolVersion: version,
      subscriptions: ["greenhouse/+/actuator/+/set"],
    });
    await online();
    for (let n = 0; n < 300; n += 1)
      await connection.publish(`greenhouse/east/sensor/${n}`, `${n}`, { retain: true });
    const found = new Map<string, string>();
    let times = 0;
    const scan = connection.scan(
      ["greenhouse/+/sensor/+"],
      (topic, payload) => {
        times += 1;
        found.set(topic, payload.toString());
      },
      300,
    );
    await until(() => found.size > 0, "the first found");
    await connection.publish("greenhouse/east/sensor/live", "x");
    const other = await otherClient(broker.url, { protocolVersion: version });
    await other.publishAsync("greenhouse/east/actuator/roof/set", "open", { qos: 1 });
    await scan;
    expect(found.size).toBe(300);
    expect(times).toBe(300);
    expect(found.get("greenhouse/east/sensor/299")).toBe("299");
    expect(messages.map((message) => message.topic)).toEqual(["greenhouse/east/actuator/roof/set"]);
    await connection.publish("greenhouse/east/sensor/1", "after", { retain: true });
    expect(found.get("greenhouse/east/sensor/1")).toBe("1");
  });

  it("a scan ends when the link does, and a listener that throws does no harm", async () => {
    const broker = await anyBroker(make);
    const { connection, online } = connect({ ...broker, ...broker.credential, protocolVersion: version });
    await online();
    await connection.publish("greenhouse/a", "x", { retain: true });
    const scan = connection.scan(
      ["greenhouse/#"],
      () => {
        connection.reconnect("in the middle");
        throw new Error("a bug");
      },
      60_000_000,
    );
    await until(() => connection.counters().listenerErrors === 1, "the listener called");
    await online(2);
    await scan;
    await connection.publish("greenhouse/b", "y");
  });
});
