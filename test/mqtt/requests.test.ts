import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  answerRequest,
  optionalTextField,
  parseRequest,
  RequestError,
  type RequestHandler,
  RequestServer,
  textField,
} from "../../src/mqtt/requests.js";
import { msg } from "../../src/language/text.js";
import { PublishError } from "../../src/mqtt/connection/publish.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { RetainedBroker } from "../support/retained-broker.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";

const bytes = (text: string) => new TextEncoder().encode(text);
const signal = new AbortController().signal;
const answer = async (payload: string, handler: RequestHandler, name = "read"): Promise<unknown> =>
  JSON.parse(await answerRequest(name, parseRequest(bytes(payload)), new Map([["read", handler]]), signal));
const echo: RequestHandler = (fields) => Promise.resolve(fields);

const failed = (why: string) => ({ status: "error", error: expect.stringMatching(why) as unknown });

describe("a request's payload", () => {
  it.each(["", " ", "x", "{", "\u0000"])("that is empty or no JSON counts as {}: %j", async (payload) => {
    expect(await answer(payload, echo)).toEqual({ status: "ok", data: {} });
  });

  const large = JSON.stringify({ address: "1".repeat(20_000) });
  it.each([
    ["null", "no object"],
    ["[]", "no object"],
    ["3", "no object"],
    [large, `${large.length} bytes`],
    // Another transaction would come back than was sent.
    ['{"transaction":1795453000123456789,"address":"1"}', "write it in quotes"],
  ])("that is JSON but no usable object is an error that says why: %.60s", async (payload, why) => {
    expect(await answer(payload, echo)).toEqual(failed(why));
  });

  it("says in which language why it is refused is told, which is none of its fields", async () => {
    const refused = () =>
      Promise.reject(new RequestError(msg`"by" must be a text of 1 to ${64} characters.`));
    const said = (language: string) => answer(JSON.stringify({ language, address: "1" }), refused);
    expect(await said("zh")).toEqual({ status: "error", error: "“by”必须是 1 到 64 个字符的文本。" });
    expect(await said("fr")).toEqual(failed('^"by" must be'));
    expect(await answer('{"language":"zh","address":"1"}', echo)).toEqual({
      status: "ok",
      data: { address: "1" },
    });
  });

  it("may be any bytes, and gives no access to the prototype", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (payload) => {
        expect(() => parseRequest(payload)).not.toThrow();
      }),
    );
    const { fields } = parseRequest(bytes('{"__proto__":{"polluted":1},"a":1}'));
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(fields["a"]).toBe(1);
  });
});

describe("the response", () => {
  const fails = (error: unknown) => () =>
    Promise.reject(error instanceof Error ? error : new Error(String(error)));
  it.each(["7", '"abc"', "null", '{"a":[1]}'])("echoes the transaction as it came: %s", async (text) => {
    const payload = `{"transaction":${text},"address":"1"}`;
    const transaction: unknown = JSON.parse(text);
    expect(await answer(payload, echo)).toEqual({ transaction, status: "ok", data: { address: "1" } });
    expect(await answer(payload, echo, "nonsense")).toEqual({ transaction, ...failed("nonsense.*read") });
    expect(await answer(payload, fails("no"))).toEqual({ transaction, status: "error", error: "no" });
  });

  it.each<[string, RequestHandler, status?: string]>([
    [
      "a handler that throws at once",
      () => {
        throw new RequestError("say why");
      },
    ],
    ["an answer JSON cannot hold", () => Promise.resolve({ n: 1n })],
    ["nothing to say, which is an empty answer", () => Promise.resolve(undefined), "ok"],
  ])("never fails: %s", async (_, handler, status = "error") => {
    expect(await answer('{"transaction":1}', handler)).toMatchObject({ status, transaction: 1 });
  });

  it.each(["read", "nonsense"])("never fails, however deep the transaction is nested: %s", async (name) => {
    const deep = `${"[".repeat(8_000)}${"]".repeat(8_000)}`;
    expect(await answer(`{"transaction":${deep}}`, echo, name)).toMatchObject({ status: "error" });
  });
});

