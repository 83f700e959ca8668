import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PlatformSettings } from "../../src/platform/settings.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { factsOf, folder, makeClient, never, settingsFor } from "./support/client-under-test.js";
import { ok, type Reply } from "./support/hosts.js";
import { startPlatform } from "./support/issuing-platform.js";

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
  const clock = new VirtualClock(Date.parse("2026-03-01T08:00:00Z"));
  const client = (given: Given = {}) =>
    makeClient(settingsFor(platform.host.url, { sign_in: { body, ...given.signIn } }), {
      dataDir,
      clock,
      ...given,
    });
  return { ...platform, client, clock };
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
    const { client } = makeClient(settingsFor(host.url, { token_file: path }), {
      clock: new VirtualClock(),
    });
    await client.sensors("GH-1", never);
    state.good.clear();
    state.good.add("token-of-the-file-2");
    await factsOf(client.sensors("GH-1", never));
    await writeFile(path, "token-of-the-file-2");
    expect(await client.sensors("GH-1", never)).toEqual([]);
    expect(host.requests.map(bearer).at(-1)).toBe("token-of-the-file-2");
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
