import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PlatformClient } from "../../src/platform/client.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { makeClient, never, settingsFor, folder } from "./support/client-under-test.js";
import { ok, type Reply } from "./support/hosts.js";
import { startPlatform } from "./support/issuing-platform.js";
import { memory } from "./push/listening.js";

const hourMs = 3_600_000;
const tokenRefused: Reply = { status: 401, body: { code: 401, message: "token expired" } };

/** Checks the token of control values only; everything else is answered to anybody. */
async function startStrict() {
  const { host, state, signIns, reads, bearer } = await startPlatform();
  const control = { /** Null cuts the connection. */ answer: (): Reply | null => ok(null) };
  state.read = (request, response) => {
    if (request.method !== "POST") return ok([]);
    if (!state.good.has(bearer(request))) return tokenRefused;
    const reply = control.answer();
    if (reply === null) response.destroy();
    return reply;
  };
  return {
    ...{ host, state, control },
    expire: () => state.good.clear(),
    signIns: () => signIns().length,
    posts: () => reads().filter(({ method }) => method === "POST").length,
  };
}

/** POSTs as a command does: a refusal is followed by one renewal and, where that brings a token, by a read and one second POST. */
async function command(client: PlatformClient): Promise<string> {
  const post = () =>
    client.write("GH-1", "101", "1010", never).then(
      () => "accepted",
      () => "not accepted",
    );
  if ((await post()) === "accepted") return "accepted";
  if (!(await client.renewCredential(never))) return "no renewal";
  await client.sensors("GH-1", never);
  return `${await post()} the second time`;
}

async function signedIn() {
  const platform = await startStrict();
  const clock = new VirtualClock();
  const { client } = makeClient(settingsFor(platform.host.url, { sign_in: { body: { account: "me" } } }), {
    clock,
    dataDir: await folder(),
    files: memory(),
  });
  await client.controllers(never);
  await client.sensors("GH-1", never);
  return { ...platform, clock, client };
}

describe("a token that ends again and again, on a platform that checks it for control values only", () => {
  it("gets one sign-in and one second POST at each end", async () => {
    const { client, clock, expire, signIns, posts } = await signedIn();
    expect(await command(client)).toBe("accepted");
    for (let end = 1; end <= 4; end += 1) {
      await clock.advance(hourMs);
      expire();
      expect(await command(client), `end ${end}`).toBe("accepted the second time");
      expect([signIns(), posts()]).toEqual([1 + end, 1 + 2 * end]);
    }
    expect(client.link("realtime").unauthorized).toBe(false);
  });

  it.each<[string, Reply | null]>([
    ["was let in but rejected for another reason", { body: { code: 500, message: "busy" } }],
    ["was cut off, which tells nothing of the token", null],
  ])("also when the second POST %s", async (_what, answer) => {
    const { client, clock, control, expire, signIns } = await signedIn();
    control.answer = () => answer;
    expire();
    expect(await command(client)).toBe("not accepted the second time");
    control.answer = () => ok(null);
    await clock.advance(hourMs);
    expire();
    expect(await command(client)).toBe("accepted the second time");
    expect(signIns()).toBe(3);
  });

  it("within seconds of its sign-in waits as the pace of sign-ins says", async () => {
    const { client, clock, expire, signIns } = await signedIn();
    const ends = [];
    for (let second = 0; second < 30; second += 1) {
      expire();
      if ((await command(client)) === "accepted the second time") ends.push(second);
      await clock.advance(1_000);
    }
    expect(ends).toEqual([0, 10]);
    expect(signIns()).toBe(3);
  });

  it("a POST refused again directly after a renewal is no end of the token: no other sign-in for ten minutes", async () => {
    const { client, clock, control, expire, signIns, posts } = await signedIn();
    await clock.advance(hourMs);
    control.answer = () => tokenRefused;
    expect(await command(client)).toBe("not accepted the second time");
    for (let minute = 0; minute < 9; minute += 1) {
      expect(await command(client)).toBe("no renewal");
      await clock.advance(60_000);
    }
    expect([signIns(), posts()]).toEqual([2, 2 + 9]);
    await clock.advance(60_000);
    control.answer = () => ok(null);
    expire();
    expect(await command(client), "a platform that recovers is found").toBe("accepted the second time");
  });

  it("is read from the token file at each end", async () => {
    const { host, state, expire, posts } = await startStrict();
    state.good.add("token-1");
    const path = join(await folder(), "token");
    await writeFile(path, "token-1");
    const clock = new VirtualClock();
    const settings = settingsFor(host.url, { token_file: path });
    const { client, links } = makeClient(settings, { clock });
    expect(await command(client)).toBe("accepted");
    for (let end = 1; end <= 3; end += 1) {
      expire();
      expect(await command(client)).toBe("no renewal");
      const token = `token-of-end-${end}`;
      state.good.add(token);
      const before = links.length;
      await writeFile(path, token);
      expect(await command(client), `end ${end}`).toBe("accepted the second time");
      expect(links.slice(before).some(({ unauthorized }) => unauthorized)).toBe(false);
    }
    expect(posts()).toBe(1 + 3 * 3);
  });
});
