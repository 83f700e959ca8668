import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { json as jsonOf } from "node:stream/consumers";
import { generate } from "mqtt-packet";
import { expect } from "vitest";
import { freePort } from "../support/mosquitto.js";
import { brokers } from "./support/brokers.js";
import { houseOf } from "./support/house.js";
import { type installation as installed, installation } from "./support/installation.js";
import { configurationFor } from "./support/stage.js";
import { it } from "./support/staged.js";
import { ask, fields } from "./support/watch.js";

/*
 * The program is stopped by SIGSTOP, as `docker pause` and a frozen machine do. What is sent to it meanwhile lies in its sockets and is
 * read at once when it goes on.
 */

const stoppedMs = 9_000;
const maxAgeMs = 6_000;
const code = "FM-0002";
const moving = "GH-0001";
const quick = { settle: "100ms", confirm_within: "9s", min_interval: "0s" };
const wind = { sensor: "weather/wind", above: 12, clear_at: 9, clear_after: "1s", allow: ["off"] };
const valve = (address: string, more = {}) => ({ kind: "irrigation", address, ...quick, ...more });

const actuators = {
  plain: valve("210"),
  expiring: valve("211"),
  patient: valve("212"),
  paged: valve("213"),
  locked: valve("214"),
  guarded: valve("215", { limits: { guards: { wind } } }),
};
const motor = { kind: "motor", address: "300", values: { open: "00000001" }, ...quick };

const users = [{ username: "anna", password: "operator-anna", role: "operator" }];

/** On a connection of its own: an idle one that is kept the server closes as it goes on. */
const post = (url: string, body: object, headers: http.OutgoingHttpHeaders = {}) =>
  new Promise<http.IncomingMessage>((resolve, reject) => {
    const given = { "content-type": "application/json", ...headers };
    const request = http.request(url, { method: "POST", agent: false, headers: given }, resolve);
    request.on("error", reject).end(JSON.stringify(body));
  });

/** Stops the bridge, does `meanwhile`, and lets it go on; resolves with what `meanwhile` did once that has ended. */
async function stopped(
  { bridge }: Pick<Awaited<ReturnType<typeof installed>>, "bridge">,
  meanwhile: () => readonly Promise<unknown>[],
): Promise<readonly unknown[]> {
  bridge.signal("SIGSTOP");
  await new Promise((resolve) => setTimeout(resolve, 200));
  // The embedded broker acknowledges nothing while it is stopped.
  const sent = meanwhile();
  await new Promise((resolve) => setTimeout(resolve, stoppedMs));
  bridge.signal("SIGCONT");
  return Promise.all(sent);
}

