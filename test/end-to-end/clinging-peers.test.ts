import { describe, expect } from "vitest";
import { startClinging } from "../support/clinging.js";
import { freePort } from "../support/mosquitto.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { houseOf } from "./support/house.js";
import { type Configuration, configurationFor, mosquittoSection, type Stage } from "./support/stage.js";
import { it } from "./support/staged.js";
import { ask, fields, seenOn, until } from "./support/watch.js";

/*
 * Peers that never let go, and the built program: services of messages, proxies and mail servers that take a connection and answer
 * nothing or a byte now and then, and a broker that acknowledges nothing any more. What locks, ends or forbids waits for none of them.
 */

const quick = { settle: "100ms", confirm_within: "3s" };
const controllers: Configuration = {
  "GH-0001": { actuators: { fan: { kind: "circulation_fan", address: "150", ...quick } } },
};
/** A lock waits for the disk alone, and this machine may have much else to do; what nobody answers takes 20 s. */
const soonMs = 10_000;

const took = async <Result>(work: () => Promise<Result>) => {
  const from = performance.now();
  const result = await work();
  return { result, ms: performance.now() - from };
};

async function scene(stage: Stage, told: Configuration, more: Configuration = {}) {
  const platform = await stage.platform({ controllers: 1 });
  const broker = await stage.mosquitto();
  const door = stage.keep(await startTcpProxy(broker.port));
  const watch = await stage.watch({ url: `mqtt://127.0.0.1:${broker.port}`, protocolVersion: 5 });
  const bridge = await stage.bridge(
    configurationFor(platform.url, mosquittoSection(`mqtt://127.0.0.1:${door.port}`), {
      ...{ notify: told, controllers, mirror: "listed", homeassistant: { enabled: false } },
      ...more,
    }),
  );
  await until(watch, "greenhouse/bridge/state", "online");
  return { watch, bridge, door, house: houseOf("GH-0001", { platform, watch }) };
}

const mail = (port: number) => ({
  smtp: { host: "127.0.0.1", port, encryption: "none", from: "a@example.com", to: ["b@example.com"] },
});
type Ways = (peer: Peer) => Configuration;
const patient = { timeout: 180_000 };
type Peer = Awaited<ReturnType<typeof startClinging>>;
const peers: readonly { readonly peer: string; readonly says: string; readonly notify: Ways }[] = [
  {
    ...{ peer: "a webhook that says nothing", says: "" },
    notify: ({ url }) => ({ ways: { hook: { webhook: { url } } } }),
  },
  {
    ...{ peer: "a proxy that never answers CONNECT", says: "" },
    notify: ({ url }) => ({
      proxy: { url },
      ways: { hook: { webhook: { url: "https://service.example/" } }, office: mail(25) },
    }),
  },
  {
    ...{ peer: "a mail server that drips", says: "220-slow" },
    notify: ({ port }) => ({ ways: { office: mail(port) } }),
  },
];

describe.concurrent.each(peers)("behind four tests of messages to $peer", patient, ({ says, notify }) => {
  it("a lock is answered at once and keeps the next command back, each test ends, and so does the bridge", async ({
    stage,
  }) => {
    const { watch, bridge, house } = await scene(stage, notify(stage.keep(await startClinging(says))));
    const topic = "greenhouse/bridge/request/notify_test";
    const begun = performance.now();
    for (let test = 0; test < 4; test++) await watch.publish(topic, JSON.stringify({ transaction: test }));
    const locking = took(() => ask(watch, "lock", { controller: "gh-0001", by: "anna" }));
    const refused = await house.command("fan", "on");
    const { result, ms } = await locking;
    expect(result).toMatchObject({ status: "ok", data: { actuators: ["fan"] } });
    expect(ms).toBeLessThan(soonMs);
    expect(refused).toMatchObject({ outcome: "refused", reason: "interlock", interlock: { rule: "lock" } });
    expect(await house.posts("150")).toEqual([]);
    const other = await took(() => ask(watch, "unlock", { controller: "gh-0001", by: "anna" }));
    expect(other.ms).toBeLessThan(soonMs);
    const first = () => seenOn(watch, "greenhouse/bridge/response/notify_test")[0];
    await watch.untilTrue(() => first() !== undefined, "a test is answered", 60_000);
    expect(performance.now() - begun).toBeLessThan(30_000);
    expect(first()?.payload).toContain('"ok":false');
    const end = await took(() => bridge.end("SIGTERM"));
    expect([end.result.code, end.ms < 8_000]).toEqual([0, true]);
  });
});

/** A request as the broker would hand it on, over MQTT 5. */
function handedOn(name: string): Buffer {
  const topic = Buffer.from(`greenhouse/bridge/request/${name}`);
  const payload = Buffer.from("{}");
  const length = 2 + topic.length + 1 + payload.length;
  return Buffer.concat([Buffer.from([0x30, length, 0, topic.length]), topic, Buffer.from([0]), payload]);
}

describe("on a link whose broker acknowledges nothing", { timeout: 120_000 }, () => {
  it("a lock of the page is answered at once, and keeps the next command back", async ({ stage }) => {
    const port = await freePort();
    const users = [{ username: "anna", password: "canary-password-93ab27", role: "operator" }];
    const { door, watch, house } = await scene(stage, {}, { http: { host: "127.0.0.1", port, users } });
    const url = `http://127.0.0.1:${port}`;
    const headers = { "content-type": "application/json" };
    const post = async (path: string, body: object, cookie = "") => {
      const sent = { method: "POST", headers: { ...headers, cookie }, body: JSON.stringify(body) };
      return fetch(`${url}/api/${path}`, sent);
    };
    const login = await post("login", { username: "anna", password: "canary-password-93ab27" });
    const cookie = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    door.deafen("both");
    // Their answers are on their way from now on.
    for (let round = 0; round < 20; round++) door.inject(handedOn("health"));
    for (const action of ["lock", "unlock", "lock"]) {
      const { result, ms } = await took(() => post(`requests/${action}`, { controller: "gh-0001" }, cookie));
      expect([action, result.status]).toEqual([action, 200]);
      expect(ms).toBeLessThan(soonMs);
    }
    const command = await post("commands", { controller: "gh-0001", actuator: "fan", command: "on" }, cookie);
    expect(command.status).toBe(409);
    expect(await command.json()).toMatchObject({ outcome: "refused", reason: "interlock" });
    expect(await house.posts("150")).toEqual([]);
    // What was asked over the broker is answered on the next link.
    const answer = () => seenOn(watch, "greenhouse/bridge/response/health").at(-1)?.payload ?? null;
    await watch.untilTrue(() => fields(answer())["repeated"] === true, "answers follow", 90_000);
  });
});
