import { describe, expect, it, onTestFinished } from "vitest";
import { Exchange } from "../../src/platform/http.js";
import { Semaphore } from "../../src/runtime/schedule.js";
import { seededRandom } from "../../src/simulator/faults.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { VirtualClock } from "../support/virtual-clock.js";
import {
  factsOf,
  failureOf,
  hosted,
  makeClient,
  never,
  rawHosted,
  settingsFor,
} from "./support/client-under-test.js";
import { type Answerer, ok, type Reply, startFakeHost, startRawHost } from "./support/hosts.js";

const healthy: Answerer = () => ok([]);

/** What undici hands to whoever waits for a connection. */
function controllerOf() {
  const controller = {
    aborted: false,
    paused: false,
    reason: null,
    abort: () => {
      controller.aborted = true;
    },
    pause: () => undefined,
    resume: () => undefined,
  };
  return controller;
}
const ways: readonly (readonly [string, Answerer])[] = [
  ["connections cut", (_request, response) => (response.socket?.destroy(), null)],
  ["HTTP 502", () => ({ status: 502, body: "bad gateway" })],
  ["a maintenance page", () => ({ body: "<html>maintenance</html>" })],
];

describe("an hour without platform", () => {
  it.each(ways)(
    "%s: at most 150 requests in all, recovery within 60 s of polling each second",
    async (_way, fault) => {
      const business = await startFakeHost(healthy);
      const realtime = await startFakeHost(healthy);
      const clock = new VirtualClock();
      const settings = { ...settingsFor(business.url), realtime_url: realtime.url };
      const { client } = makeClient(settings, { clock, random: seededRandom(7) });
      const sensors = () => ["GH-1", "GH-2"].map((code) => client.sensors(code, never));
      const poll = () => [client.controllers(never), ...sensors()];
      await Promise.all(poll());
      business.answer(fault);
      realtime.answer(fault);
      const seen = () => business.requests.length + realtime.requests.length;
      const before = seen();
      const pending = new Set<Promise<unknown>>();
      for (let second = 0; second < 3_600; second += 1) {
        for (const call of poll()) {
          const ended: Promise<unknown> = call.catch(() => undefined).finally(() => pending.delete(ended));
          pending.add(ended);
        }
        await clock.advance(1_000);
      }
      await clock.advance(5_000);
      await Promise.all(pending);
      expect(seen() - before).toBeLessThanOrEqual(150);
      expect(client.counters().requests).toBe(seen());
      business.answer(healthy);
      realtime.answer(healthy);
      let recoveredAfterS = 0;
      for (; recoveredAfterS < 120; recoveredAfterS += 1) {
        const results = await Promise.allSettled(poll());
        if (results.every(({ status }) => status === "fulfilled")) break;
        await clock.advance(1_000);
      }
      expect(recoveredAfterS).toBeLessThanOrEqual(60);
    },
  );

  it("calls held back are refused at once, not sent, and say when to come again", async () => {
    const clock = new VirtualClock();
    const { host, client } = await hosted(() => ({ status: 500, body: "" }), {}, { clock });
    for (let n = 0; n < 5; n += 1) {
      const failed = factsOf(client.value("GH-1", "101", false, never));
      await clock.advance(10_000);
      await failed;
    }
    const requests = host.requests.length;
    const error = await failureOf(client.value("GH-2", "101", false, never));
    expect(error.facts).toMatchObject({ kind: "paused", sent: false, host: "realtime" });
    expect(error.facts.retryAfterMs).toBeGreaterThan(0);
    expect(host.requests).toHaveLength(requests);
    expect(client.counters().paused).toBeGreaterThan(0);
  });

  it("a POST and the read of a command wait for no other, however many hang", async () => {
    const hangs = ({ target, body }: { target: string; body: string }) =>
      /GH-9/.test(target + body) ? ok({ 300: "1" }) : null;
    const { host, client } = await hosted(hangs);
    const hanging = Array.from({ length: 40 }, (_, n) => [
      client.write(`GH-${n + 10}`, "300", "00000100", never),
      client.value(`GH-${n + 10}`, "300", true, never),
    ]);
    const ended = Promise.allSettled(hanging.flat());
    await expect.poll(() => host.requests.length).toBe(80);
    await client.write("GH-9", "300", "00000100", never);
    await client.value("GH-9", "300", true, never);
    await client.close();
    await ended;
  });
});