for (const broker of brokers)
  it(
    `${broker.name}: what lay in a socket while the process was stopped is as old as that`,
    { timeout: 180_000 },
    async ({ stage }) => {
      const platform = await stage.platform();
      const there = await installation(stage, broker);
      const port = await freePort();
      await there.start(
        configurationFor(platform.url, there.section, {
          commands: { max_age: `${maxAgeMs}ms` },
          http: { port, users },
          weather: { wind: { topic: "weather/wind", stale_after: "1m" } },
          homeassistant: { enabled: false },
          controllers: { [code]: { actuators }, [moving]: { actuators: { motor } } },
        }),
      );
      const { watch } = there;
      const house = houseOf(code, { platform, watch });
      const other = houseOf(moving, { platform, watch });
      const page = `http://127.0.0.1:${port}`;
      const login = await post(`${page}/api/login`, { username: "anna", password: "operator-anna" });
      const cookie = login.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
      const command = async (body: object) => jsonOf(await post(`${page}/api/commands`, body, { cookie }));
      const request = (name: string, body: object) =>
        watch.publish(`greenhouse/bridge/request/${name}`, JSON.stringify(body));
      await ask(watch, "lock", { controller: code, actuator: "locked", by: "Li" });
      const properties = { messageExpiryInterval: maxAgeMs / 1_000 };
      const [paged] = await stopped(there, () => [
        command({ controller: code, actuator: "paged", command: "on", id: "old" }),
        house.send("plain", { command: "on", id: "old" }),
        house.send("expiring", { command: "on", id: "old", max_age: "1m" }, { properties }),
        other.send("motor", { command: "stop", id: "old" }),
        watch.publish("weather/wind", "3"),
        request("unlock", { controller: code, actuator: "locked", by: "Li", transaction: "old unlock" }),
        request("lock", { controller: code, actuator: "patient", by: "Li", transaction: "old lock" }),
      ]);
      const expired = { outcome: "refused", reason: "expired" };
      expect(await house.result("plain", "old")).toMatchObject(expired);
      if (broker.version === 5) expect(await house.result("expiring", "old")).toMatchObject(expired);
      expect(paged).toMatchObject(expired);
      expect((await other.result("motor", "old"))["outcome"]).toMatch(/^(?:confirmed|unconfirmed)$/);
      expect(await house.posted("210")).toEqual([]);
      expect(await house.posted("213")).toEqual([]);
      expect(await other.posted("300")).toEqual(["00000100"]);
      const answer = (transaction: string) =>
        watch.seen
          .filter(({ topic }) => topic.startsWith("greenhouse/bridge/response/"))
          .map(({ payload }) => fields(payload))
          .find((one) => one["transaction"] === transaction);
      await watch.untilTrue(() => answer("old lock") !== undefined, "the lock is answered");
      expect(answer("old lock")?.["status"]).toBe("ok");
      await watch.untilTrue(() => answer("old unlock") !== undefined, "the unlocking is answered");
      expect(answer("old unlock")?.["status"]).toBe("error");
      // Nothing live came, so the guard holds on; what is sent now counts.
      expect(await house.command("guarded", { command: "on", id: "held" })).toMatchObject({
        reason: "interlock",
      });
      await watch.publish("weather/wind", "3");
      const isClear = () => {
        const because = fields(house.latest("guarded", "allowed"))["because"];
        return Array.isArray(because) && because.length === 0;
      };
      await watch.untilTrue(isClear, "the guard is clear");
      expect(await house.command("guarded", { command: "on", id: "new" })).toMatchObject({
        outcome: "confirmed",
      });
      expect(await house.command("plain", { command: "on", id: "new" })).toMatchObject({
        outcome: "confirmed",
      });
    },
  );

it(
  "a command that is allowed to wait longer than the process was stopped is carried out within what is left",
  { timeout: 120_000 },
  async ({ stage }) => {
    const platform = await stage.platform();
    const there = await installation(stage, brokers[0]);
    await there.start(
      configurationFor(platform.url, there.section, {
        homeassistant: { enabled: false },
        controllers: { [code]: { actuators: { patient: valve("212") } } },
      }),
    );
    const house = houseOf(code, { platform, watch: there.watch });
    await stopped(there, () => [house.send("patient", { command: "on", id: "old", max_age: "60s" })]);
    expect(await house.result("patient", "old")).toMatchObject({ outcome: "confirmed" });
  },
);

/** A client of MQTT 3.1.1 at the embedded broker, which it floods with what leads nowhere. */
async function flooder(port: number) {
  const connect = { cmd: "connect", protocolId: "MQTT", protocolVersion: 4, clean: true } as const;
  const socket = net.connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(generate({ ...connect, clientId: "flooder", keepalive: 0 }));
  await once(socket, "data");
  const packet = (topic: string, payload: string) =>
    generate({ cmd: "publish", topic, payload, qos: 0, dup: false, retain: false });
  const surplus = packet("elsewhere", "x");
  return {
    /** So many, and then this. */
    send: (count: number, topic: string, payload: object) => {
      socket.write(Buffer.concat(Array.from({ length: count }, () => surplus)));
      socket.write(packet(topic, JSON.stringify(payload)));
    },
    close: () => socket.destroy(),
  };
}

it.for([
  ["was stopped", true, 1_500],
  ["ran all the time", false, 4_000],
] as const)(
  "a command that came behind more messages than are read at once is as old as that, where the process %s",
  { timeout: 120_000 },
  async ([, isStopped, count], { stage }) => {
    const platform = await stage.platform();
    const there = await installation(stage, brokers[2]);
    await there.start(
      configurationFor(platform.url, there.section, {
        commands: { max_age: `${maxAgeMs}ms` },
        homeassistant: { enabled: false },
        controllers: { [code]: { actuators: { plain: valve("210") } } },
      }),
    );
    const house = houseOf(code, { platform, watch: there.watch });
    const client = await flooder(there.port);
    const sent = () => {
      client.send(count, `${house.topic("plain")}/set`, { command: "on", id: "old" });
      return [];
    };
    if (isStopped) await stopped(there, sent);
    else sent();
    expect(await house.result("plain", "old")).toMatchObject({ outcome: "refused", reason: "expired" });
    expect(await house.posted("210")).toEqual([]);
    client.close();
  },
);
