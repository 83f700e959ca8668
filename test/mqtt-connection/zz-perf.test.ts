import mqtt from "mqtt";
import { BrokerConnection } from "/work/main/src/mqtt/connection.js";
import { systemClock } from "/work/main/src/runtime/clock.js";
import { startMosquitto } from "/work/main/test/support/mosquitto.js";
import { test } from "vitest";
test("perf", async () => {
const m = await startMosquitto({});
const log = { trace(){},debug(){},info: console.log, warn: console.log, error: console.log, fatal(){} } as any;
for (const v of [5,4] as const) {
  const stop = new AbortController();
  let up!: () => void; const online = new Promise<void>(r => up = r);
  const c = new BrokerConnection({ url: m.url, clientId: "g2m", protocolVersion: v, subscriptions: ["a/+/set"], on: { connected() { up(); } } }, { clock: systemClock, random: () => 0, log });
  const run = c.run(stop.signal);
  await online;
  const bare = await mqtt.connectAsync(m.url, { protocolVersion: v });
  for (let k = 0; k < 5; k++) {
    let t = performance.now();
    await Promise.all(Array.from({ length: 6000 }, (_, i) => c.publish("a/b/" + i, "payload " + i, { retain: true })));
    const ours = performance.now() - t;
    t = performance.now();
    await Promise.all(Array.from({ length: 6000 }, (_, i) => bare.publishAsync("a/b/" + i, "payload " + i, { retain: true, qos: 1 })));
    console.log(v, ours.toFixed(0), (performance.now() - t).toFixed(0));
  }
  bare.end();
  console.log(c.counters(), c.state);
  stop.abort(); await run; console.log(c.state);
}
await m.stop();
}, 60000);