describe("a controller that does not answer", () => {
  /** Requests about GH-1 have no answer until they are let go. */
  async function silent() {
    const held = new Set<() => void>();
    const clock = new VirtualClock();
    const timeouts = { connect: 5_000, read: 15_000, control: 30_000 };
    const { host, client } = await hosted(
      ({ target, body }, response) => {
        if (!(target + body).includes("GH-1")) return ok({ 300: "1" });
        held.add(() => response.end(JSON.stringify({ code: 200, data: { 300: "1" } })));
        return null;
      },
      { timeouts },
      { clock },
    );
    const answerOne = () => {
      const [first] = held;
      if (first === undefined) throw new Error("nothing is asked");
      held.delete(first);
      first();
    };
    return { host, client, clock, answerOne, count: () => held.size };
  }

  it("is no failure of the host where that answered about others meanwhile", async () => {
    const { client, clock } = await silent();
    const failuresAfter = async (between: () => Promise<unknown>) => {
      const read = client.sensors("GH-1", never).catch(() => null);
      await clock.advance(5_000);
      await between();
      await clock.advance(11_000);
      await read;
      return client.link("realtime").failures;
    };
    expect(await failuresAfter(() => client.value("GH-2", "300", false, never))).toBe(0);
    expect(await failuresAfter(() => Promise.resolve())).toBe(1);
  });

  it("has four reads and four POSTs of commands at a time, and no other controller waits for them", async () => {
    const { host, client, answerOne, count } = await silent();
    const ask = (n: number) => [
      client.write("GH-1", String(n), "1010", never),
      client.value("GH-1", String(n), true, never),
    ];
    const ended = Promise.allSettled([0, 1, 2, 3, 4, 5, 6].flatMap(ask));
    await expect.poll(count).toBe(8);
    await client.write("GH-2", "300", "1010", never);
    await client.value("GH-2", "300", true, never);
    expect(host.requests).toHaveLength(10);
    answerOne();
    await expect.poll(() => host.requests.length).toBe(11);
    await client.close();
    await ended;
  });

  it("holds up no stop, and nothing that a rule sends or reads", async () => {
    const { client, count } = await silent();
    const ask = (n: number, pace: "urgent" | "first") => [
      client.write("GH-1", String(n), "1010", never, { pace }),
      client.value("GH-1", String(n), true, never, pace),
      client.connection("GH-1", never, pace),
    ];
    const ordinary = Promise.allSettled([0, 1, 2].flatMap((n) => ask(n, "urgent")));
    await expect.poll(count).toBe(7);
    const first = Promise.allSettled([3, 4, 5].flatMap((n) => ask(n, "first")));
    await expect.poll(count).toBe(7 + 9);
    await client.close();
    await Promise.all([ordinary, first]);
  });

  it("lets a read wait no longer than an answer may take, and what ends it says so", async () => {
    const { client, clock, count } = await silent();
    const reads = [1, 2, 3, 4, 5].map((n) => failureOf(client.value("GH-1", String(n), true, never)));
    await expect.poll(count).toBe(4);
    await clock.advance(30_000);
    const errors = await Promise.all(reads);
    expect(errors.map(({ facts }) => [facts.kind, facts.sent])).toEqual([
      ...Array.from({ length: 4 }, () => ["timeout", true]),
      ["timeout", false],
    ]);
    expect(errors[4]?.message).toContain("those before it to this controller took longer than 30 s");
    expect(clock.pendingTimers).toBe(0);
  });

  it("what is given up while it waits is not sent", async () => {
    const { client, count } = await silent();
    const hanging = Promise.allSettled([1, 2, 4, 5].map((n) => client.write("GH-1", String(n), "1", never)));
    const leaving = new AbortController();
    await expect.poll(count).toBe(4);
    const third = factsOf(client.write("GH-1", "3", "1", leaving.signal));
    leaving.abort();
    expect(await third).toMatchObject({ kind: "interrupted", sent: false });
    await client.close();
    await hanging;
  });
});

