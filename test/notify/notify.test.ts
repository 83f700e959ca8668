import { pino } from "pino";
import { tellIn } from "../../src/language/languages.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { secretValues } from "../../src/config/load.js";
import type { Happening } from "../../src/notify/happenings.js";
import type { Message } from "../../src/notify/message.js";
import type { ShownAlarm } from "../../src/notify/plan.js";
import { minuteIn, Notifier } from "../../src/notify/notify.js";
import type { AlarmFacts } from "../../src/greenhouse/limits.js";
import { inChinese } from "../support/chinese.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { clinging, mailServer, service, withNotify } from "./servers.js";

const alarm = (id: string, over: Partial<ShownAlarm> = {}): ShownAlarm => ({
  ...{
    id,
    type: "controller_offline",
    state: "active",
    since: "2026-03-01T07:59:00.000Z",
    severity: "warning",
  },
  ...{
    controller: "east",
    actuator: null,
    message: "The platform says that East is offline.",
    remedy: "Check it.",
    by: null,
  },
  ...over,
});

/** A part that tells people, with a time of its own; the services are real ones. */
async function notifier(ways: string, more = "") {
  const configuration = await withNotify(`{ ${more} ways: { ${ways} } }`);
  const clock = new VirtualClock();
  const here = {
    alarms: [] as readonly ShownAlarm[],
    kept: null as string | null,
    said: [] as (string | null)[],
    facts: [] as (AlarmFacts | undefined)[],
    isFull: false,
    isHung: false,
    warnings: [] as string[],
  };
  const write = (line: string) => void here.warnings.push(line);
  const tell = await tellIn(configuration.notify.language);
  const start = () => {
    const stop = new AbortController();
    const settings = {
      notify: configuration.notify,
      timeZone: configuration.platform.time_zone,
      secrets: secretValues(configuration),
    };
    const memory = {
      read: () => Promise.resolve(here.kept),
      write: (text: string) =>
        here.isHung
          ? new Promise<void>(() => undefined)
          : here.isFull
            ? Promise.reject(new Error("full"))
            : Promise.resolve(void (here.kept = text)),
    };
    const alarms: ConstructorParameters<typeof Notifier>[2] = {
      get list() {
        return here.alarms;
      },
      set: (_, __, message, facts) => {
        here.said.push(message);
        here.facts.push(facts);
      },
    };
    const nameOf = (controller: string, actuator: string | null) =>
      ["House", controller, actuator].filter(Boolean).join(" ");
    const core = { clock, log: pino({ level: "warn" }, { write }), file: () => memory };
    const part = new Notifier(settings, core, alarms, { tell, nameOf });
    const ended = part.run(stop.signal);
    onTestFinished(() => stop.abort());
    const end = async () => {
      stop.abort();
      await ended;
    };
    return { part, end };
  };
  // Loaded beforehand: that takes real time, of which the deadline of a try would know nothing.
  await Promise.all([import("undici"), import("../../src/notify/mail.js")]);
  /** Lets time pass until this many messages came, slowly, as answers need real time. */
  const until = async (got: readonly unknown[], count: number) => {
    const passed = async () => (await clock.advance(2_500), got.length);
    await expect.poll(passed, { interval: 20, timeout: 20_000 }).toBe(count);
    for (let round = 0; round < 4; round++) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      await clock.advance(1_250);
    }
  };
  return { here, clock, start, until };
}

