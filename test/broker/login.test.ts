import mqtt from "mqtt";
import { describe, expect, it, onTestFinished } from "vitest";
import { features } from "../../src/config/features.js";
import { Authenticator, bridgeCredential, RefusedLogins } from "../../src/broker/authenticator.js";
import { defaultBrokerLimits } from "../../src/broker/settings.js";
import type { RecordBody } from "../../src/journal/records.js";
import { systemClock } from "../../src/runtime/clock.js";
import { LoginThrottle, PasswordChecks, sourceOf } from "../../src/runtime/logins.js";
import {
  hashPassword,
  parsePasswordHash,
  passwordWeakness,
  verifyPassword,
} from "../../src/runtime/passwords.js";
import { load } from "../config/loading.js";
import { capturedLog, otherClient, testBroker, until } from "../mqtt-connection/support.js";
import { VirtualClock } from "../support/virtual-clock.js";

const users = [{ username: "ha", password: "right" }];
const wrong = Buffer.from("wrong");
const right = Buffer.from("right");

const attempts = 3;
const turnMs = 2_000;

function logins() {
  const clock = new VirtualClock();
  const bridge = bridgeCredential();
  const limits = { ...defaultBrokerLimits, loginAttempts: attempts, loginTurnMs: turnMs };
  const of = new Authenticator(users, bridge, limits, clock);
  const why = async (address: string, username: string | undefined, password: Buffer, client = "c") => {
    const verdict = await of.verdict({ address, username, password, client });
    return verdict.kind === "refused" ? verdict.why : verdict.kind;
  };
  /** A guesser who takes every turn there is. */
  const guess = async (address: string, username: string, times: number, client = "guesser") => {
    for (let n = 0; n < times; n += 1) {
      const answer = why(address, username, wrong, client);
      await clock.advance(turnMs);
      await answer;
    }
  };
  /** Whether a login has to wait for its turn, and how it ends then. */
  const late = async (...login: Parameters<typeof why>) => {
    const [before, from] = [clock.pendingTimers, clock.monotonic()];
    const answer = why(...login).then((end) => [clock.monotonic() - from, end]);
    await until(() => clock.pendingTimers > before, "it waits");
    await clock.advance(turnMs);
    return answer;
  };
  return { clock, bridge, why, guess, late, close: of.close.bind(of) };
}

const elsewhere = "192.0.2.2";

describe("guessing a password", () => {
  it.each(["127.0.0.1", "192.0.2.1"])(
    "slows its name and source down and locks nobody out: twelve wrong ones, then a right one, from %s",
    async (address) => {
      const { why, late } = logins();
      for (let n = 0; n < attempts; n += 1) expect(await why(address, "ha", wrong)).toBe("wrong");
      for (let n = 0; n < 9; n += 1) expect(await late(address, "ha", wrong)).toEqual([turnMs, "wrong"]);
      expect(await late(address, "ha", right, "new")).toEqual([turnMs, "user"]);
      expect(await why(elsewhere, "ha", right)).toBe("user");
      expect(await why(address, "other", wrong)).toBe("wrong");
    },
  );

  it("gets one turn at a time, and more than a few do not even wait", async () => {
    const { clock, why, guess } = logins();
    await guess("127.0.0.1", "ha", attempts);
    const before = clock.pendingTimers;
    const storm = Promise.all(Array.from({ length: 400 }, (_, n) => why("127.0.0.1", "ha", wrong, `c${n}`)));
    await until(() => clock.pendingTimers > before, "some wait");
    for (let n = 0; n < 20; n += 1) await clock.advance(turnMs);
    const ends = await storm;
    expect(ends.filter((end) => end === "wrong").length).toBeLessThanOrEqual(6);
    expect(ends.filter((end) => end === "blocked").length).toBeGreaterThan(300);
  });

  it("does not slow down a program that has logged in before", async () => {
    const { why, guess } = logins();
    expect(await why("127.0.0.1", "ha", right, "home-assistant")).toBe("user");
    await guess("127.0.0.1", "ha", 12);
    expect(await why("127.0.0.1", "ha", right, "home-assistant")).toBe("user");
  });

  it("with a known client id has that id's allowance and no more", async () => {
    const { why, late } = logins();
    expect(await why("127.0.0.1", "ha", right, "known")).toBe("user");
    for (let n = 0; n < attempts; n += 1) expect(await why("127.0.0.1", "ha", wrong, "known")).toBe("wrong");
    expect(await late("127.0.0.1", "ha", wrong, "known")).toEqual([turnMs, "wrong"]);
    expect(await late("127.0.0.1", "ha", right, "known")).toEqual([turnMs, "user"]);
  });

  it("with ever new names is slowed down by its source", () => {
    const throttle = new LoginThrottle({ loginAttempts: attempts, loginTurnMs: turnMs }, new VirtualClock());
    const guessers = (source: string, name: string) => [
      { key: `${source} ${name}`, share: 1 },
      { key: source, share: 10 },
    ];
    for (let n = 0; n < 10 * attempts; n += 1) {
      expect(throttle.isSlowed(guessers("a", "x"))).toBe(false);
      throttle.onFailure(guessers("a", `n${n}`));
    }
    const turns = Array.from({ length: 60 }, (_, n) => throttle.turn(guessers("a", `m${n}`)));
    expect(turns.slice(0, 3)).toEqual([turnMs / 10, (2 * turnMs) / 10, (3 * turnMs) / 10]);
    expect(turns.filter((wait) => wait !== null)).toHaveLength(50);
    expect(throttle.isSlowed(guessers("b", "x"))).toBe(false);
  });

  it("is forgotten after a minute", async () => {
    const { clock, why } = logins();
    for (let n = 0; n < attempts; n += 1) await why("192.0.2.1", "ha", wrong);
    await clock.advance(60_001);
    expect(await why("192.0.2.1", "ha", right)).toBe("user");
  });

  it("counts for unknown users, missing names and the bridge's name alike", async () => {
    const { bridge, why, late } = logins();
    for (const name of [undefined, "constructor", bridge.username]) {
      for (let n = 0; n < attempts; n += 1) expect(await why("192.0.2.1", name, right)).toBe("wrong");
      expect(await late("192.0.2.1", name, right)).toEqual([turnMs, "wrong"]);
    }
  });

  it("never slows down the bridge, and nobody else is the bridge", async () => {
    const { bridge, why, guess } = logins();
    await guess("192.0.2.1", bridge.username, attempts);
    expect(await why("192.0.2.1", bridge.username, Buffer.from(bridge.password))).toBe("bridge");
    expect(bridgeCredential().password).not.toBe(bridge.password);
  });

  it("ends with the broker", async () => {
    const { clock, why, guess, close } = logins();
    await guess("127.0.0.1", "ha", attempts);
    const before = clock.pendingTimers;
    const answer = why("127.0.0.1", "ha", right);
    await until(() => clock.pendingTimers > before, "it waits");
    close();
    expect(await answer).toBe("busy");
  });
});

