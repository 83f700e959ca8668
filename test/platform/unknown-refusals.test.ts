import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PlatformSettings } from "../../src/platform/settings.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { factsOf, folder, makeClient, never, settingsFor } from "./support/client-under-test.js";
import { ok, type Reply } from "./support/hosts.js";
import { startPlatform } from "./support/issuing-platform.js";
import { memory } from "./push/listening.js";

/* A platform may say that a token is refused in any words. */

const body = { account: "me@example.com", password: "s3cret" };

interface Given {
  readonly signIn?: Partial<NonNullable<PlatformSettings["sign_in"]>>;
  readonly dataDir?: string;
  readonly clock?: VirtualClock;
}

/** A platform that refuses a bad token as `refused` says, and makes of each client one that signs in there. */
async function refusing(refused: Reply) {
  const platform = await startPlatform();
  const { state, bearer } = platform;
  state.read = (request) => (state.good.has(bearer(request)) ? ok([]) : refused);
  const dataDir = await folder();
  // No real disk is waited for by a clock that is none.
  const files = memory();
  const clock = new VirtualClock(Date.parse("2026-03-01T08:00:00Z"));
  const client = (given: Given = {}) =>
    makeClient(settingsFor(platform.host.url, { sign_in: { body, ...given.signIn } }), {
      dataDir,
      ...(given.dataDir === undefined && { files }),
      clock,
      ...given,
    });
  return { ...platform, client, clock };
}

/** How long it is refused, asked once a minute. */
async function minutesUntil(clock: VirtualClock, ask: () => Promise<unknown>): Promise<number> {
  for (let minute = 0; minute < 60; minute += 1) {
    if ((await ask().catch(() => null)) !== null) return minute;
    await clock.advance(60_000);
  }
  return Infinity;
}

const expired = { body: { code: 40101, message: "token expired" } };

describe("an expired token that is told with a code nobody knows", () => {
  it.each<Reply>([
    expired,
    { body: { code: "40101", message: "token expired" } },
    { body: { code: 500, message: "token expired" } },
    { status: 400, body: { code: 1001 } },
    { status: 500, body: { code: -1 } },
    { status: 498, body: "" },
    { body: { code: 200, success: false, data: null, message: "token expired" } },
  ])("%j is renewed by one sign-in after the second refusal of what it was let in to", async (refused) => {
    const { state, signIns, client: make } = await refusing(refused);
    const { client } = make();
    await client.sensors("GH-1", never);
    state.good.clear();
    await factsOf(client.sensors("GH-1", never));
    expect(signIns()).toHaveLength(1);
    expect(await client.sensors("GH-1", never)).toEqual([]);
    expect(signIns()).toHaveLength(2);
  });

  it("is so at a start with a saved token, and a list that is asked for every few minutes is asked a second time at once", async () => {
    const { state, signIns, client: make, clock } = await refusing(expired);
    const first = make();
    await first.client.controllers(never);
    await first.client.close();
    state.good.clear();
    const { client } = make();
    const list = client.controllers(never);
    await expect.poll(() => clock.pendingTimers).toBeGreaterThan(0);
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return signIns().length;
      })
      .toBe(2);
    expect(await list).toEqual([]);
  });

  it("named in refused_codes is refused at once, for a POST as well", async () => {
    const { state, signIns, client: make, clock } = await refusing(expired);
    const { client } = make({ signIn: { refused_codes: ["40101"] } });
    await client.sensors("GH-1", never);
    state.good.clear();
    expect(await client.sensors("GH-1", never)).toEqual([]);
    expect(signIns()).toHaveLength(2);
    await clock.advance(120_000);
    state.good.clear();
    const facts = await factsOf(client.write("GH-1", "101", "1010", never));
    expect(facts).toMatchObject({ kind: "unauthorized", code: "40101", sent: true });
    expect(await client.renewCredential(never)).toBe(true);
    expect(signIns()).toHaveLength(3);
  });

  it("is asked for again in a token file, without a sign-in", async () => {
    const { host, state, bearer } = await refusing(expired);
    const path = join(await folder(), "token");
    await writeFile(path, "token-of-the-file-1");
    state.good.add("token-of-the-file-1");
    let told = 0;
    const { client } = makeClient(settingsFor(host.url, { token_file: path }), {
      clock: new VirtualClock(),
      onCredential: () => (told += 1),
    });
    await client.sensors("GH-1", never);
    expect(told).toBe(1);
    state.good.clear();
    state.good.add("token-of-the-file-2");
    await factsOf(client.sensors("GH-1", never));
    await writeFile(path, "token-of-the-file-2");
    expect(await client.sensors("GH-1", never)).toEqual([]);
    expect(host.requests.map(bearer).at(-1)).toBe("token-of-the-file-2");
    expect(told).toBe(2);
  });

  it("is told of while it lasts: the operation cannot be used, and the answer's code is named", async () => {
    const { host, state } = await refusing(expired);
    state.good.add("a-static-token-16");
    const { client } = makeClient(settingsFor(host.url, { token: "a-static-token-16" }));
    await client.sensors("GH-1", never);
    state.good.clear();
    for (let n = 0; n < 2; n += 1) await factsOf(client.sensors("GH-1", never));
    const [part] = client.link("realtime").unusable;
    expect(part).toMatchObject({ operation: "GET /api/sensor-data" });
    expect(part?.trouble).toContain("code 40101");
    state.good.add("a-static-token-16");
    await client.sensors("GH-1", never);
    expect(client.link("realtime").unusable).toEqual([]);
  });
});

