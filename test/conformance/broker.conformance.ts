import { afterAll, beforeAll, describe, it } from "vitest";
import type { EmbeddedBroker } from "../../src/broker/broker.js";
import { benchFor, startConformanceBroker } from "./bench.js";
import { connections } from "./connections.js";
import { messages } from "./messages.js";
import { sessions } from "./sessions.js";

/*
 * What this program itself does for the embedded broker, by raw packets, side by side on one broker: what is retained, what sessions miss,
 * rights and granted QoS, properties, logins. What the library under it does with packets is the library's own to test; hostile
 * packets are those of the fuzz.
 */

const brokers: EmbeddedBroker[] = [];
beforeAll(async () => {
  brokers.push(await startConformanceBroker());
});
afterAll(() => brokers[0]?.close());

const subjects = [connections, messages, sessions];

describe.concurrent.each([
  { version: 4, name: "MQTT 3.1.1" },
  { version: 5, name: "MQTT 5" },
] as const)("$name", ({ version }) => {
  for (const { both, only5 } of subjects)
    for (const [rule, check] of Object.entries(version === 5 ? { ...both, ...only5 } : both))
      it(rule, async ({ onTestFinished }) => {
        const [broker] = brokers;
        if (broker === undefined) throw new Error("there is no broker");
        await check(benchFor(version, broker, onTestFinished));
      });
});