describe("reads are repeated", () => {
  const flaky = (failures: number, fault: Reply): Answerer => {
    let left = failures;
    return () => ((left -= 1) >= 0 ? fault : ok([]));
  };

  it("twice at most, then the error is the caller's", async () => {
    const { host, client } = await hosted(flaky(2, { status: 502, body: "" }));
    expect(await client.sensors("GH-1", never)).toEqual([]);
    expect(host.requests).toHaveLength(3);
    host.answer(() => ({ status: 502, body: "" }));
    expect(await factsOf(client.sensors("GH-1", never))).toMatchObject({ kind: "server", status: 502 });
    expect(host.requests).toHaveLength(6);
    expect(client.counters()).toMatchObject({ requests: 6, retries: 4, failures: 5 });
  });

  it("a poll's repeat waits for the request budget, and one of a command does not", async () => {
    const clock = new VirtualClock();
    const answers = flaky(2, { status: 502, body: "" });
    const { host, client } = await hosted(answers, { requests_per_minute: 1 }, { clock });
    client.budget.spend(clock.monotonic());
    const polled = client.sensors("GH-1", never);
    await expect.poll(() => client.counters().retries).toBe(1);
    await client.value("GH-1", "300", true, never).catch(() => undefined);
    expect(host.requests).toHaveLength(3);
    await clock.advance(60_000);
    expect(host.requests).toHaveLength(3);
    await clock.advance(1);
    expect(await polled).toEqual([]);
    expect(host.requests).toHaveLength(4);
  });

  it("Retry-After is obeyed by this call and by all others of the host", async () => {
    const busy: Reply = { status: 429, headers: { "retry-after": "20" }, body: "" };
    const clock = new VirtualClock();
    const { host, client } = await hosted(flaky(1, busy), {}, { clock });
    const patient = client.sensors("GH-1", never);
    await expect.poll(() => client.counters().retries).toBe(1);
    expect(await factsOf(client.sensors("GH-2", never))).toMatchObject({
      kind: "throttled",
      sent: false,
      retryAfterMs: 20_000,
    });
    await clock.advance(19_999);
    expect(host.requests).toHaveLength(1);
    await clock.advance(1);
    expect(await patient).toEqual([]);
    expect(host.requests).toHaveLength(2);
  });

  it("closing ends pauses and open requests, and leaves no timer", async () => {
    const hung = await startRawHost(() => undefined);
    const busy = await startFakeHost(() => ({ status: 502, body: "" }));
    const clock = new VirtualClock();
    const settings = { ...settingsFor(busy.url), realtime_url: hung.url };
    const { client } = makeClient(settings, { clock, random: () => 0.9 });
    const write = client.write("GH-1", "1", "1", never);
    const calls = [client.controllers(never), client.sensors("GH-1", never), write];
    const ends = Promise.all(calls.map(factsOf));
    await expect.poll(() => [client.counters().retries, hung.accepted]).toEqual([1, 2]);
    await client.close();
    expect((await ends).map(({ kind }) => kind)).toEqual(["server", "interrupted", "interrupted"]);
    expect(clock.pendingTimers).toBe(0);
    expect(await factsOf(client.sensors("GH-1", never))).toMatchObject({ kind: "interrupted", sent: false });
  });
});

