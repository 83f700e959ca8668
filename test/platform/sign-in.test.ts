import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PlatformPorts } from "../../src/platform/client.js";
import { systemClock } from "../../src/runtime/clock.js";
import { refusal, signInPath, startPlatform } from "./support/issuing-platform.js";
import { inChinese } from "../support/chinese.js";
import { VirtualClock } from "../support/virtual-clock.js";
import {
  factsOf,
  failureOf,
  gate,
  hosted,
  makeClient,
  never,
  settingsFor,
  folder,
} from "./support/client-under-test.js";
import { memory } from "./push/listening.js";
import { ok, type Answerer, type FakeHost, type Reply } from "./support/hosts.js";

const account = { account: "me@example.com", password: "s3cret-canary" };
/** Such a platform and a client that signs in there. */
async function begun(ports: Partial<PlatformPorts> = {}) {
  const platform = await startPlatform();
  return { ...platform, ...(await newClient(platform.host, ports)) };
}

/** The same on a virtual clock. */
async function begunOnClock() {
  const clock = new VirtualClock();
  return { clock, ...(await begun({ clock })) };
}

/** Where time is virtual no real disk is waited for. */
const disk = memory();

/** A client that signs in there and keeps its token in a folder of its own, or in this one. */
const newClient = async (host: FakeHost, ports: Partial<PlatformPorts> = {}, body = account) =>
  makeClient(settingsFor(host.url, { sign_in: { body } }), {
    dataDir: await folder(),
    ...(ports.clock && { files: disk }),
    ...ports,
  });