describe("people", () => {
  it("are told each by his own way, in their words and with the names of their house", async () => {
    const [ntfy, wecom] = [await service(), await service()];
    const { here, start, until } = await notifier(
      `phone: { ntfy: { url: ${ntfy.url}, topic: house } }, boss: { severity: error, wecom: { url: ${wecom.url}, key: abc } }`,
      "name: North, language: zh,",
    );
    start();
    here.alarms = [alarm("controller_offline.east")];
    await until(ntfy.got, 1);
    expect(ntfy.got[0]?.body).toMatchObject({
      title: "North：House east：控制器离线",
      message: "平台显示该控制器离线。请检查控制器的电源和网络。\n自 2026-03-01 15:59 起。",
    });
    here.alarms = [
      alarm("guard_unmet.east.roof", { type: "guard_unmet", actuator: "roof", severity: "error" }),
    ];
    await until(wecom.got, 1);
    expect(JSON.stringify(wecom.got[0]?.body)).toContain("House east roof：限制动作未完成");
  });

  it("are told in English what is wrong and what to do, and that it is over", async () => {
    const { url, got } = await service([200, ""]);
    const { here, start, until } = await notifier(`shop: { webhook: { url: ${url} } }`);
    start();
    here.alarms = [alarm("controller_offline.east")];
    await until(got, 1);
    here.alarms = [alarm("controller_offline.east", { state: "cleared" })];
    await until(got, 2);
    expect(got.map(({ body }) => body)).toMatchObject([
      {
        kind: "alarm",
        title: "House east: Controller offline",
        text: "The platform says that East is offline. Check it.\nSince 2026-03-01 15:59.",
        alarms: [{ id: "controller_offline.east", severity: "warning" }],
      },
      {
        kind: "cleared",
        severity: "info",
        title: "Over: House east: Controller offline",
        over: ["controller_offline.east"],
      },
    ]);
  });

  it("are not told again after a restart, but what they could not be told before it", async () => {
    const { url, got } = await service([200, ""]);
    const { here, clock, start, until } = await notifier(`shop: { webhook: { url: ${url} } }`);
    const first = start();
    here.alarms = [alarm("controller_offline.east")];
    await until(got, 1);
    await first.end();
    here.alarms = [
      alarm("controller_offline.east"),
      alarm("controller_offline.west", { controller: "west" }),
    ];
    start();
    await until(got, 2);
    await clock.advance(60_000);
    expect(got.map(({ body }) => (body as { title: string }).title)).toEqual([
      "House east: Controller offline",
      "House west: Controller offline",
    ]);
  });

  it("are told all alarms where the memory of what was told is damaged", async () => {
    const { url, got } = await service([200, ""]);
    const { here, start, until } = await notifier(`shop: { webhook: { url: ${url} } }`);
    here.kept = "{ no JSON";
    here.alarms = [alarm("controller_offline.east")];
    start();
    await until(got, 1);
  });
});

describe("ways that are changed while the bridge runs", () => {
  const settingsBy = async (ways: string, more = "") => {
    const { notify, platform, ...rest } = await withNotify(`{ ${more} ways: { ${ways} } }`);
    return { notify, timeZone: platform.time_zone, secrets: secretValues({ notify, platform, ...rest }) };
  };
  const said = { tell: String, nameOf: (controller: string) => controller };
  const east = alarm("controller_offline.east");

  it("do not tell again what was told, and tell by a new way all that is on", async () => {
    const [first, second] = [await service([200, ""]), await service([200, ""])];
    const { here, clock, start, until } = await notifier(`shop: { webhook: { url: ${first.url} } }`);
    const { part } = start();
    here.alarms = [east];
    await until(first.got, 1);
    part.reload(
      await settingsBy(
        `shop: { cleared: false, webhook: { url: ${first.url} } }, boss: { webhook: { url: ${second.url} } }`,
      ),
      said,
    );
    await until(second.got, 1);
    await clock.advance(600_000);
    expect(first.got).toHaveLength(1);
  });

  it("send what is owed by the corrected one at once, and the alarm of the wrong one ends", async () => {
    const { url, got } = await service([200, ""]);
    const { here, clock, start, until } = await notifier("shop: { webhook: { url: http://127.0.0.1:1/ } }");
    const { part } = start();
    here.alarms = [east];
    const failed = async () => (await clock.advance(5_000), here.said.some((one) => one !== null));
    await expect.poll(failed, { interval: 20, timeout: 20_000 }).toBe(true);
    part.reload(await settingsBy(`shop: { webhook: { url: ${url} } }`), said);
    await until(got, 1);
    expect(here.said.at(-1)).toBeNull();
  });

  it("say nothing of what they do not ask for any more", async () => {
    const { url, got } = await service([200, ""]);
    const way = (more: string) => `shop: { ${more} webhook: { url: ${url} } }`;
    const { clock, start } = await notifier(way("events: [guards],"));
    const { part } = start();
    part.happened({
      ...{ at: clock.now(), controller: "east", actuator: "roof", kind: "skylight" },
      ...{ of: "guards", rule: "wind", command: "close", measure: { name: "wind", value: 14, unit: "m/s" } },
    });
    part.reload(await settingsBy(way("")), said);
    await clock.advance(120_000);
    expect(got).toEqual([]);
  });

  it("that are gone say nothing more, and leave no alarm behind", async () => {
    const { here, clock, start } = await notifier("shop: { webhook: { url: http://127.0.0.1:1/ } }");
    const { part } = start();
    here.alarms = [east];
    const failed = async () => (await clock.advance(5_000), here.said.some((one) => one !== null));
    await expect.poll(failed, { interval: 20, timeout: 20_000 }).toBe(true);
    part.reload(await settingsBy(""), said);
    await clock.advance(10_000);
    expect(here.said.at(-1)).toBeNull();
  });
});

