import { describe, expect, it } from "vitest";
import mqtt from "mqtt";
import { bridgeCredential, Logins } from "../../src/broker/login.js";
import { defaultBrokerLimits } from "../../src/broker/settings.js";
import { hashPassword } from "../../src/broker/password.js";
import { capturedLog, manualClock, otherClient, testBroker, until } from "../mqtt-connection/support.js";

const users = [{ username: "ha", password: "right" }];
const wrong = Buffer.from("wrong");
const right = Buffer.from("right");

function logins() {
  const clock = manualClock();
  const bridge = bridgeCredential();
  const limits = { ...defaultBrokerLimits, loginAttempts: 3, loginBlockMs: 60_000 };
  const of = new Logins(users, bridge, limits, clock);
  const why = async (address: string, username: string | undefined, password: Buffer) => {
    const verdict = await of.verdict(address, username, password);
    return verdict.kind === "refused" ? verdict.why : verdict.kind;
  };
  return { clock, bridge, why };
}

describe("logging in (41)", () => {
  it("blocks an address for 60 s after too many wrong ones within a minute, right ones too", async () => {
    const { clock, why } = logins();
    for (let n = 0; n < 3; n += 1) expect(await why("192.0.2.1", "ha", wrong)).toBe("wrong");
    expect(await why("192.0.2.1", "ha", right)).toBe("blocked");
    expect(await why("192.0.2.2", "ha", right)).toBe("user");
    await clock.advance(59_999);
    expect(await why("192.0.2.1", "ha", right)).toBe("blocked");
    await clock.advance(1);
    expect(await why("192.0.2.1", "ha", right)).toBe("user");
  });

  it("forgets wrong ones after a minute", async () => {
    const { clock, why } = logins();
    await why("192.0.2.1", "ha", wrong);
    await why("192.0.2.1", "ha", wrong);
    await clock.advance(60_001);
    await why("192.0.2.1", "ha", wrong);
    expect(await why("192.0.2.1", "ha", right)).toBe("user");
  });

  it("on this machine blocks the user name only, for all programs share the address", async () => {
    const { why } = logins();
    for (let n = 0; n < 3; n += 1) await why("127.0.0.1", "misconfigured", wrong);
    expect(await why("127.0.0.1", "misconfigured", right)).toBe("blocked");
    expect(await why("127.0.0.1", "ha", right)).toBe("user");
  });

  it("counts unknown users and missing names as wrong", async () => {
    const { why } = logins();
    expect(await why("192.0.2.1", "nobody", right)).toBe("wrong");
    expect(await why("192.0.2.1", undefined, right)).toBe("wrong");
    expect(await why("192.0.2.1", "constructor", right)).toBe("wrong");
    expect(await why("192.0.2.1", "ha", right)).toBe("blocked");
  });

  it("never blocks the bridge, and nobody else is the bridge", async () => {
    const { bridge, why } = logins();
    for (let n = 0; n < 5; n += 1) await why("192.0.2.1", "ha", wrong);
    expect(await why("192.0.2.1", bridge.username, Buffer.from(bridge.password))).toBe("bridge");
    expect(await why("192.0.2.9", bridge.username, wrong)).toBe("wrong");
    expect(bridgeCredential().password).not.toBe(bridge.password);
  });
});

describe.each([5, 4] as const)("the embedded broker with users, MQTT %i", (protocolVersion) => {
  it("lets in who knows the password, hashed or plain, and nobody else", async () => {
    const hashed = { username: "hashed", password: await hashPassword("secret one") };
    const { log, lines } = capturedLog();
    const broker = await testBroker(
      { users: [hashed, { username: "plain", password: "secret two" }] },
      { log },
    );
    await otherClient(broker.url, { protocolVersion, username: "hashed", password: "secret one" });
    await otherClient(broker.url, { protocolVersion, username: "plain", password: "secret two" });
    await otherClient(broker.url, { protocolVersion, ...broker.credential });
    const refused = { code: protocolVersion === 5 ? 0x86 : 4 };
    const attempt = (login: object) =>
      mqtt.connectAsync(broker.url, { protocolVersion, reconnectPeriod: 0, ...login }, false);
    await expect(attempt({ username: "hashed", password: "secret two" })).rejects.toMatchObject(refused);
    await expect(attempt({ username: "hashed", password: hashed.password })).rejects.toMatchObject(refused);
    await expect(attempt({ username: "nobody", password: "x" })).rejects.toMatchObject(refused);
    await expect(attempt({})).rejects.toMatchObject(refused);
    await expect(attempt({ username: broker.credential.username, password: "x" })).rejects.toMatchObject(
      refused,
    );
    expect(broker.counters()).toMatchObject({ accepted: 3, refusedLogins: 5, clients: 2 });
    expect(lines.join("\n")).toContain('["plain"]');
    for (const secret of ["secret", broker.credential.password, hashed.password])
      expect(lines.join("\n")).not.toContain(secret);
  });

  it("keeps the bridge's link through a storm of wrong logins", async () => {
    const hashed = { username: "ha", password: await hashPassword("right") };
    const broker = await testBroker({ users: [hashed], limits: { loginAttempts: 3 } });
    const bridge = await otherClient(broker.url, {
      protocolVersion,
      ...broker.credential,
      clientId: "bridge",
    });
    const storm = Array.from({ length: 40 }, () =>
      mqtt
        .connectAsync(
          broker.url,
          { protocolVersion, username: "ha", password: "x", reconnectPeriod: 0 },
          false,
        )
        .catch(() => undefined),
    );
    await bridge.publishAsync("greenhouse/a", "during the storm", { qos: 1 });
    await otherClient(broker.url, { protocolVersion, ...broker.credential, clientId: "again" });
    await Promise.all(storm);
    await until(() => broker.counters().blockedLogins > 0, "blocked");
    expect(bridge.connected).toBe(true);
  });
});

describe("a client id", () => {
  it("of the bridge or of another user cannot be taken over; one's own can", async () => {
    const broker = await testBroker({
      users: [
        { username: "one", password: "1" },
        { username: "two", password: "2" },
      ],
    });
    const one = { username: "one", password: "1" };
    const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "greenhouse2mqtt" });
    const mine = await otherClient(broker.url, { ...one, clientId: "mine" });
    const attempt = (login: object) => mqtt.connectAsync(broker.url, { reconnectPeriod: 0, ...login }, false);
    await expect(attempt({ ...one, clientId: "greenhouse2mqtt" })).rejects.toMatchObject({ code: 2 });
    await expect(attempt({ username: "two", password: "2", clientId: "mine" })).rejects.toMatchObject({
      code: 2,
    });
    expect(bridge.connected && mine.connected).toBe(true);
    await otherClient(broker.url, { ...one, clientId: "mine" });
    await until(() => !mine.connected, "the old one gone");
    expect(broker.counters()).toMatchObject({ refusedClients: 2, clients: 1 });
  });
});