describe("a code that is about something else", () => {
  /** The read of GH-9 is always answered so, and all others as they should be. */
  async function busy() {
    const platform = await refusing({ body: { code: 500, message: "device busy" } });
    const { state, bearer } = platform;
    let isBusy = false;
    state.read = (request) => {
      const isGood =
        state.good.has(bearer(request)) && !(isBusy && request.query.get("deviceCode") === "GH-9");
      return isGood ? ok([]) : { body: { code: 500, message: "device busy" } };
    };
    return { ...platform, setBusy: (now: boolean) => (isBusy = now) };
  }

  it("is no reason to sign in where others are let in between", async () => {
    const { signIns, client: make, setBusy } = await busy();
    const { client } = make();
    await client.sensors("GH-9", never);
    setBusy(true);
    for (let n = 0; n < 50; n += 1) {
      await factsOf(client.sensors("GH-9", never));
      await client.sensors("GH-1", never);
    }
    expect(signIns()).toHaveLength(1);
  });

  it("nor where the token was never let in for it", async () => {
    const { signIns, client: make, setBusy } = await busy();
    const { client } = make();
    await client.sensors("GH-1", never);
    setBusy(true);
    for (let n = 0; n < 50; n += 1) await factsOf(client.sensors("GH-9", never));
    expect(signIns()).toHaveLength(1);
  });

  it("costs one sign-in that does not help, and none for an hour after, over restarts", async () => {
    const { signIns, client: make, setBusy, clock } = await busy();
    const first = make();
    await first.client.sensors("GH-9", never);
    setBusy(true);
    for (let n = 0; n < 50; n += 1) await factsOf(first.client.sensors("GH-9", never));
    expect(signIns()).toHaveLength(2);
    await first.client.close();
    for (let start = 0; start < 5; start += 1) {
      const { client } = make();
      for (let n = 0; n < 10; n += 1) await factsOf(client.sensors("GH-9", never));
      await client.close();
      await clock.advance(60_000);
    }
    expect(signIns()).toHaveLength(2);
  });

  it("means the token all the same once nothing at all was let in for ten minutes", async () => {
    const { signIns, state, client: make, setBusy, clock } = await busy();
    const { client } = make();
    await client.sensors("GH-9", never);
    setBusy(true);
    for (let n = 0; n < 3; n += 1) await factsOf(client.sensors("GH-9", never));
    expect(signIns()).toHaveLength(2);
    setBusy(false);
    for (let minute = 0; minute < 20; minute += 1) {
      await clock.advance(60_000);
      await client.sensors("GH-9", never);
    }
    state.good.clear();
    expect(await minutesUntil(clock, () => client.sensors("GH-9", never))).toBe(10);
    expect(signIns()).toHaveLength(3);
  });

  it("means the token all the same where a new one ended before anything was let in with it", async () => {
    const { signIns, state, client: make, clock } = await refusing(expired);
    const { client } = make();
    await client.sensors("GH-1", never);
    await client.runningStatuses("GH-1", never);
    state.good.clear();
    await factsOf(client.sensors("GH-1", never));
    await client.sensors("GH-1", never);
    expect(signIns()).toHaveLength(2);
    state.good.clear();
    expect(await minutesUntil(clock, () => client.runningStatuses("GH-1", never))).toBe(10);
    expect(signIns()).toHaveLength(3);
  });

  it("that seems to be over with each new token asks for one every ten minutes at most", async () => {
    const { signIns, client: make, setBusy, clock } = await busy();
    const { client } = make();
    for (let second = 0; second < 2 * 3_600; second += 20) {
      setBusy(false);
      await client.sensors("GH-9", never).catch(() => undefined);
      setBusy(true);
      await client.sensors("GH-9", never).catch(() => undefined);
      const last = client.sensors("GH-9", never).catch(() => undefined);
      setBusy(false);
      await last;
      await clock.advance(20_000);
    }
    expect(signIns().length).toBeLessThanOrEqual(20);
  });
});