describe("the link", () => {
  it("counts failed attempts since when, tells each, and tells the contact that ends them", async () => {
    const clock = new VirtualClock();
    const { host, client, links } = await hosted(healthy, {}, { clock });
    await client.sensors("GH-1", never);
    await client.sensors("GH-1", never);
    const none = { failures: 0, failingSince: null, silent: null, trouble: null, unauthorized: false };
    expect(links).toEqual([{ host: "realtime", contactAt: 0, heardAt: 0, ...none, unusable: [] }]);
    await clock.advance(1_000);
    host.answer((_request, response) => (response.socket?.destroy(), null));
    for (let n = 0; n < 3; n += 1) await factsOf(client.write("GH-1", "101", "1010", never));
    const counted = links.slice(1).map(({ failures, failingSince }) => `${failures} since ${failingSince}`);
    expect([...new Set(counted)]).toEqual(["1 since 1000", "2 since 1000", "3 since 1000"]);
    expect(links.at(-1)?.silent).toBe("POST /api/set-value");
    expect(links.at(-1)).toMatchObject({
      contactAt: 0,
      trouble: expect.stringMatching(/at the realtime host \(127\.0\.0\.1:\d+\): /) as string,
    });
    host.answer(healthy);
    await clock.advance(500);
    await client.sensors("GH-1", never);
    expect(links.at(-1)).toMatchObject({ contactAt: 1_500, ...none });
    expect(client.link("realtime").contactAt).toBe(1_500);
    expect(client.link("business").contactAt).toBeNull();
  });

  it.each([
    [{ status: 403, body: "" }, 0],
    [{ status: 200, body: { code: 500 } }, 0],
    [{ status: 404, body: "{}" }, null],
    [{ status: 502, body: "" }, null],
    [{ status: 302, headers: { location: "/login" } }, null],
    [{ status: 200, body: "<html>" }, null],
    [{ status: 200, body: "{" }, null],
    [{ status: 200, headers: { "content-encoding": "gzip" }, body: "no gzip" }, null],
  ] as const)("whoever answers %j is there; it is a contact at %j", async (reply, contactAt) => {
    const { client } = await hosted(() => reply, {}, { clock: new VirtualClock() });
    await factsOf(client.write("GH-1", "101", "1010", never));
    expect(client.link("realtime")).toMatchObject({ failures: 0, contactAt, heardAt: 0 });
  });

  it("a call that its caller gives up says nothing about the host", async () => {
    const { host, client, links } = await rawHosted(() => undefined);
    const leaving = new AbortController();
    const call = factsOf(client.sensors("GH-1", leaving.signal));
    await expect.poll(() => host.accepted).toBe(1);
    leaving.abort();
    await call;
    expect(links).toEqual([]);
  });
});

describe("the platform's clock", () =>
  it("its distance from ours is known from the Date header, and a jump of ours shows at once", async () => {
    const clock = new VirtualClock(Date.parse("2026-03-01T08:00:00Z"));
    const date = new Date(clock.now() + 3 * 60_000).toUTCString();
    const dated: Answerer = () => ({ headers: { date }, body: { code: 200, data: [] } });
    const { client } = await hosted(dated, {}, { clock });
    expect(client.clockSkewMs()).toBeNull();
    await client.controllers(never);
    expect(client.clockSkewMs()).toBe(180_000);
    await clock.advance(10_000);
    expect(client.clockSkewMs()).toBe(180_000);
    clock.setWall(0);
    expect(client.clockSkewMs()).toBe(Date.parse("2026-03-01T08:03:10Z"));
  }));

