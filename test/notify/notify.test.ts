import { describe, expect, it, onTestFinished } from "vitest";
import { notifierSettings } from "../../src/config/load.js";
import type { ShownAlarm } from "../../src/notify/plan.js";
import { minuteIn, Notifier } from "../../src/notify/notify.js";
import { silentLog } from "../../src/runtime/log.js";
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
  };
  const start = () => {
    const stop = new AbortController();
    const part = new Notifier({
      ...{ settings: notifierSettings(configuration), clock, log: silentLog },
      alarms: () => here.alarms,
      nameOf: (controller, actuator) => ["House", controller, actuator].filter(Boolean).join(" "),
      alarm: (message) => void here.said.push(message),
      memory: {
        read: () => Promise.resolve(here.kept),
        write: (text) => Promise.resolve(void (here.kept = text)),
      },
    });
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
      title: "North: House east: 控制器离线",
      message: "平台显示该控制器离线。请检查控制器的电源和网络。\n自 2026-03-01 15:59 起。",
    });
    here.alarms = [
      alarm("guard_unmet.east.roof", { type: "guard_unmet", actuator: "roof", severity: "error" }),
    ];
    await until(wecom.got, 1);
    expect(JSON.stringify(wecom.got[0]?.body)).toContain("House east roof: 限制动作未完成");
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
      title: "House west: 控制器离线",
      text: line("期间消息未能经此方式送出，其间发生并已解除：House east: 控制器离线"),
    });
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
    // The other way tells of it, and this one is not told of itself.
    here.alarms = [...here.alarms, alarm("notify_failed", { type: "notify_failed", controller: null })];
    await until(other.got, 2);
    broken.answer = [200, { id: "x" }];
    await until(broken.got, 2);
    expect(here.said.at(-1)).toBeNull();
    expect(broken.got[1]?.body).toMatchObject({ title: "House east: Controller offline" });
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
  part.happened({ ...about, of: "guards", rule: "wind", command: "close", measure: "wind 14 m/s" });
  part.happened({
    ...about,
    actuator: "side",
    of: "guards",
    rule: "wind",
    command: "close",
    measure: "wind 14 m/s",
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