interface Night {
  readonly here: { alarms: readonly ShownAlarm[] };
  readonly part: Notifier;
  readonly clock: VirtualClock;
}
const spoken: Message = {
  ...{ kind: "happened", severity: "info", title: "t", text: "t" },
  ...{ alarms: [], over: [], missed: [], at: "2026-03-01T08:00:00.000Z" },
};

describe("after an outage of a way", () => {
  const east = alarm("controller_offline.east");
  const line = (text: string) => expect.stringContaining(text) as string;

  it("people hear in one line what came and went meanwhile, and from when to when nobody was told", async () => {
    const { url, got } = await outOfOrder();
    const { here, clock, start, until } = await notifier(`shop: { webhook: { url: ${url} } }`);
    start();
    here.alarms = [east];
    await until(got, 1);
    here.alarms = [alarm("controller_offline.west", { controller: "west" })];
    await clock.advance(600_000);
    await expect.poll(() => got.length).toBeGreaterThan(2);
    here.alarms = [];
    await clock.advance(60_000);
    const before = got.length;
    got.works = true;
    await expect
      .poll(async () => (await clock.advance(30_000), got.length), { interval: 5 })
      .toBe(before + 1);
    await clock.advance(3_600_000);
    expect(got).toHaveLength(before + 1);
    expect(got[before]?.body).toMatchObject({
      kind: "missed",
      title: "Missed: 2 alarms",
      text: expect.stringMatching(
        /^From 2026-03-01 16:00 to 2026-03-01 16:\d\d no message got out this way\. Came and went meanwhile: House east: Controller offline \(2026-03-01 15:59 – 2026-03-01 16:0\d\); House west: [^;]*\.$/,
      ) as string,
      missed: [{ id: "controller_offline.east" }, { id: "controller_offline.west" }],
    });
  });

  it("they hear also what came and went during the first message that did not get out", async () => {
    const { url, got } = await outOfOrder();
    const { here, clock, start, until } = await notifier(`shop: { webhook: { url: ${url} } }`);
    const west = (state: "active" | "cleared") =>
      alarm("controller_offline.west", {
        controller: "west",
        state,
        since: new Date(clock.now()).toISOString(),
      });
    const { part } = start();
    part.say(spoken, undefined);
    Object.defineProperty(here, "alarms", {
      get: () => (got.length > 0 && !got.works ? [west("cleared")] : []),
    });
    await until(got, 1);
    got.works = true;
    await until(got, 3);
    expect(got[1]?.body).toMatchObject({ kind: "missed", title: "Missed: House west: Controller offline" });
  });

  it("they hear it also where the bridge was started anew meanwhile", async () => {
    const { url, got } = await outOfOrder();
    const { here, start, until } = await notifier(`shop: { webhook: { url: ${url} } }`);
    const first = start();
    here.alarms = [east];
    await until(got, 1);
    await expect.poll(() => here.kept).toContain("outage");
    await first.end();
    here.alarms = [];
    got.works = true;
    start();
    await until(got, 2);
    expect(got[1]?.body).toMatchObject({ title: "Missed: House east: Controller offline" });
  });

  it("they hear of what is still on with what came and went", async () => {
    const { url, got } = await outOfOrder();
    const { here, clock, start, until } = await notifier(
      `shop: { webhook: { url: ${url} } }`,
      "language: zh,",
    );
    start();
    here.alarms = [east];
    await until(got, 1);
    here.alarms = [alarm("controller_offline.west", { controller: "west" })];
    await clock.advance(10_000);
    got.works = true;
    await until(got, 2);
    expect(got[1]?.body).toMatchObject({
      kind: "alarm",
      title: "House west：控制器离线",
      text: line("期间消息未能经此方式送出，其间发生并已解除：House east：控制器离线"),
    });
  });

  it.each<[string, string, (scene: Night) => void, string]>([
    [
      "an alarm that is severe enough for the night went first",
      "quiet_hours: { from: '22:00', to: '06:00', severity: error },",
      ({ here }) => (here.alarms = [alarm("guard_unmet.east", { type: "guard_unmet", severity: "error" })]),
      "alarm",
    ],
    [
      "the daily message went first",
      "quiet_hours: { from: '22:00', to: '06:00', severity: error },",
      ({ part }) => part.say({ ...spoken, kind: "daily" }, undefined),
      "daily",
    ],
    [
      "a fresh alarm waited for others while a message went first",
      "",
      ({ here, part, clock }) => {
        const fresh = () => [alarm("readings_overdue.west", { since: new Date(clock.now()).toISOString() })];
        Object.defineProperty(here, "alarms", { get: fresh, configurable: true });
        part.say(spoken, undefined);
      },
      "happened",
    ],
  ])("they hear it also where %s", async (_, quiet, goesFirst, kind) => {
    const { url, got } = await outOfOrder();
    const { here, clock, start, until } = await notifier(
      `shop: { cleared: false, ${quiet} webhook: { url: ${url} } }`,
    );
    const { part } = start();
    here.alarms = [east];
    await until(got, 1);
    here.alarms = [];
    // From 16:00 on; at 23:00 it works again.
    await clock.advance(60_000);
    const sleep = () => quiet !== "" && clock.setWall(clock.now() + 7 * 3_600_000);
    sleep();
    const before = got.length;
    got.works = true;
    goesFirst({ here, part, clock });
    await until(got, before + 1);
    expect(got[before]?.body).toMatchObject({ kind, missed: [] });
    Object.defineProperty(here, "alarms", { value: [] });
    sleep();
    await until(got, before + 2);
    expect(got[before + 1]?.body).toMatchObject({
      text: line("House east: Controller offline (2026-03-01 15:59 – 2026-03-01 16:0"),
    });
    expect((got[before + 1]?.body as { text: string }).text).toMatch(
      quiet === "" ? /From 2026-03-01 16:00 to 2026-03-01 16:0/ : /From 2026-03-01 16:00 to 2026-03-01 23:0/,
    );
  });

  async function outOfOrder() {
    const one = await service();
    const got = Object.assign(one.got, { works: false });
    one.answerOf = () => (got.works ? [200, ""] : [503, ""]);
    return { url: one.url, got };
  }
});