it("once a host answers again, no request is lost on a connection that was made while it did not", async () => {
  const host = await startFakeHost(() => ok([]));
  const proxy = await startTcpProxy(Number(new URL(host.url).port));
  onTestFinished(() => proxy.close());
  const clock = new VirtualClock();
  const timeouts = { connect: 5_000, read: 15_000, control: 30_000 };
  const { client } = makeClient(settingsFor(`http://127.0.0.1:${proxy.port}`, { timeouts }), {
    clock,
  });
  await proxy.manner("black_hole");
  const lost = Array.from({ length: 12 }, (_, n) => factsOf(client.sensors(`GH-${n}`, never)));
  await expect.poll(() => proxy.accepted).toBeGreaterThanOrEqual(1);
  for (let n = 0; n < 12; n += 1) await clock.advance(5_000);
  expect((await Promise.all(lost)).map(({ kind }) => kind)).toContain("timeout");
  await proxy.manner("pass");
  await clock.advance(120_000);
  await expect(client.sensors("GH-1", never)).resolves.toEqual([]);
});

describe("deadlines", () => {
  it("the time runs from the first byte: what waited for its connection has all of it", async () => {
    const clock = new VirtualClock();
    const exchange = new Exchange({
      clock,
      deadlineMs: 30_000,
      maxBytes: 1_000,
      signal: never,
      mayBegin: () => true,
      isRead: false,
    });
    const failed = exchange.answer.catch((error: unknown) => error);
    await clock.advance(20_000);
    exchange.onRequestStart(controllerOf());
    await clock.advance(29_999);
    expect(exchange.hasExpired).toBe(false);
    await clock.advance(1);
    expect(await failed).toMatchObject({ reason: "timeout", sent: true });
    expect(exchange.hasExpired).toBe(true);
  });

  it("without a connection nothing was sent, and the network is named", async () => {
    const clock = new VirtualClock();
    const exchange = new Exchange({
      clock,
      deadlineMs: 30_000,
      maxBytes: 1_000,
      signal: never,
      mayBegin: () => true,
      isRead: false,
    });
    const failed = exchange.answer.catch((error: unknown) => error);
    await clock.advance(30_000);
    expect(await failed).toMatchObject({ reason: "connection", sent: false });
    const late = controllerOf();
    exchange.onRequestStart(late);
    expect(late.aborted).toBe(true);
  });

  it("a read has 15 s, a control value and a fresh read 30 s, as configured", async () => {
    const host = await startRawHost(() => undefined);
    const clock = new VirtualClock();
    const timeouts = { connect: 5_000, read: 15_000, control: 30_000 };
    const { client } = makeClient(settingsFor(host.url, { timeouts }), { clock });
    const ended: string[] = [];
    const note = async (name: string, call: Promise<unknown>) => {
      const { kind } = await factsOf(call);
      ended.push(`${name} ${kind} at ${clock.monotonic() / 1000} s`);
    };
    const calls = [
      note("poll", client.sensors("GH-1", never)),
      note("fresh read", client.value("GH-1", "101", true, never)),
      note("write", client.write("GH-1", "101", "1010", never)),
    ];
    await expect.poll(() => host.accepted).toBe(3);
    await clock.advance(15_000);
    expect(ended).toEqual(["poll timeout at 15 s"]);
    await clock.advance(15_000);
    await Promise.all(calls);
    expect(ended.slice(1).sort()).toEqual(["fresh read timeout at 30 s", "write timeout at 30 s"]);
  });
});

it("a semaphore lets so many in at once, the others in order, and those who give up not at all", async () => {
  const semaphore = new Semaphore(1);
  const leaving = new AbortController();
  const order: string[] = [];
  const enter = (name: string, signal = never) =>
    semaphore.wait(signal).then(
      () => order.push(name),
      () => order.push(`not ${name}`),
    );
  expect([semaphore.take(), semaphore.take()]).toEqual([true, false]);
  await enter("late", AbortSignal.abort());
  const waiting = [enter("second"), enter("gone", leaving.signal), enter("third")];
  expect(semaphore.waiting).toBe(3);
  leaving.abort();
  await waiting[1];
  for (const next of [0, 2]) {
    semaphore.leave();
    await waiting[next];
  }
  expect(order).toEqual(["not late", "not gone", "second", "third"]);
});