/* The realtime host checks no token today, the interface document says. */
describe("where the realtime host lets anything in", () => {
  const ofBusiness = (path: string) => /control\/mqtt|\/device$/.test(path);

  async function lax(refused: Reply) {
    const platform = await refusing(refused);
    const { state, bearer, clock } = platform;
    const isBusy = { now: false };
    const isDead = { now: false };
    state.read = (request) => {
      if (isDead.now || (isBusy.now && !ofBusiness(request.path))) return refused;
      return !ofBusiness(request.path) || state.good.has(bearer(request)) ? ok([]) : refused;
    };
    const { client } = platform.client();
    type Read = () => Promise<unknown>;
    /** Within the time it takes, on the virtual clock. */
    const ask = async (read: Read) => {
      let isOver = false;
      const answer = read()
        .catch(() => null)
        .finally(() => (isOver = true));
      await expect
        .poll(
          async () => {
            await clock.advance(1_000);
            return isOver;
          },
          { interval: 1, timeout: 20_000 },
        )
        .toBe(true);
      return answer;
    };
    const lists: Record<string, Read> = {
      controllers: () => client.controllers(never),
      devices: () => client.devices("TEXT", never),
    };
    const sensors: Read = () => client.sensors("GH-1", never);
    /** Minutes, in each of which the realtime host is asked, and every fifth the lists are, until they are let in. */
    const minutesUntilIn = async (most = 120) => {
      for (let minute = 0; minute < most; minute += 1) {
        await clock.advance(60_000);
        await ask(sensors);
        if (minute % 5 !== 0) continue;
        const answers = [];
        for (const read of Object.values(lists)) answers.push(await ask(read));
        if (answers.every((one) => one !== null)) return minute;
      }
      return Infinity;
    };
    return { ...platform, ask, lists, sensors, minutesUntilIn, isBusy, isDead };
  }

  it.each<Reply>([
    expired,
    { body: { code: 500, message: "token expired" } },
    { body: { error: "Forbidden" } },
    { status: 302, headers: { location: "/login" } },
    { status: 500, body: { timestamp: 1, status: 500, error: "Internal Server Error" } },
  ])(
    "%j of the business host is known for a token that has ended, also of one that was let in for nothing",
    async (refused) => {
      const { state, signIns, ask, lists, sensors, minutesUntilIn } = await lax(refused);
      for (const read of [...Object.values(lists), sensors]) await ask(read);
      state.good.clear();
      expect(await minutesUntilIn()).toBeLessThanOrEqual(15);
      state.good.clear();
      expect(await minutesUntilIn()).toBeLessThanOrEqual(20);
      await ask(sensors);
      state.good.clear();
      await ask(lists["devices"] ?? sensors);
      state.good.clear();
      expect(await minutesUntilIn()).toBeLessThanOrEqual(25);
      expect(signIns().length).toBeLessThanOrEqual(7);
    },
  );

  it.each<[Reply, why: string, most: number]>([
    [expired, "after ten minutes, then each after twice as many", 6],
    [{ body: { error: "Forbidden" } }, "every ten minutes at most", 11],
    [
      { status: 500, body: { timestamp: 1, status: 500, error: "Internal Server Error" } },
      "every ten minutes at most",
      11,
    ],
  ])("%j that means something else costs a sign-in %s", async (refused, _why, most) => {
    const { state, signIns, ask, lists, sensors, minutesUntilIn } = await lax(refused);
    for (const read of [...Object.values(lists), sensors]) await ask(read);
    state.read = ({ path }) => (ofBusiness(path) ? refused : ok([]));
    expect(await minutesUntilIn(100)).toBe(Infinity);
    expect(signIns().length).toBeGreaterThan(2);
    expect(signIns().length).toBeLessThanOrEqual(most);
  });

  it.each(["a device that is busy", "a new token that had ended already"])(
    "a code that meant something else before means the token once the business host lets nothing in: %s",
    async (why) => {
      const { state, signIns, ask, lists, sensors, minutesUntilIn, isBusy, isDead } = await lax(expired);
      for (const read of [...Object.values(lists), sensors]) await ask(read);
      if (why === "a device that is busy") {
        isBusy.now = true;
        for (let n = 0; n < 3; n += 1) await ask(sensors);
        isBusy.now = false;
      } else {
        state.good.clear();
        isDead.now = true;
        await ask(lists["devices"] ?? sensors);
        isDead.now = false;
      }
      expect(signIns()).toHaveLength(2);
      await ask(sensors);
      state.good.clear();
      expect(await minutesUntilIn()).toBeLessThanOrEqual(20);
      expect(signIns()).toHaveLength(3);
    },
  );

  it("what the realtime host refuses by a code of its own costs one sign-in an hour, as the business host lets the token in", async () => {
    const { state, signIns, ask, lists, sensors, clock } = await lax(expired);
    for (const read of [...Object.values(lists), sensors]) await ask(read);
    state.read = ({ path }) => (ofBusiness(path) ? ok([]) : expired);
    for (let minute = 0; minute < 2 * 60; minute += 1) {
      await clock.advance(60_000);
      await ask(sensors);
      if (minute % 5 === 0) await ask(lists["controllers"] ?? sensors);
    }
    expect(signIns().length).toBeLessThanOrEqual(4);
  });
});