describe("a mail of which some readers cannot be reached", () => {
  it("is an alarm that names them, goes to them alone once it can, and holds up nothing for the others", async () => {
    const ben = "RCPT TO:<ben@example.com>";
    const refuse: Record<string, string> = { [ben]: "550 no such user" };
    const { port, mails, said } = await mailServer({ refuse });
    const { here, clock, start, until } = await notifier(
      `office: { smtp: { host: 127.0.0.1, port: ${port}, encryption: none, from: a@example.com, to: [anna@example.com, ben@example.com] } }`,
    );
    const first = start();
    here.alarms = [alarm("controller_offline.east")];
    await until(mails, 1);
    expect(here.said.at(-1)).toMatch(
      /^office \(mail\): .*ben@example.com \(.*550 no such user\); the others have it\.$/,
    );
    here.alarms = [...here.alarms, alarm("controller_offline.west", { controller: "west" })];
    await until(mails, 2);
    await expect.poll(() => here.kept).toContain("owed");
    await first.end();
    start();
    Reflect.deleteProperty(refuse, ben);
    said.length = 0;
    await until(mails, 4);
    expect(said.filter((one) => one.startsWith("RCPT"))).toEqual([ben, ben]);
    expect(mails[2]).toContain("House east");
    expect(mails[3]).toContain("House west");
    await clock.advance(3_600_000);
    expect(mails).toHaveLength(4);
    await expect.poll(() => here.kept).not.toContain("owed");
  });

  it.each([
    ["while it waits", false],
    ["before a restart", true],
  ])(
    "goes no more to one that was taken out of the way %s, and the trouble with him ends",
    async (_, restarts) => {
      const ben = "RCPT TO:<ben@example.com>";
      const refuse: Record<string, string> = { [ben]: "450 mailbox is busy" };
      const { port, mails, said } = await mailServer({ refuse });
      const wayTo = (to: string) =>
        `office: { smtp: { host: 127.0.0.1, port: ${port}, encryption: none, from: a@example.com, to: [${to}] } }`;
      const scene = await notifier(wayTo("anna@Example.com, Ben <ben@example.com>"));
      const { here, clock, start, until } = scene;
      const { part, end } = start();
      here.alarms = [alarm("controller_offline.east")];
      await until(mails, 1);
      await expect.poll(() => here.kept).toContain("owed");
      Reflect.deleteProperty(refuse, ben);
      said.length = 0;
      const { notify } = await withNotify(`{ ways: { ${wayTo("Anna <anna@example.com>")} } }`);
      const settings = { notify, timeZone: "Asia/Shanghai", secrets: [] };
      if (restarts) await end();
      const now = restarts ? start().part : part;
      now.reload(settings, { tell: String, nameOf: (controller) => controller });
      await clock.advance(3_600_000);
      await expect.poll(() => here.kept).not.toMatch(/owed|trouble/);
      expect(said).toEqual([]);
    },
  );
});