it.each<[value: unknown, text: string | null, optional?: string | null]>([
  ["GH-1", "GH-1"],
  [101, "101"],
  [0, "0"],
  [undefined, null, null],
  [null, null, null],
  [true, null],
  [{}, null],
])(
  "a text may come as a number; one that is wrong is named, also where it may be missing: %j",
  (value, text, optional) => {
    const read = () => textField({ controller: value }, "controller");
    const readOptional = () => optionalTextField({ controller: value }, "controller");
    if (text === null) expect(read).toThrow('"controller"');
    else expect([read(), readOptional()]).toEqual([text, text]);
    if (optional === null) expect(readOptional()).toBeNull();
    else if (text === null) expect(readOptional).toThrow(RequestError);
  },
);

interface Answer {
  readonly status: string;
  readonly transaction?: unknown;
  readonly error?: string;
}

const topics = topicsUnder("greenhouse");
const panel = { client: "panel", user: null };

const slowOnes = ["read", "get", "journal", "bundle", "refresh", "notify_test"];
const acts = ["lock", "unlock", "release", "acknowledge", "read_only", "log_level"];

/** A desk whose platform answers only when told to. */
function desk(concurrency = 4) {
  const clock = new VirtualClock();
  const broker = new RetainedBroker();
  const { log, lines } = capturedLog();
  const end = new AbortController();
  const running = new Map<string, (() => void)[]>();
  const most = new Map<string, number>();
  const slow =
    (name: string): RequestHandler =>
    () =>
      new Promise((resolve) => {
        const open = running.get(name) ?? [];
        running.set(name, [...open, () => resolve({})]);
        most.set(name, Math.max(most.get(name) ?? 0, open.length + 1));
      });
  const done: string[] = [];
  const handlers = new Map<string, RequestHandler>([
    ...slowOnes.map((name) => [name, slow(name)] as const),
    ...acts.map((name) => [name, () => void done.push(name)] as const),
    ["health", () => Promise.resolve({})],
  ]);
  const requests = new RequestServer({
    handlers,
    publisher: broker,
    clock,
    log,
    maxAgeMs: () => 60_000,
    concurrency,
    topics,
    signal: end.signal,
  });
  return {
    ...{ clock, broker, lines, end, most, requests, done },
    ask: async (name: string, count: number) => {
      for (let place = 0; place < count; place++)
        requests.onMessage({
          topic: `greenhouse/bridge/request/${name}`,
          payload: Buffer.from(`{"transaction":${place}}`),
          retain: false,
          properties: { via: panel },
        });
      await settled();
    },
    /** Ends what runs, one after the other, until nothing does. */
    finish: async (name: string) => {
      for (let open = running.get(name); open !== undefined && open.length > 0; open = running.get(name)) {
        running.set(name, open.slice(1));
        open[0]?.();
        await settled();
      }
    },
    answers: () => broker.log.map(({ payload }) => JSON.parse(payload) as Answer),
  };
}

const transactions = (answers: readonly Answer[], status: string) =>
  answers.filter((one) => one.status === status).map(({ transaction }) => transaction);