describe("sign-in", () => {
  it("sends the configured body as it stands, without a bearer header, and uses the token for both hosts", async () => {
    const { signIns, reads, bearer, client } = await begun();
    await client.controllers(never);
    await client.sensors("GH-1", never);
    expect(signIns()).toHaveLength(1);
    expect(signIns()[0]).toMatchObject({ method: "POST", body: JSON.stringify(account) });
    expect(signIns()[0]?.headers.authorization).toBeUndefined();
    expect(reads().map(bearer)).toEqual(["token-number-1", "token-number-1"]);
  });

  it("100 calls at once, without a token or with a refused one: one sign-in, and one replay of each read", async () => {
    const { host, state, signIns, reads, bearer } = await startPlatform();
    const settings = settingsFor(host.url, { sign_in: { body: account }, concurrency: 64 });
    const { client, links } = makeClient(settings, { dataDir: await folder() });
    const all = () => Promise.all(Array.from({ length: 100 }, () => client.controllers(never)));
    await all();
    expect([signIns().length, reads().length]).toEqual([1, 100]);
    state.good.clear();
    let refusals = 0;
    // One refusal comes late, when another read has renewed the token already.
    state.read = async (request) => {
      const isGood = state.good.has(bearer(request));
      if (!isGood && (refusals += 1) === 1) await expect.poll(() => state.issued).toBe(2);
      return isGood ? ok([]) : refusal;
    };
    await all();
    const withOld = reads().filter((request) => bearer(request) === "token-number-1").length - 100;
    expect([signIns().length, reads().length - withOld]).toEqual([2, 200]);
    expect(withOld).toBeLessThanOrEqual(100);
    expect(links.some((link) => link.unauthorized)).toBe(false);
  });

  it("a token refused again right after signing in is unauthorized, and not tried a third time", async () => {
    const { state, signIns, reads, client, links, lines } = await begun();
    await client.controllers(never);
    state.read = () => refusal;
    expect(await factsOf(client.sensors("GH-1", never))).toMatchObject({ kind: "unauthorized", sent: true });
    expect(signIns()).toHaveLength(2);
    expect(reads()).toHaveLength(3);
    expect(links.at(-1)).toMatchObject({ host: "realtime", unauthorized: true });
    expect(lines.join("")).toContain("refuses a token it has just issued");
    await factsOf(client.sensors("GH-1", never));
    expect(signIns()).toHaveLength(2);
  });

  it("an operation the account may not use does not make it sign in again and again", async () => {
    const { state, signIns, client, links } = await begun();
    state.read = ({ path }) => (path === "/api/device" ? refusal : ok([]));
    for (let n = 0; n < 20; n += 1) {
      await client.controllers(never);
      await factsOf(client.devices("STREAM", never)).catch(() => undefined);
    }
    expect(signIns().length).toBeLessThanOrEqual(3);
    expect(links.filter((link) => link.unauthorized).length).toBeLessThanOrEqual(1);
    expect(await client.controllers(never)).toEqual([]);
    expect(client.link("business").unauthorized).toBe(false);
  });

  it("a write without a credential at hand sends nothing and signs in only when asked to", async () => {
    const { host, signIns, client } = await begun();
    const facts = await factsOf(client.write("GH-1", "101", "1010", never));
    expect(facts).toMatchObject({ kind: "unauthorized", sent: false });
    expect(host.requests).toEqual([]);
    expect(await client.renewCredential(never)).toBe(true);
    expect(signIns()).toHaveLength(1);
    expect(await client.write("GH-1", "101", "1010", never)).toMatchObject({ code: "200" });
  });

  it("a caller that stops waiting does not stop the sign-in of the others", async () => {
    const { host, state, signIns, client } = await begun();
    const { opened, open } = gate();
    host.answer(async ({ path }) => {
      if (path !== signInPath) return ok([]);
      await opened;
      state.issued += 1;
      return ok({ token: "token-number-1" });
    });
    const leaving = new AbortController();
    const left = factsOf(client.controllers(leaving.signal));
    const stays = client.controllers(never);
    await expect.poll(() => signIns().length).toBe(1);
    leaving.abort();
    expect(await left).toMatchObject({ kind: "interrupted", sent: false });
    open();
    expect(await stays).toEqual([]);
    expect(state.issued).toBe(1);
  });

  it("the token is kept in data_dir with mode 600, and the next start uses it", async () => {
    const { host, signIns } = await startPlatform();
    const dataDir = await folder();
    const first = await newClient(host, { dataDir });
    await first.client.controllers(never);
    await first.client.close();
    const path = join(dataDir, "platform-session.json");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const saved = await readFile(path, "utf8");
    expect(saved).toContain("token-number-1");
    expect(saved).not.toContain(account.password);
    expect(saved).not.toContain(account.account);
    await (await newClient(host, { dataDir })).client.controllers(never);
    expect(signIns()).toHaveLength(1);
  });

  it("a kept token of another account, password or host is not used", async () => {
    const { host, signIns, reads, bearer } = await startPlatform();
    const other = await startPlatform();
    const dataDir = await folder();
    await (await newClient(host, { dataDir })).client.controllers(never);
    const corrected = { ...account, password: "corrected" };
    await (await newClient(host, { dataDir }, corrected)).client.controllers(never);
    expect(signIns()).toHaveLength(2);
    await (await newClient(other.host, { dataDir })).client.controllers(never);
    expect(other.signIns()).toHaveLength(1);
    expect(other.reads().map(other.bearer)).toEqual(["token-number-1"]);
    expect(reads().map(bearer)).toEqual(["token-number-1", "token-number-2"]);
  });

  it.each(["", "{", "[]", "null", '{"token":7,"salt":"zz","account":5}', "\0\0\0"])(
    "a spoilt session file (%j) is as good as none",
    async (text) => {
      const { host, signIns } = await startPlatform();
      const dataDir = await folder();
      await writeFile(join(dataDir, "platform-session.json"), text);
      await (await newClient(host, { dataDir })).client.controllers(never);
      expect(signIns()).toHaveLength(1);
    },
  );

  it("a disk that cannot be written costs a warning, not the session", async () => {
    const { host } = await startPlatform();
    const dataDir = await folder();
    await writeFile(join(dataDir, "file"), "");
    const { client, lines } = await newClient(host, { dataDir: join(dataDir, "file") });
    expect(await client.controllers(never)).toEqual([]);
    expect(lines.join("")).toContain("cannot be written");
  });

  it("a disk that does not answer any more is not waited for, by no call", async () => {
    const disk = memory();
    const state = { hangs: false };
    const onceWell = <T>(ask: () => Promise<T>) => (state.hangs ? new Promise<T>(() => undefined) : ask());
    const files = {
      ...disk,
      read: (path: string) => onceWell(() => disk.read(path)),
      writePrivate: (path: string, text: string) => onceWell(() => disk.writePrivate(path, text)),
    };
    const clock = new VirtualClock();
    const { state: platform, client, signIns } = await begun({ clock, files });
    await client.controllers(never);
    state.hangs = true;
    platform.good.clear();
    const began = clock.monotonic();
    let isAnswered = false;
    const answer = client.controllers(never).finally(() => (isAnswered = true));
    await expect
      .poll(async () => {
        await clock.advance(100);
        return isAnswered;
      })
      .toBe(true);
    expect(await answer).toEqual([]);
    expect(clock.monotonic() - began).toBeLessThan(5_000);
    expect(signIns()).toHaveLength(2);
  });

  it("a token about to end is renewed before it is refused", async () => {
    const { state, signIns, client, clock } = await begunOnClock();
    state.signIn = () => ok({ token: `short-lived-token-${(state.issued += 1)}`, expiresIn: 3_600 });
    state.read = () => ok([]);
    await client.controllers(never);
    await clock.advance(58 * 60_000);
    await client.controllers(never);
    expect(signIns()).toHaveLength(1);
    await clock.advance(90_000);
    await client.controllers(never);
    expect(signIns()).toHaveLength(2);
  });

  it("an answer without a token says where to tell it, and counts as a refusal", async () => {
    const { host, state, signIns } = await startPlatform();
    state.signIn = () => ok({ welcome: "me" });
    const { client } = await newClient(host);
    const error = await failureOf(client.controllers(never));
    expect(error.facts).toMatchObject({ kind: "unauthorized", sent: false });
    expect(error.message).toContain("platform.sign_in.token_path");
    await factsOf(client.controllers(never));
    expect(signIns()).toHaveLength(1);
    expect(client.shapeReports()).toMatchObject([{ operation: "account/sign-in" }]);
  });

  it("a token that is issued in a header beside the body is used", async () => {
    const { host, state, reads, bearer } = await startPlatform();
    const token = "0123456789abcdef0123";
    state.good.add(token);
    state.signIn = () => ({ headers: { authorization: `Bearer ${token}` }, ...ok(null) });
    const { client } = await newClient(host);
    await client.controllers(never);
    expect(reads().map(bearer)).toEqual([token]);
    expect(client.shapeReports()).toEqual([]);
  });

  it("a business host that is away is no refusal: it is tried as the circuit allows", async () => {
    const { state, signIns, client, links, clock } = await begunOnClock();
    state.signIn = () => ({ status: 502, body: "" });
    for (let second = 0; second < 300; second += 1) {
      await factsOf(client.controllers(never));
      await clock.advance(1_000);
    }
    expect(signIns().length).toBeLessThanOrEqual(15);
    expect(links.some((link) => link.unauthorized)).toBe(false);
    state.signIn = () => null;
    await clock.advance(30_000);
    expect(await client.controllers(never)).toEqual([]);
  });
});