const wind = { name: "wind", value: 14, unit: "m/s" };

describe("what waits for a way", () => {
  const windy = (clock: VirtualClock): Happening => ({
    ...{ at: clock.now(), controller: "east", actuator: "roof", kind: "skylight" },
    ...{ of: "guards", rule: "wind", command: "close", measure: wind },
  });

  it.each<[string, string, (scene: Night) => unknown, number, string]>([
    [
      "a message of a day",
      "",
      ({ part }) => part.sayOnce({ ...spoken, kind: "daily" }, undefined, "d"),
      0,
      "t",
    ],
    [
      "what a guard did in quiet hours",
      "quiet_hours: { from: '12:00', to: '18:00', severity: error },",
      ({ part, clock }) => part.happened(windy(clock)),
      2 * 3_600_000,
      "Wind 14 m/s: House east roof closed",
    ],
  ])("is told by the next run: %s", async (_, quiet, wait, later, title) => {
    const { url, got } = await service([503, ""]);
    const scene = await notifier(`shop: { events: [guards], ${quiet} webhook: { url: ${url} } }`);
    const { here, clock, start, until } = scene;
    const first = start();
    await clock.advance(1_000);
    wait({ here, part: first.part, clock });
    await clock.advance(60_000);
    await first.end();
    const before = got.length;
    start();
    clock.setWall(clock.now() + later);
    await until(got, before + 1);
    expect(got[before]?.body).toMatchObject({ title });
  });

  it("of a day is told once by each way, and not before the disk has it", async () => {
    const { url, got } = await service([200, ""]);
    const { here, clock, start, until } = await notifier(`shop: { webhook: { url: ${url} } }`);
    const first = start();
    await clock.advance(1_000);
    here.isFull = true;
    const daily: Message = { ...spoken, kind: "daily" };
    expect(await first.part.sayOnce(daily, undefined, "2026-03-01")).toBe(false);
    await clock.advance(60_000);
    expect(await first.part.sayOnce(daily, undefined, "2026-03-01")).toBe(false);
    expect(got).toEqual([]);
    expect(here.warnings).toEqual([expect.stringContaining("the message of the day waits")]);
    here.isFull = false;
    await until(got, 1);
    expect(await first.part.sayOnce(daily, undefined, "2026-03-01")).toBe(true);
    await first.end();
    const { part } = start();
    await clock.advance(1_000);
    expect(await part.sayOnce(daily, undefined, "2026-03-01")).toBe(true);
    await clock.advance(60_000);
    expect(got).toHaveLength(1);
    expect(await part.sayOnce(daily, undefined, "2026-03-02")).toBe(true);
    await until(got, 2);
  });
});