describe("a flood of requests", () => {
  it.each([
    [1, 1],
    [4, 2],
    [64, 2],
  ])(
    "leaves polling and commands their connections: of %i places %i at once",
    async (concurrency, atOnce) => {
      const { ask, finish, most } = desk(concurrency);
      await ask("read", 20);
      await finish("read");
      expect(most.get("read")).toBe(atOnce);
    },
  );

  it("is answered as far as it fits, in order; what does not fit is told at once to ask again later", async () => {
    const { ask, finish, answers } = desk();
    await ask("read", 60);
    const refused = answers();
    expect(transactions(refused, "error")).toEqual(Array.from({ length: 8 }, (_, place) => 52 + place));
    expect(refused[0]?.error).toMatch(/too many requests.*later/i);
    await finish("read");
    expect(transactions(answers(), "ok")).toEqual(Array.from({ length: 52 }, (_, place) => place));
    await ask("read", 1);
    await finish("read");
    expect(transactions(answers(), "ok").length).toBe(53);
  });

  it("of one sort does not hold up another: neither slow reads nor refreshes nor the journal a local request", async () => {
    const { ask, finish, answers, most } = desk();
    await ask("read", 60);
    await ask("refresh", 60);
    await ask("journal", 20);
    const before = answers().length;
    await ask("health", 1);
    await ask("nonsense", 1);
    expect(answers().slice(before)).toMatchObject([{ status: "ok" }, { status: "error" }]);
    await finish("journal");
    expect(most.get("journal")).toBe(1);
  });

  it("makes no pile of answers either where the broker takes none", async () => {
    const { ask, broker, lines, answers } = desk();
    broker.holds = true;
    await ask("health", 10_000);
    await ask("read", 10_000);
    expect(broker.mostInFlight).toBeLessThanOrEqual(110);
    expect(lines.filter((line) => line.startsWith("warn"))).toHaveLength(1);
    broker.holds = false;
    for (let round = 0; round < 100; round++) await broker.release();
    await ask("health", 1);
    expect(answers().at(-1)).toMatchObject({ status: "ok" });
  });

  it("is told of in the log once a minute, with who asks and how many were refused", async () => {
    const { ask, clock, lines } = desk();
    await ask("read", 500);
    await clock.advance(61_000);
    await ask("read", 2);
    const [first, second, ...more] = lines.filter((line) => line.startsWith("warn"));
    expect(first).toMatch(/"client":"panel","refused":1/);
    expect(second).toMatch(/"refused":449,"unanswered":348/);
    expect(more).toEqual([]);
  });
});

describe("what locks, ends or forbids waits for no other request", () => {
  it.each(slowOnes)("neither for %s that nothing answers, as many as may wait", async (name) => {
    const { ask, answers, done } = desk();
    await ask(name, 100);
    const before = answers().length;
    for (const act of acts) await ask(act, 1);
    expect(done).toEqual(acts);
    expect(transactions(answers().slice(before), "ok")).toHaveLength(acts.length);
  });

  it("nor for a broker that acknowledges no answer, and is done also where no answer has room", async () => {
    const { ask, broker, requests, done } = desk();
    broker.holds = true;
    await ask("health", 500);
    for (let round = 0; round < 50; round++) await ask("lock", 1);
    const ofPage = requests.ask("unlock", bytes("{}"), signal);
    const others = requests.ask("health", bytes("{}"), signal);
    expect((await Promise.all([ofPage, others])).map((text) => JSON.parse(text ?? "") as Answer)).toEqual([
      { status: "ok", data: {} },
      { status: "ok", data: {} },
    ]);
    expect(done).toEqual([...Array<string>(50).fill("lock"), "unlock"]);
    expect(broker.mostInFlight).toBeLessThanOrEqual(110);
  });

  it("and is answered where the answers of others have no room left: some places are its alone", async () => {
    const { ask, broker } = desk();
    broker.holds = true;
    await ask("health", 500);
    const others = broker.mostInFlight;
    await ask("health", 1);
    expect(broker.mostInFlight).toBe(others);
    await ask("lock", 1);
    expect(broker.mostInFlight).toBe(others + 1);
  });

  it("as none of the others waits for one of another sort", async () => {
    const { ask, finish, answers } = desk();
    for (const name of slowOnes) await ask(name, 100);
    for (const name of slowOnes) {
      const before = answers().length;
      await finish(name);
      expect(transactions(answers().slice(before), "ok").length, name).toBeGreaterThan(0);
    }
  });
});

describe("an answer", () => {
  const gone = new PublishError("offline", "the link is gone");

  it("that met a dead link follows on the next one within a minute, marked as repeated, and none later", async () => {
    const { ask, broker, clock, requests, answers } = desk();
    broker.holds = true;
    await ask("lock", 1);
    await broker.release(gone);
    requests.onDisconnected();
    await clock.advance(59_000);
    broker.holds = false;
    requests.onConnected();
    await settled();
    expect(answers().slice(1)).toEqual([{ status: "ok", transaction: 0, data: {}, repeated: true }]);
    broker.holds = true;
    await ask("lock", 1);
    await broker.release(gone);
    await clock.advance(61_000);
    requests.onConnected();
    expect(answers()).toHaveLength(3);
  });

  it("leaves its room once it is out, dropped or too old, so that the next ones have it", async () => {
    const { ask, broker, clock, requests, answers } = desk();
    for (let round = 0; round < 5; round++) {
      broker.holds = true;
      await ask("health", 50);
      await ask("refresh", 100);
      await broker.release(round % 2 === 0 ? gone : null);
      broker.holds = false;
      await clock.advance(61_000);
      requests.onConnected();
      await settled();
    }
    const before = answers().length;
    await ask("health", 40);
    expect(transactions(answers().slice(before), "ok")).toHaveLength(40);
  });

  it("that is too large is told so, with its transaction", async () => {
    const { ask, broker, answers } = desk();
    const publish = broker.publish.bind(broker);
    broker.publish = (topic, payload) =>
      payload.includes('"ok"')
        ? Promise.reject(new PublishError("invalid", "not published: 300000 bytes"))
        : publish(topic, payload);
    await ask("health", 1);
    expect(answers()).toEqual([{ transaction: 0, ...failed("too large.*300000 bytes") }]);
  });
});

