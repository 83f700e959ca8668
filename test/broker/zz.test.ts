import { it } from "vitest";
import { connect, otherClient, testBroker } from "../mqtt-connection/support.js";
it("x", async () => {
    const broker = await testBroker({}, {log: new Proxy({}, {get: () => (...a: any[]) => console.log(...a)}) as any});
    const { messages, online } = connect({...broker,...broker.credential, subscriptions: ["greenhouse/+/actuator/+/set", "greenhouse/bridge/request/+"]});
    await online();
    const listener = await otherClient(broker.url, { protocolVersion: 5, clientId: "listener" });
    listener.on("error", e => console.log("listener error", e)); listener.on("close", () => console.log("listener closed"));
    listener.on("message", (_topic, _payload, packet) => console.log("listener", _topic, packet.properties));
    await listener.subscribeAsync("#", { qos: 1 });
    const client = await otherClient(broker.url, { protocolVersion: 4, clientId: "phone" });
    await client.publishAsync("greenhouse/east/actuator/roof/set", "open", { qos: 1});
    await client.publishAsync("greenhouse/bridge/request/read", "{}", { qos: 0 });
    await new Promise(r => setTimeout(r, 500));
    console.log(messages);
});
