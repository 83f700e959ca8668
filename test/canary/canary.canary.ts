import mqtt from "mqtt";
import { expect, it } from "vitest";
import { startBroker } from "../../src/broker/broker.js";
import { systemClock } from "../../src/runtime/clock.js";
import { tellFigures } from "../proof/figures.js";
import { silentLog } from "../support/builders.js";
import { scenarios } from "./scenarios.js";
import { type Found, play, type World } from "./scene.js";
import { leaksIn, secrets } from "./secrets.js";

/*
 * Planted secrets in scenarios that all fail, and a look at everything that comes out: output, log, topics, HTTP pages,
 * journal and every other file. CANARY_ONLY=<pattern> plays those whose names match.
 */

const atOnce = 12;
/** Where the address of a video stream belongs once `stream` is true; no other secret does. */
const streamTopic = /^canary\d+(\/east\/info|-ha\/.*)$/;
const only = new RegExp(process.env["CANARY_ONLY"] ?? "");

it("no planted secret surfaces in 200 failing scenarios", async () => {
  const chosen = scenarios.filter(({ name }) => only.test(name));
  const topics = { base: "none", status: "none/status", discoveryPrefix: "none" };
  const anonymous = { publish: ["#"], subscribe: ["#"] };
  const broker = await startBroker(
    { host: "127.0.0.1", port: 0, users: [], anonymous, topics, limits: { clients: 1_000 } },
    { clock: systemClock, log: silentLog },
  );
  const client = await mqtt.connectAsync(broker.url, { clientId: "canary-watch", protocolVersion: 5 });
  client.setMaxListeners(0);
  const found: Found[] = [];
  let messages = 0;
  let streams = 0;
  client.on("message", (topic, payload, { properties }) => {
    messages += 1;
    const seen = `${topic} ${payload.toString()} ${JSON.stringify(properties ?? {})}`;
    const isWanted = streamTopic.test(topic) && seen.includes(secrets.streamAddress);
    if (isWanted) streams += 1;
    const what = leaksIn(isWanted ? seen.replaceAll(secrets.streamAddress, "") : seen);
    if (what.length > 0)
      found.push({ scenario: "MQTT", where: `${topic} ${payload.toString().slice(0, 300)}`, what });
  });
  await client.subscribeAsync("#", { qos: 1 });
  const world: World = { brokerPort: broker.port, client };
  const startedAt = performance.now();
  const waiting = [...chosen];
  const silent: string[] = [];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const begun = performance.now();
        const { found: own, evidence } = await play(next, world);
        if (process.env["CANARY_TIMES"] === "1")
          process.stdout.write(`${Math.round(performance.now() - begun)} ms ${next.name}: ${evidence}\n`);
        found.push(...own);
        if (evidence.startsWith("false") && next.command !== "bridge") silent.push(next.name);
      }
    }),
  );
  await client.endAsync(true);
  await broker.close();
  await tellFigures("canary", false, {
    scenarios: chosen.length,
    seconds: Math.round((performance.now() - startedAt) / 1_000),
    "MQTT messages seen": messages,
    "planted secrets that surfaced": found.length,
  });
  expect(found).toEqual([]);
  expect(silent, "scenarios that said nothing at all").toEqual([]);
  if (chosen.some(({ hasStream }) => hasStream)) expect(streams, "wanted video streams").toBeGreaterThan(0);
  if (only.source === "(?:)") expect(chosen.length).toBeGreaterThanOrEqual(200);
});