it("a message of a day waits for a disk that hangs, and what asks for it does not", async () => {
  const { url, got } = await service([200, ""]);
  const { here, clock, start } = await notifier(`shop: { webhook: { url: ${url} } }`);
  const { part } = start();
  await clock.advance(1_000);
  here.isHung = true;
  const kept = part.sayOnce({ ...spoken, kind: "daily" }, undefined, "2026-03-01");
  await clock.advance(10_000);
  expect(await Promise.race([kept, Promise.resolve("waits")])).toBe(false);
  expect(got).toEqual([]);
  expect(here.warnings).toEqual([expect.stringContaining("the message of the day waits")]);
});

describe("a way that does not work", () => {
  it("is an alarm that names it and no secret, is tried again, and is over with the first message", async () => {
    const other = await service();
    const broken = await service([403, { error: "key house-of-cards is forbidden" }]);
    const { here, start, until } = await notifier(
      `phone: { ntfy: { url: ${broken.url}, topic: house-of-cards } }, boss: { ntfy: { url: ${other.url}, topic: b } }`,
    );
    start();
    here.alarms = [alarm("controller_offline.east")];
    await until(broken.got, 1);
    expect(here.said).toContain(
      "phone (ntfy): it refuses the message (HTTP 403: key [hidden] is forbidden).",
    );
    const problem = inChinese(here.facts.at(-1)?.ways?.[0]?.problem ?? "");
    expect(here.facts.at(-1)?.ways).toMatchObject([{ name: "phone", service: "ntfy" }]);
    expect(problem).toBe("它拒绝消息（HTTP 403: key [hidden] is forbidden）");
    // The other way tells of it, and this one is not told of itself.
    here.alarms = [...here.alarms, alarm("notify_failed", { type: "notify_failed", controller: null })];
    await until(other.got, 2);
    broken.answer = [200, { id: "x" }];
    await until(broken.got, 2);
    expect(here.said.at(-1)).toBeNull();
    expect(broken.got[1]?.body).toMatchObject({ title: "House east: Controller offline" });
  });

  describe("over a start", () => {
    const failed = alarm("notify_failed", {
      type: "notify_failed",
      controller: null,
      facts: { carried: true },
    });
    /** It has refused a message, and the bridge has ended. */
    async function refused() {
      const one = await service([403, ""]);
      const scene = await notifier(`phone: { webhook: { url: ${one.url} } }`);
      const first = scene.start();
      scene.here.alarms = [alarm("controller_offline.east")];
      await scene.until(one.got, 1);
      await first.end();
      scene.here.said.length = 0;
      return { ...scene, one };
    }

    it("is an alarm still, until a message gets out", async () => {
      const { here, start, clock, one, until } = await refused();
      here.alarms = [failed];
      start();
      await clock.advance(1_000);
      one.answer = [200, ""];
      await clock.advance(4_000);
      expect(here.said).toEqual(["phone (webhook): it refuses the message (HTTP 403)."]);
      expect(inChinese(here.facts[0]?.ways?.[0]?.problem ?? "")).toBe("它拒绝消息（HTTP 403）");
      await until(one.got, 2);
      expect(here.said.at(-1)).toBeNull();
    });

    it.each([
      ["it is configured no more", "other", ""],
      ["its settings are others", "phone", "/corrected"],
    ])("is no alarm any more once %s", async (_, name, path) => {
      const before = await refused();
      const { here, start, clock } = await notifier(
        `${name}: { webhook: { url: ${new URL(path, before.one.url).href} } }`,
      );
      Object.assign(here, { kept: before.here.kept, alarms: [failed] });
      start();
      await clock.advance(5_000);
      expect(here.said).toEqual([null]);
    });
  });

  it("for a peer that never lets go is an alarm with its second try, and tells what is on once it is well", async () => {
    const peer = await clinging("220-slow");
    const { here, clock, start } = await notifier(
      `office: { smtp: { host: 127.0.0.1, port: ${peer.port}, encryption: none, from: a@example.com, to: [anna@example.com] } }`,
    );
    const { end } = start();
    here.alarms = [alarm("controller_offline.east")];
    for (let tries = 1; tries < 3; tries++) {
      await expect.poll(async () => (await clock.advance(5_000), peer.accepted), { interval: 5 }).toBe(tries);
      await clock.advance(20_000);
    }
    expect(here.said.at(-1)).toMatch(/^office \(mail\): it was not reached \(no answer within 20 s\)\.$/);
    await end();
  });

  it("is tried again in time however the wall clock is set meanwhile", async () => {
    const { url, got } = await service([503, ""]);
    const { here, clock, start, until } = await notifier(`shop: { webhook: { url: ${url} } }`);
    start();
    here.alarms = [alarm("controller_offline.east")];
    await until(got, 1);
    clock.setWall(clock.now() - 50 * 60_000);
    await clock.advance(40_000);
    await expect.poll(() => got.length).toBe(2);
  });

  it("holds up neither another one nor the end of the bridge", async () => {
    const [dead, other] = [await service(null), await service()];
    const { here, start, until } = await notifier(
      `phone: { ntfy: { url: ${dead.url}, topic: a } }, boss: { ntfy: { url: ${other.url}, topic: b } }`,
    );
    const { end } = start();
    here.alarms = [alarm("controller_offline.east")];
    await until(other.got, 1);
    await end();
  });

  it("is shown by a test, which counts as if it had been an alarm", async () => {
    const [bad, good] = [await service([401, ""]), await service()];
    const { here, clock, start } = await notifier(
      `phone: { ntfy: { url: ${bad.url}, topic: a } }, boss: { ntfy: { url: ${good.url}, topic: b } }`,
    );
    const { part } = start();
    const never = new AbortController().signal;
    expect(await part.test(never)).toEqual({
      phone: { ok: false, service: "ntfy", problem: "it refuses the message (HTTP 401)" },
      boss: { ok: true, service: "ntfy", problem: null },
    });
    expect(here.said).toEqual(["phone (ntfy): it refuses the message (HTTP 401)."]);
    await expect(part.test(never)).rejects.toThrow("10 seconds");
    bad.answer = [200, { id: "x" }];
    await clock.advance(10_000);
    await part.test(never);
    expect(here.said.at(-1)).toBeNull();
  });
});