/** A clock whose timers end a little early, as those of Node do. */
function earlyClock(): VirtualClock {
  const clock = new VirtualClock();
  const { wait } = clock;
  return Object.assign(clock, {
    wait: (ms: number, signal?: AbortSignal) => wait(ms > 2 ? ms - 1.5 : ms, signal),
  });
}

describe("sign-in attempts after refusals", () => {
  const wrong: Reply = { body: { code: 401, message: "账号或密码错误" } };

  /** Asks once a second for an hour of its clock, with a restart of the client every so often; returns when attempts came. */
  async function anHour(restartEveryS: number | null): Promise<readonly number[]> {
    const { host, state, signIns } = await startPlatform();
    const clock = new VirtualClock();
    const dataDir = await folder();
    state.signIn = () => wrong;
    const attempts: number[] = [];
    let { client } = await newClient(host, { clock, dataDir });
    for (let second = 0; second < 3_600; second += 1) {
      if (restartEveryS !== null && second % restartEveryS === 0) {
        await client.close();
        ({ client } = await newClient(host, { clock, dataDir }));
      }
      const before = signIns().length;
      expect(await factsOf(client.controllers(never))).toMatchObject({ kind: "unauthorized", sent: false });
      if (signIns().length > before) attempts.push(second);
      await clock.advance(1_000);
    }
    return attempts;
  }

  it("are told by the sentence of what refused them, in the language of whoever asks, also while the next one waits", async () => {
    const { host, state } = await startPlatform();
    const { client } = await newClient(host, { clock: new VirtualClock() });
    state.signIn = () => wrong;
    const said = [];
    for (let call = 0; call < 2; call += 1) said.push(await failureOf(client.controllers(never)));
    expect(said.map(({ message }) => message)).toEqual([
      expect.stringContaining("check the account and password in platform.sign_in.body"),
      expect.stringContaining("signing in did not help once in a row"),
    ]);
    const inWords = said.map(({ text }) => inChinese(text).replace(/"[^"]*"/g, ""));
    expect(inWords.map((text) => text.match(/[a-z]{2,} [a-z]{2,}/g) ?? [])).toEqual([[], []]);
  });

  it("come at 0 s, then after 10 s, 30 s, 1, 2 and every 10 minutes: at most 12 an hour, restarts or not", async () => {
    expect(await anHour(null)).toEqual([0, 10, 40, 100, 220, 820, 1420, 2020, 2620, 3220]);
    const { length } = await anHour(97);
    expect(length).toBeLessThanOrEqual(12);
    expect(length).toBeGreaterThanOrEqual(9);
  });

  it("come at these times also where no call asks for a token meanwhile, over a restart too, and not once it is closed", async () => {
    const { host, state, signIns } = await startPlatform();
    const clock = earlyClock();
    const dataDir = await folder();
    state.signIn = () => wrong;
    const first = await newClient(host, { clock, dataDir });
    await factsOf(first.client.controllers(never));
    const advanceTo = async (ms: number, attempts: number) => {
      await clock.advance(ms - 1_000);
      expect(signIns()).toHaveLength(attempts - 1);
      await clock.advance(1_000);
      await expect.poll(() => signIns().length).toBe(attempts);
    };
    await advanceTo(10_000, 2);
    await expect.poll(() => first.lines.filter((line) => line.includes("nextTryInS")).length).toBe(2);
    await advanceTo(30_000, 3);
    await first.client.close();
    await clock.advance(30_000);
    const { client } = await newClient(host, { clock, dataDir });
    await factsOf(client.controllers(never));
    await advanceTo(30_000, 4);
    state.signIn = () => null;
    await advanceTo(120_000, 5);
    await expect.poll(() => client.link("business").unauthorized).toBe(false);
    await clock.advance(3_600_000);
    expect(signIns()).toHaveLength(5);
  });

  it("a clock set back or far ahead over a restart never lengthens the pause beyond its step", async () => {
    const { host, state, signIns } = await startPlatform();
    const dataDir = await folder();
    state.signIn = () => wrong;
    const before = new VirtualClock();
    await factsOf((await newClient(host, { clock: before, dataDir })).client.controllers(never));
    const after = new VirtualClock(0);
    const { client } = await newClient(host, { clock: after, dataDir });
    const error = await failureOf(client.controllers(never));
    expect(error.facts.retryAfterMs).toBeLessThanOrEqual(10_000);
    expect(signIns()).toHaveLength(1);
    await after.advance(10_000);
    await factsOf(client.controllers(never));
    expect(signIns()).toHaveLength(2);
  });

  it("end with the first success, and it is told", async () => {
    const { state, client, links, lines, clock } = await begunOnClock();
    state.signIn = () => wrong;
    await factsOf(client.controllers(never));
    expect(links.at(-1)?.unauthorized).toBe(true);
    expect(lines.join("")).toContain("check the account and password");
    state.signIn = () => null;
    await clock.advance(10_000);
    await client.controllers(never);
    expect(client.link("business").unauthorized).toBe(false);
    expect(client.link("realtime").unauthorized).toBe(false);
    expect(lines.join("")).toContain("signed in");
  });
});

describe("tokens that end soon after they were got", () => {
  /** Asks at regular times for 120 s; returns the seconds in which it signed in. */
  async function secondsOfSignIns(everyS: number, ends: readonly number[]): Promise<readonly number[]> {
    const { state, signIns, client, clock } = await begunOnClock();
    const signedIn: number[] = [];
    for (let second = 0; second < 120; second += everyS) {
      if (ends.includes(second)) state.good.clear();
      const before = signIns().length;
      await client.controllers(never).catch(() => undefined);
      if (signIns().length > before) signedIn.push(second);
      await clock.advance(everyS * 1_000);
    }
    expect(client.link("business").unauthorized).toBe(false);
    return signedIn;
  }

  it("make the next sign-in wait by the number of tokens, not by the number of reads they were refused for", async () => {
    // The first is renewed at once; the second, got at 3 s, keeps the third waiting until 13 s, although three reads fail.
    expect(await secondsOfSignIns(3, [3, 6])).toEqual([0, 3, 15]);
  });

  it("and open the circuit by their refusals, do not keep the sign-in of the next probe from going out", async () => {
    // Five reads are refused from 7 s to 11 s; the next probe is due 30 s later.
    expect(await secondsOfSignIns(1, [5, 7])).toEqual([0, 5, 41]);
  });
});

describe("an account that somebody else signs in with too", () => {
  it("is known by tokens that end soon after they were got, from the second in a row", async () => {
    const { state, client, clock } = await begunOnClock();
    const contested: number[] = [];
    for (let token = 0; token < 3; token += 1) {
      await clock.advance(15_000);
      await client.controllers(never);
      contested.push(client.counters().contested);
      state.good.clear();
    }
    expect(contested).toEqual([0, 0, 1]);
  });
});

describe("a sign-in that the platform's Retry-After holds back", () => {
  it.each([
    [120, 120_000],
    [86_400, 900_000],
  ])(
    "for %i s waits for %i ms of it, as commands need it, and is no refusal; polling waits for all",
    async (askedS, heldMs) => {
      const { state, signIns, bearer, client, clock } = await begunOnClock();
      await client.controllers(never);
      let lists = 0;
      state.read = (request) => {
        if (request.path !== "/api/control/mqtt")
          return bearer(request) === "token-number-2" ? ok([]) : refusal;
        lists += 1;
        return { status: 429, headers: { "retry-after": String(askedS) } };
      };
      await factsOf(client.controllers(never));
      await factsOf(client.sensors("GH-1", never));
      await clock.advance(heldMs - 1);
      await factsOf(client.sensors("GH-1", never));
      expect(signIns()).toHaveLength(1);
      expect(client.link("business").unauthorized).toBe(false);
      await clock.advance(1);
      expect(await client.sensors("GH-1", never)).toEqual([]);
      expect(signIns()).toHaveLength(2);
      await clock.advance(askedS * 1_000 - heldMs);
      expect(lists).toBe(1);
      await factsOf(client.controllers(never));
      expect(lists).toBe(2);
    },
  );
});

describe("a refusal of everything that is over by itself", () =>
  it("is forgotten with the first read the business host answers, although the token is the old one", async () => {
    const { state, signIns, bearer, client, links, clock } = await begunOnClock();
    await client.controllers(never);
    let isRefusing = true;
    state.signIn = () => (isRefusing ? { status: 401, body: { code: 401 } } : null);
    state.read = (request) =>
      !isRefusing && state.good.has(bearer(request)) ? ok([]) : { status: 401, body: { code: 401 } };
    await factsOf(client.controllers(never));
    expect(client.link("business").unauthorized).toBe(true);
    isRefusing = false;
    await clock.advance(30_000);
    await client.controllers(never);
    for (const name of ["business", "realtime"] as const)
      expect(client.link(name).unauthorized, name).toBe(false);
    expect(links.at(-1)?.unauthorized).toBe(false);
    expect(signIns()).toHaveLength(2);
  }));

describe("token file", () => {
  /** A client with a token file that holds this, if anything. */
  async function fromFile(
    text: string | null,
    answerer: Answerer = () => ok([]),
    ports?: Partial<PlatformPorts>,
  ) {
    const path = join(await folder(), "token");
    if (text !== null) await writeFile(path, text);
    return { path, ...(await hosted(answerer, { token_file: path }, ports)) };
  }

  it("is read again when it changes", async () => {
    const clock = new VirtualClock();
    const { host, client, path } = await fromFile("first-token\n", () => ok([]), { clock });
    await client.controllers(never);
    await writeFile(path, "second-token\n");
    await clock.advance(5_000);
    await client.controllers(never);
    const sent = host.requests.map(({ headers }) => headers.authorization);
    expect(sent).toEqual(["Bearer first-token", "Bearer second-token"]);
  });

  it("is read again after a refusal, and the read is replayed once", async () => {
    const { host, client, path } = await fromFile("first-token", ({ headers }) =>
      headers.authorization === "Bearer second-token" ? ok([]) : refusal,
    );
    expect(await factsOf(client.controllers(never))).toMatchObject({ kind: "unauthorized", sent: true });
    expect(host.requests).toHaveLength(1);
    await writeFile(path, "second-token");
    expect(await client.controllers(never)).toEqual([]);
    expect(host.requests).toHaveLength(3);
  });

  it.each([null, "", "two words", "{}\nx"])(
    "with %j in it nothing is sent, and the file is named",
    async (text) => {
      const { host, client, links, path } = await fromFile(text);
      const error = await failureOf(client.controllers(never));
      expect(error.facts).toMatchObject({ kind: "unauthorized", sent: false });
      expect(error.message).toContain(path);
      expect(links.at(-1)?.unauthorized).toBe(true);
      expect(host.accepted).toBe(0);
    },
  );
});

describe("static token", () => {
  it("a refusal is final: no replay, and the link says unauthorized", async () => {
    const { host, client, links } = await hosted(() => refusal, {}, { clock: systemClock });
    await factsOf(client.controllers(never));
    expect(host.requests).toHaveLength(1);
    expect(links.at(-1)).toMatchObject({ host: "business", unauthorized: true });
    await factsOf(client.write("GH-1", "101", "1010", never));
    expect(await client.renewCredential(never)).toBe(false);
    expect(client.link("realtime").unauthorized).toBe(true);
  });
});