it.each(slowOnes)("%s that never ends is given up, and leaves its place to the next", async (name) => {
  const { ask, finish, clock, answers } = desk();
  await ask(name, 60);
  const before = transactions(answers(), "error").length;
  await clock.advance(1_800_000);
  const late = answers().filter(({ error }) => error?.includes("given up"));
  expect(late.length).toBeGreaterThan(0);
  expect(transactions(answers(), "error").length - before).toBeGreaterThanOrEqual(late.length);
  await clock.advance(5 * 1_800_000);
  await ask(name, 1);
  await finish(name);
  expect(transactions(answers(), "ok")).toEqual([0]);
});

describe("requests that still wait when the bridge stops", () =>
  it("are not begun any more", async () => {
    const { ask, finish, end, most, answers } = desk();
    await ask("read", 10);
    end.abort();
    await finish("read");
    expect(most.get("read")).toBe(2);
    expect(answers().filter(({ error }) => error?.includes("stopping"))).toHaveLength(8);
  }));

describe("a request that lets something move again", () => {
  const served = async (name: string, payload: object, ageMs: number, expiryS?: number) => {
    const clock = new VirtualClock();
    const handlers = new Map<string, RequestHandler>(
      ["lock", "unlock", "release", "read_only"].map((one) => [one, echo]),
    );
    const publisher = new RetainedBroker();
    const requests = new RequestServer({
      ...{ handlers, publisher, clock, signal, concurrency: 4, topics: topicsUnder("greenhouse") },
      maxAgeMs: () => 60_000,
      log: capturedLog().log,
    });
    const text = await requests.ask(name, bytes(JSON.stringify(payload)), signal, null, ageMs);
    const answers: string[] = [];
    const onBroker = new RequestServer({
      ...{ handlers, clock, signal, concurrency: 4, topics: topicsUnder("greenhouse") },
      publisher: { publish: (_, answer) => Promise.resolve(void answers.push(answer)) },
      maxAgeMs: () => 60_000,
      log: capturedLog().log,
    });
    onBroker.onMessage({
      topic: `greenhouse/bridge/request/${name}`,
      payload: Buffer.from(JSON.stringify(payload)),
      retain: false,
      ageMs,
      properties: expiryS === undefined ? {} : { messageExpiryIntervalS: expiryS },
    });
    await settled();
    const statusOf = (answer: string | null | undefined) =>
      (JSON.parse(answer ?? "{}") as { readonly status?: string }).status;
    return [statusOf(text), statusOf(answers[0])];
  };

  it.each<[string, object]>([
    ["unlock", {}],
    ["release", {}],
    ["lock", { locked: false }],
    ["read_only", { read_only: false }],
  ])("is not served once it may be older than a command may be: %s %j", async (name, payload) => {
    expect(await served(name, payload, 60_000)).toEqual(["error", "error"]);
    expect(await served(name, payload, 59_000)).toEqual(["ok", "ok"]);
    expect(await served(name, payload, 31_000, 30)).toEqual(["ok", "error"]);
  });

  it.each<[string, object]>([
    ["lock", {}],
    ["lock", { locked: true }],
    ["read_only", {}],
    ["read_only", { read_only: true }],
  ])("is another than one that locks or forbids, which is never too old: %s %j", async (name, payload) => {
    expect(await served(name, payload, 3_600_000)).toEqual(["ok", "ok"]);
  });
});