it.each([
  ["Asia/Shanghai", "2026-03-01T14:05:00Z", 22 * 60 + 5],
  ["UTC", "2026-03-01T00:00:00Z", 0],
  ["Europe/Paris", "2026-07-01T21:59:59Z", 23 * 60 + 59],
])("the minute of the day in %s at %s is %i", (zone, at, minute) =>
  expect(minuteIn(zone, Date.parse(at))).toBe(minute),
);

it("a way is told what it asks for beside alarms, together, after half a minute, and again where that failed", async () => {
  const [asks, asksNot] = [await service([500, ""]), await service()];
  const { clock, start, until } = await notifier(
    `phone: { events: [guards], ntfy: { url: ${asks.url}, topic: a } }, boss: { ntfy: { url: ${asksNot.url}, topic: a } }`,
  );
  const { part } = start();
  const about = { at: clock.now(), controller: "east", actuator: "roof", kind: "skylight" as const };
  part.happened({ ...about, of: "guards", rule: "wind", command: "close", measure: wind });
  part.happened({
    ...about,
    actuator: "side",
    of: "guards",
    rule: "wind",
    command: "close",
    measure: wind,
  });
  part.happened({ ...about, of: "people", what: "locked", by: "anna", reason: null });
  await clock.advance(25_000);
  expect(asks.got).toEqual([]);
  await until(asks.got, 1);
  asks.answer = [200, { id: "x" }];
  await until(asks.got, 2);
  expect(asks.got[1]?.body).toMatchObject({
    title: "Wind 14 m/s: House east: 2 windows closed",
    priority: 2,
  });
  expect(asksNot.got).toEqual([]);
});