describe("the source of a login", () =>
  it.each([
    ["127.0.0.1", "this computer"],
    ["127.9.8.7", "this computer"],
    ["::1", "this computer"],
    ["::ffff:127.0.0.1", "this computer"],
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"],
    ["2001:db8:0:1::5", "2001:db8:0:1::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["unknown", "unknown"],
  ])("%s is %s", (address, source) => expect(sourceOf(address)).toBe(source)));

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
});

describe("a client id", () =>
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
  }));

describe("refused logins", () => {
  it("are told once a minute for each address", async () => {
    const clock = new VirtualClock();
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
    const clock = new VirtualClock();
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
    const configuration = { ...result.configuration, broker: { ...result.configuration.broker, port: 0 } };
    const { log } = capturedLog();
    const broker = await features.broker.start(configuration, { clock: systemClock, log, journal });
    onTestFinished(() => broker?.close());
    const login = { username: "secret", password: "guess", clientId: "wrong", reconnectPeriod: 0 };
    await expect(mqtt.connectAsync(broker?.url ?? "", login, false)).rejects.toThrow();
    expect(records).toEqual([
      { type: "login_failed", listener: "broker", client: "wrong", user: null, address: "127.0.0.1" },
    ]);
  });
});

describe("a password hash", () => {
  it("is scrypt with N 2^15, a salt of 16 bytes of its own, and fits only its password", async () => {
    const [one, two] = await Promise.all([hashPassword("correct horse"), hashPassword("correct horse")]);
    expect(one).not.toBe(two);
    expect(one).toMatch(/^scrypt:15:8:1:[\w-]{22}:[\w-]{43}$/);
    expect(parsePasswordHash(one)?.salt).toHaveLength(16);
    expect(await verifyPassword("correct horse", one)).toBe(true);
    expect(await verifyPassword(Buffer.from("correct horse"), one)).toBe(true);
    expect(await verifyPassword("correct horsf", one)).toBe(false);
    expect(await verifyPassword("", one)).toBe(false);
    expect(await verifyPassword(one, one)).toBe(false);
  });

  it.each([
    "scrypt:",
    "scrypt:15:8:1:short",
    "scrypt:15:8:1:AAAA:AAAA",
    "scrypt:30:99:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "scrypt:0:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAA!:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
  ])("that cannot be read fits nothing: %s", async (text) => {
    expect(parsePasswordHash(text)).toBeNull();
    expect(await verifyPassword(text, text)).toBe(false);
  });

  it("may be a plain password", async () => {
    expect(await verifyPassword("plain", "plain")).toBe(true);
    expect(await verifyPassword("plain", "plain and longer")).toBe(false);
  });
});

describe("checking passwords", () => {
  it("is bounded: more than the line holds are turned away unchecked", async () => {
    const checks = new PasswordChecks(1, 2);
    const results = await Promise.all(Array.from({ length: 5 }, () => checks.verify("a", "a")));
    expect(results).toEqual([true, true, true, "busy", "busy"]);
    expect(await checks.verify("a", "a")).toBe(true);
  });

  it("leaves the event loop free: everything else goes on meanwhile", async () => {
    const stored = await hashPassword("right");
    const checks = new PasswordChecks();
    let turns = 0;
    let next = setImmediate(function turn() {
      turns += 1;
      next = setImmediate(turn);
    });
    const results = await Promise.all(
      Array.from({ length: 4 }, (_, n) => checks.verify(`wrong ${n}`, stored)),
    );
    clearImmediate(next);
    expect(results).toEqual([false, false, false, false]);
    // A check on this thread would leave it one turn at most.
    expect(turns).toBeGreaterThan(50);
  });
});

describe("a weak password", () => {
  it.each([
    "short",
    "elevenchars",
    "passwordpassword",
    "PASSWORD1234",
    "aaaaaaaaaaaaaaaa",
    "abababababababab",
  ])("is noticed: %s", (password) => expect(passwordWeakness(password)).not.toBeNull());

  it.each(["correct horse battery", "x7-Gh2!pQ9zt", "温室の鍵は秘密です。二十四"])("is not %s", (password) =>
    expect(passwordWeakness(password)).toBeNull(),
  );
});
