import { execFileSync } from "node:child_process";
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
import { inProject, textOf } from "./support/project.js";

interface Row {
  readonly topic: string;
  readonly publish: readonly User[];
  readonly read: readonly User[];
}

const readers: readonly User[] = ["bridge", "homeassistant", "operator", "dashboard"];
const commanders: readonly User[] = ["bridge", "homeassistant", "operator"];
const [bridge, homeAssistant]: readonly (readonly User[])[] = [["bridge"], ["homeassistant"]];
const both: readonly User[] = ["bridge", "homeassistant"];
const rights = (publish: readonly User[] = [], read: readonly User[] = [], ...topics: string[]): Row[] =>
  topics.map((topic) => ({ topic, publish, read }));

const everything = [
  ...rights(
    commanders,
    readers,
    ...["greenhouse/east/actuator/left_skylight/set", "greenhouse/gh-0001/parameter/ec_target/set"],
    ...["lock", "unlock", "release", "acknowledge"].map((name) => `greenhouse/bridge/request/${name}`),
  ),
  ...rights(
    bridge,
    readers,
    ...["bridge/state", "bridge/info", "east/sensor/air/quality", "east/actuator/left_skylight/state"]
      .concat([
        "east/result",
        "east/actuator/left_skylight/result",
        "bridge/self_test",
        "bridge/response/get",
      ])
      // Raw addresses go around the configuration, so not even an operator reaches them.
      .concat(["east/address/101/set", "response/panel-1"])
      .map((topic) => `greenhouse/${topic}`),
  ),
  ...rights(both, readers, "greenhouse/bridge/request/refresh"),
  ...rights(both, both, "homeassistant/device/gh-0001/config"),
  ...rights(homeAssistant, both, "homeassistant/status"),
  ...rights(homeAssistant, homeAssistant, "homeassistant/sensor/of_another_program/config"),
  ...rights(
    [],
    bridge,
    "weather/wind",
    ...["other", "farm/east", "a/b/c"].map((base) => `${base}/bridge/self_test`),
  ),
  ...rights([], [], "something/else"),
];

const composeSettings = "deploy/compose/mosquitto/mosquitto.conf";
const accessList = () => textOf("deploy/mosquitto/acl");

/** As the command makes it that the README of a fleet has. */
async function accessListOfFleet(): Promise<string> {
  const [, command = "false"] = /^(sed -E .*) > /m.exec(await textOf("deploy/fleet/README.md")) ?? [];
  return execFileSync("sh", ["-c", command], { cwd: inProject("deploy/fleet/compose"), encoding: "utf8" });
}

/** The same topics of an account of a fleet. */
const ofAccount = (row: Row): Row => ({
  ...row,
  topic: row.topic.replace(/^greenhouse\/(?!response)/, "greenhouse/north/"),
});

describe.each([
  ["deploy/mosquitto/greenhouse2mqtt.conf", "one bridge", accessList, everything],
  [composeSettings, "one bridge", accessList, everything],
  [composeSettings, "a fleet", accessListOfFleet, everything.map(ofAccount)],
])("the access list in a Mosquitto with %s for %s", (settings, _, list, named) => {
  let broker: Mosquitto;
  let witness: Client;
  /** What the broker answered to each user's publish, and what of it arrived. */
  const published = new Map<string, { readonly answer: string; readonly arrived: boolean }>();
  const read = new Map<User, ReadonlySet<string>>();

  beforeAll(async () => {
    broker = await brokerOf(settings, await list());
    witness = await clientOf(broker, "witness");
    for (const user of users) {
      const client = await clientOf(broker, user);
      await Promise.all(named.map(({ topic }) => witness.publish(topic)));
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
      named.map(async ({ topic }) => ({ topic, answer: await client.publish(topic, payload) })),
    );
    // Whatever the broker took stands before this mark.
    await witness.publish(`mark/${user}`);
    await witness.until(`mark/${user}`);
    for (const { topic, answer } of answers) {
      const arrived = witness.messages.some((one) => one.topic === topic && one.payload === payload);
      published.set(`${user} ${topic}`, { answer, arrived });
    }
  }

  it.each(named)("lets exactly the right users publish $topic", ({ topic, publish }) => {
    const denied = users.filter((user) => !publish.includes(user));
    for (const user of publish)
      expect(published.get(`${user} ${topic}`), user).toEqual({ answer: "taken", arrived: true });
    for (const user of denied)
      expect(published.get(`${user} ${topic}`), user).toEqual({ answer: "forbidden", arrived: false });
  });

  it.each(named)("lets exactly the right users read $topic", ({ topic, read: allowed }) => {
    const readers = users.filter((user) => read.get(user)?.has(topic) === true);
    expect(readers).toEqual(users.filter((user) => allowed.includes(user)));
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
});