describe("an expired token that is told without any code", () => {
  const forms: readonly Reply[] = [
    { status: 302, headers: { location: "/login" } },
    { headers: { "content-type": "text/html" }, body: "<html>Log in</html>" },
    { body: "Token invalid" },
    { body: { error: "Forbidden" } },
    { body: "" },
  ];
  const outage: Reply = { status: 500, body: { timestamp: 1, status: 500, error: "Internal Server Error" } };
  const ask = async (client: ReturnType<typeof makeClient>["client"], clock: VirtualClock) => {
    const answers = [
      client.sensors("GH-1", never).catch(() => null),
      client.runningStatuses("GH-1", never).catch(() => null),
    ];
    return settled(clock, Promise.all(answers));
  };
  const settled = async <T>(clock: VirtualClock, both: Promise<T>) => {
    // What is answered with 500 is asked for again first.
    let isOver = false;
    void both.finally(() => (isOver = true));
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return isOver;
      })
      .toBe(true);
    return both;
  };

  it.each(forms)("%j is renewed by one sign-in once two operations met it", async (refused) => {
    const { state, signIns, client: make, clock } = await refusing(refused);
    const { client } = make();
    expect(await ask(client, clock)).toEqual([[], []]);
    state.good.clear();
    await ask(client, clock);
    expect(await ask(client, clock)).toEqual([[], []]);
    expect(signIns()).toHaveLength(2);
  });

  it.each(forms)(
    "%j of one operation alone, or of a platform that is shut, costs next to no sign-in",
    async (form) => {
      const platform = await refusing(form);
      const { state, signIns, client: make, clock, bearer } = platform;
      const { client } = make();
      await ask(client, clock);
      state.read = ({ path }) => (path.endsWith("/sensor-data") ? form : ok([]));
      for (let n = 0; n < 10; n += 1) await ask(client, clock);
      expect(signIns()).toHaveLength(1);
      state.read = () => form;
      state.signIn = () => form;
      for (let n = 0; n < 10; n += 1) {
        await ask(client, clock);
        await clock.advance(10_000);
      }
      expect(signIns()).toHaveLength(2);
      expect(client.link("realtime").unauthorized).toBe(false);
      state.read = (request) => (state.good.has(bearer(request)) ? ok([]) : form);
      await clock.advance(300_000);
      expect(await ask(client, clock)).toEqual([[], []]);
      expect(signIns()).toHaveLength(2);
    },
  );

  /** Both hosts are asked. */
  const askBoth = (client: ReturnType<typeof makeClient>["client"], clock: VirtualClock) =>
    settled(
      clock,
      Promise.all([
        client.sensors("GH-1", never).catch(() => null),
        client.controllers(never).catch(() => null),
      ]),
    );

  it("but with 500, as in any outage, is renewed once both hosts met it", async () => {
    const { state, signIns, client: make, clock } = await refusing(outage);
    const { client } = make();
    expect(await askBoth(client, clock)).toEqual([[], []]);
    await ask(client, clock);
    state.good.clear();
    await ask(client, clock);
    expect(signIns()).toHaveLength(1);
    await askBoth(client, clock);
    expect(await askBoth(client, clock)).toEqual([[], []]);
    expect(signIns()).toHaveLength(2);
  });

  it.each([outage, ...forms])(
    "%j with a sign-in that is refused leaves the token at hand as good as it was",
    async (form) => {
      const { state, signIns, client: make, clock } = await refusing(form);
      const dataDir = await folder();
      const { client } = make({ dataDir });
      await askBoth(client, clock);
      await ask(client, clock);
      state.read = () => form;
      state.signIn = () => ({ body: { code: 500, message: "busy" } });
      for (let n = 0; n < 10; n += 1) {
        await askBoth(client, clock);
        await ask(client, clock);
      }
      expect(signIns()).toHaveLength(2);
      expect(client.link("business").unauthorized).toBe(false);
      expect(client.link("realtime").unauthorized).toBe(false);
      await client.close();
      const saved = JSON.parse(await readFile(join(dataDir, "platform-session.json"), "utf8")) as unknown;
      expect(saved).toMatchObject({ refusals: 0 });
    },
  );
});
