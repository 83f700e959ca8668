import mqtt from "mqtt";
import { describe, expect, it, onTestFinished } from "vitest";
import { startBroker } from "../../src/broker/broker.js";
import { type RefusedLogin, RefusedLogins } from "../../src/broker/authenticator.js";
import { startEmbeddedBroker } from "../../src/bridge.js";
import type { RecordBody } from "../../src/journal/records.js";
import { systemClock } from "../../src/runtime/clock.js";
import { load } from "../config/loading.js";
import { capturedLog, manualClock, otherClient, topics } from "../mqtt-connection/support.js";

describe("refused logins", () => {
  it("are told once a minute for each address", async () => {
    const clock = manualClock();
    const told: string[] = [];
    const logins = new RefusedLogins(clock, ({ address, client }) => told.push(`${address} ${client}`));
    logins.note({ address: "10.0.0.1", client: "a" });
    logins.note({ address: "10.0.0.1", client: "b" });
    logins.note({ address: "10.0.0.2", client: "c" });
    await clock.advance(59_999);
    logins.note({ address: "10.0.0.1", client: "d" });
    await clock.advance(1);
    logins.note({ address: "10.0.0.1", client: "e" });
    expect(told).toEqual(["10.0.0.1 a", "10.0.0.2 c", "10.0.0.1 e"]);
  });

  it("are told ten times a minute at most, however many addresses there are", async () => {
    const clock = manualClock();
    let told = 0;
    const logins = new RefusedLogins(clock, () => (told += 1));
    for (let n = 0; n < 1_000; n += 1) logins.note({ address: `10.0.${n}.1`, client: "x" });
    expect(told).toBe(10);
    await clock.advance(60_000);
    logins.note({ address: "10.0.0.1", client: "x" });
    expect(told).toBe(11);
  });
});

describe("the embedded broker", () => {
  it("tells who was refused, without the name that was typed, and nothing about who came in", async () => {
    const told: RefusedLogin[] = [];
    const users = [{ username: "ha", password: "correct horse battery" }];
    const broker = await startBroker(
      { host: "127.0.0.1", port: 0, users, topics },
      { clock: systemClock, log: capturedLog().log, onRefusedLogin: (refused) => told.push(refused) },
    );
    onTestFinished(() => broker.close());
    await otherClient(broker.url, { ...users[0], clientId: "right" });
    for (const clientId of ["wrong-1", "wrong-2"]) {
      const login = { username: "ha", password: "guess", clientId, reconnectPeriod: 0 };
      await expect(mqtt.connectAsync(broker.url, login, false)).rejects.toThrow();
    }
    expect(told).toEqual([{ address: "127.0.0.1", client: "wrong-1" }]);
  });

  it("has them put into the bridge's journal", async () => {
    const result = await load(
      [
        "platform: { business_url: https://b.example, realtime_url: https://r.example, token: x }",
        "broker: { users: [{ username: ha, password: correct horse battery }] }",
        "",
      ].join("\n"),
      { env: {} },
    );
    if (!result.ok) throw new Error("the configuration of the test is wrong");
    const records: RecordBody[] = [];
    const journal = {
      append: (record: RecordBody) => {
        records.push(record);
        return Promise.reject(new Error("a journal that cannot be written harms nothing"));
      },
    };
    const around = {
      configuration: { ...result.configuration, broker: { ...result.configuration.broker, port: 0 } },
      ...{ clock: systemClock, log: capturedLog().log },
    };
    const broker = await startEmbeddedBroker(around, journal);
    onTestFinished(() => broker?.close());
    const login = { username: "secret", password: "guess", clientId: "wrong", reconnectPeriod: 0 };
    await expect(mqtt.connectAsync(broker?.url ?? "", login, false)).rejects.toThrow();
    expect(records).toEqual([
      { type: "login_failed", listener: "broker", client: "wrong", user: null, address: "127.0.0.1" },
    ]);
  });
});
