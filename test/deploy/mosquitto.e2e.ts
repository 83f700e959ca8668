import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Mosquitto } from "../support/mosquitto.js";
import {
  brokerOf,
  type Client,
  clientOf,
  connected,
  password,
  type User,
  users,
} from "./support/broker-users.js";

type Rights = Readonly<Record<User, boolean>>;
const only = (...allowed: readonly User[]): Rights => ({
  bridge: allowed.includes("bridge"),
  homeassistant: allowed.includes("homeassistant"),
  operator: allowed.includes("operator"),
  dashboard: allowed.includes("dashboard"),
  nobody: allowed.includes("nobody"),
});

interface Row {
  readonly topic: string;
  readonly publish: Rights;
  readonly read: Rights;
}

const readers = only("bridge", "homeassistant", "operator", "dashboard");
const rows: readonly Row[] = [
  ...["east/actuator/left_skylight/set", "gh-0001/parameter/ec_target/set"].map((topic) => ({
    topic: `greenhouse/${topic}`,
    publish: only("bridge", "homeassistant", "operator"),
    read: readers,
  })),
  ...["bridge/state", "bridge/info", "east/sensor/air/quality", "east/actuator/left_skylight/state"].map(
    (topic) => ({ topic: `greenhouse/${topic}`, publish: only("bridge"), read: readers }),
  ),
  ...["east/result", "east/actuator/left_skylight/result", "bridge/self_test", "bridge/response/get"].map(
    (topic) => ({ topic: `greenhouse/${topic}`, publish: only("bridge"), read: readers }),
  ),
  // Raw addresses go around the configuration, so not even an operator reaches them.
  { topic: "greenhouse/east/address/101/set", publish: only("bridge"), read: readers },
  ...["lock", "unlock", "release", "acknowledge"].map((name) => ({
    topic: `greenhouse/bridge/request/${name}`,
    publish: only("bridge", "homeassistant", "operator"),
    read: readers,
  })),
  { topic: "weather/wind", publish: only(), read: only("bridge") },
  {
    topic: "greenhouse/bridge/request/refresh",
    publish: only("bridge", "homeassistant"),
    read: readers,
  },
  {
    topic: "homeassistant/device/gh-0001/config",
    publish: only("bridge", "homeassistant"),
    read: only("bridge", "homeassistant"),
  },
  {
    topic: "homeassistant/status",
    publish: only("homeassistant"),
    read: only("bridge", "homeassistant"),
  },
  {
    topic: "homeassistant/sensor/of_another_program/config",
    publish: only("homeassistant"),
    read: only("homeassistant"),
  },
  ...["other", "farm/east", "a/b/c"].map((base) => ({
    topic: `${base}/bridge/self_test`,
    publish: only(),
    read: only("bridge"),
  })),
  { topic: "greenhouse/response/panel-1", publish: only("bridge"), read: readers },
  { topic: "something/else", publish: only(), read: only() },
];

const named = rows.map((row) => [row.topic, row] as const);

describe.each(["deploy/mosquitto/greenhouse2mqtt.conf", "deploy/compose/mosquitto/mosquitto.conf"])(
  "the access list in a Mosquitto with %s",
  (settings) => {
    let broker: Mosquitto;
    let witness: Client;
    /** What the broker answered to each user's publish, and what of it arrived. */
    const published = new Map<string, { readonly answer: string; readonly arrived: boolean }>();
    const read = new Map<User, ReadonlySet<string>>();

    beforeAll(async () => {
      broker = await brokerOf(settings);
      witness = await clientOf(broker, "witness");
      for (const user of users) {
        const client = await clientOf(broker, user);
        await Promise.all(rows.map(({ topic }) => witness.publish(topic)));
        await witness.publish(`done/${user}`);
        await client.until(`done/${user}`);
        read.set(user, new Set(client.received));
        await publishAll(user, client);
        await client.end();
      }
    });
    afterAll(async () => {
      await witness.end();
      await broker.stop();
    });

    async function publishAll(user: User, client: Client): Promise<void> {
      const payload = `from ${user}`;
      const answers = await Promise.all(
        rows.map(async ({ topic }) => ({ topic, answer: await client.publish(topic, payload) })),
      );
      // Whatever the broker took stands before this mark.
      await witness.publish(`mark/${user}`);
      await witness.until(`mark/${user}`);
      for (const { topic, answer } of answers) {
        const arrived = witness.messages.some((one) => one.topic === topic && one.payload === payload);
        published.set(`${user} ${topic}`, { answer, arrived });
      }
    }

    it.each(named)("lets exactly the right users publish %s", (topic, { publish }) => {
      for (const user of users) {
        const allowed = { answer: "taken", arrived: true };
        const denied = { answer: "forbidden", arrived: false };
        expect({ user, ...published.get(`${user} ${topic}`) }).toEqual({
          user,
          ...(publish[user] ? allowed : denied),
        });
      }
    });

    it.each(named)("lets exactly the right users read %s", (topic, { read: allowed }) => {
      const readers = users.filter((user) => read.get(user)?.has(topic) === true);
      expect(readers).toEqual(users.filter((user) => allowed[user]));
    });

    it("hands a new subscriber every retained topic of 500 points, though it takes them slowly", async () => {
      const topics = Array.from({ length: 1_500 }, (_, n) => `greenhouse/burst/sensor/s${n}`);
      const publisher = await connected(broker, { username: "bridge", password });
      await Promise.all(
        topics.map((topic) => publisher.publishAsync(topic, "x".repeat(200), { qos: 1, retain: true })),
      );
      const screen = await connected(broker, { username: "dashboard", password });
      const seen = new Set<string>();
      screen.on("message", (topic) => seen.add(topic));
      await screen.subscribeAsync("greenhouse/burst/#", { qos: 1 });
      await expect.poll(() => seen.size, { timeout: 10_000 }).toBe(topics.length);
      await Promise.all([publisher.endAsync(), screen.endAsync()]);
    });

    it.each([
      ["without a name", {}],
      ["with an unknown name", { username: "stranger", password }],
      ["with a wrong password", { username: "operator", password: "guessed" }],
      ["with an empty password", { username: "bridge", password: "" }],
    ])("lets nobody in %s", async (_, login) => {
      await expect(connected(broker, login)).rejects.toThrow(/not authorized/i);
    });
  },
);
