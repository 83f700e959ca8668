import { meaningChecks } from "../../../src/setup/doctor/meaning-checks.js";
import type { PeerCertificate } from "node:tls";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import en from "../../../locales/en.json" with { type: "json" };
import { zoneOffset } from "../../../src/runtime/zone.js";
import type { Query } from "../../../src/greenhouse/ports.js";
import { systemClock } from "../../../src/runtime/clock.js";
import { addressChecks } from "../../../src/setup/doctor/address-checks.js";
import { loaded, platform } from "../../config/loading.js";
import { allFeatures } from "../../../src/config/schema.js";
import { brokerChecks } from "../../../src/setup/doctor/broker-checks.js";
import { examine } from "../../../src/setup/doctor/doctor.js";
import { type Finding, ok } from "../../../src/setup/doctor/finding.js";
import {
  clockCheck,
  clockVerdict,
  networkChecks,
  otherNamesCheck,
  secureVerdict,
  troublesOf,
} from "../../../src/setup/doctor/network-checks.js";
import {
  dataChecks,
  notOpened,
  platformChecks,
  pushChecks,
  unreadVerdict,
  unwritable,
} from "../../../src/setup/doctor/platform-checks.js";
import { unreadVerdict as unreadUsers } from "../../../src/http/doctor.js";
import { type Check, defaultLimits, type DoctorContext } from "../../../src/setup/doctor/context.js";
import { shapeChecks } from "../../../src/setup/doctor/shape-checks.js";
import { readingsIn, suggestedShape } from "../../../src/setup/doctor/shape-suggestion.js";
import { zoneCheck, zoneVerdict } from "../../../src/setup/doctor/zone-check.js";
import { StatusLine } from "../../../src/setup/status-line.js";
import { platformError } from "../../support/scripted-platform.js";

const scene = { ports: { clock: systemClock }, limits: defaultLimits } as unknown as DoctorContext;

async function findingsOf(checks: readonly Check[], stop: AbortSignal): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for await (const finding of examine(checks, scene, stop, () => undefined)) findings.push(finding);
  return findings;
}

describe("a channel that does not open", () =>
  it.each([
    [
      "HTTP 404: no such channel; platform.push.enabled: false stops asking",
      /^platform\.push\.enabled: false stops asking$/,
    ],
    ["HTTP 401; check the token", /^check the token, or set platform\.push\.enabled to false/],
    ["HTTP 500", /^check proxies and firewalls on the way, or set platform\.push\.enabled to false/],
  ])("%s: the remedy tells of the setting once", (why, remedy) =>
    expect(String(notOpened(why).remedy)).toMatch(remedy),
  ));

describe("a channel of which a frame cannot be read", () =>
  it.each([
    ["in a shape of its own", {}, /^say in platform\.shapes\.ws\/set-value where things are/],
    ["that no setting makes readable", { isLeftOut: true } as const, /^nothing has to be set: polling reads/],
  ])("%s has the remedy that helps", (_, how, remedy) =>
    expect(String(unreadVerdict("ws/set-value", { problem: "broken", ...how }).remedy)).toMatch(remedy),
  ));

describe("what another user may not read or write", () =>
  it.each([
    ["a folder of data", unwritable("/data", "EACCES").remedy],
    ["the users of the page", unreadUsers("EACCES").summary],
  ])("%s: it may be well, so first this is to be run as the bridge's user", (_, said) =>
    expect(String(said)).toContain("run this as the user that runs the bridge, with sudo -u"),
  ));

/** What a check of `shapes` says of what the platform answers. */
async function shapeFinding(id: string, get: (query: Query) => unknown): Promise<string> {
  const check = shapeChecks.find((one) => one.id === id);
  const context = {
    ...scene,
    configuration: {
      platform: { shapes: {}, time_zone: "UTC" },
      controllers: { "CAM-1": { stream: true }, "CAM-2": { stream: true } },
    },
    evidence: { controllers: [{ code: "GH-1", online: true }], devices: [] },
    answers: new Map(),
    platform: { get: (_: string, query: Query) => Promise.resolve(query).then(get) },
  } as unknown as DoctorContext;
  const found = await check?.run(context, new AbortController().signal);
  return `${found?.status ?? ""}: ${String(found?.summary)}; ${String(found?.remedy ?? "")}`;
}

describe("what the doctor asks, and where it sends people", () => {
  it("videos are asked a device each where a refusal names the device code, as the bridge does", async () => {
    const found = await shapeFinding("shapes.video-data/list", ({ deviceCode: code }) => {
      if (code === undefined)
        throw platformError({ kind: "rejected", platformMessage: "parameter 'deviceCode' is not present" });
      return { data: [{ code, hlsUrl: `https://a.example/${code}.flv` }] };
    });
    expect(found).toBe("ok: understood: 2 videos; ");
  });

  it.each([
    [
      "warns of it where the others are understood",
      { code: "CAM-2" },
      /^warning: the platform did not do it;/,
    ],
    ["says what is wrong with the others", {}, /^warning: not understood/],
  ])("a video that is refused alone does not hide the others: it %s", async (_, item, expected) => {
    const found = await shapeFinding("shapes.video-data/list", ({ deviceCode: code }) => {
      if (code === undefined)
        throw platformError({ kind: "rejected", platformMessage: "parameter 'deviceCode' is not present" });
      if (code === "CAM-1") throw platformError({ kind: "rejected", platformMessage: "no such camera" });
      return { data: [{ ...item, hlsUrl: "https://a.example/1.flv" }] };
    });
    expect(found).toMatch(expected);
  });

  it("units under a name that nobody knows are named where the readings themselves are understood", async () => {
    const items = [
      { sensorName: "空气温度", realValue: 21.4, measureUnit: "℃" },
      { sensorName: "光照强度", realValue: 20.5, measureUnit: "klx" },
    ];
    const found = await shapeFinding("shapes.sensor-data", () => ({ code: 200, data: items }));
    expect(found).toMatch(
      /^warning: understood: 2 readings, none with a unit; add .*\{ unit: measureUnit \}/,
    );
    const plain = items.map(({ measureUnit: unit, ...one }) => ({ ...one, unit }));
    expect(await shapeFinding("shapes.sensor-data", () => ({ code: 200, data: plain }))).toMatch(/^ok/);
  });

  it.each([
    ["size", { size: 1, current: 1 }],
    ["per_page", { per_page: 1 }],
    ["pageSize", {}],
  ])("a page is asked for by the name that it says itself: %s", async (name, page) => {
    const records = [{ code: "GH-1", name: "One", deviceTypeId: "C001" }];
    const data = { records, total: 9, ...page };
    const found = await shapeFinding("shapes.device", () => ({ code: 200, data }));
    expect(found).toContain(`{ device: { params: { ${name}: "500" } } }`);
  });

  it("readings that differ by their place alone are the twins' line, and no matter of shapes", async () => {
    const twin = { name: "空气温度", value: 20, unit: "℃" };
    const found = await shapeFinding("shapes.sensor-data", () => ({ data: [twin, { ...twin, value: 21 }] }));
    expect(found).toMatch(/^ok: understood/);
  });
});

const skipped = { status: "skipped", summary: "not tried: stopped" };

describe("an examination that is stopped", () =>
  it.each<[string, (stop: AbortController, signal: AbortSignal) => ReturnType<Check["run"]>, object]>([
    [
      "takes the check it breaks off for not tried",
      (stop, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("aborted")));
          stop.abort();
        }),
      skipped,
    ],
    [
      "does not wait for a check that does not listen",
      (stop) => {
        stop.abort();
        return new Promise(() => undefined);
      },
      skipped,
    ],
    [
      "keeps what was found before",
      (stop) => {
        stop.abort();
        return Promise.resolve(ok("fine"));
      },
      ok("fine"),
    ],
  ])("%s, and the next was not tried", async (_, run, found) => {
    const stop = new AbortController();
    const first: Check = { id: "first", needs: [], run: (_, signal) => run(stop, signal) };
    const next: Check = { id: "next", needs: [], run: () => Promise.resolve(ok("fine")) };
    expect(await findingsOf([first, next], stop.signal)).toEqual([
      { check: "first", ...found },
      { check: "next", ...skipped },
    ]);
  }));

const minute = 60_000;
const hour = 60 * minute;
const now = Date.UTC(2026, 5, 1, 12);

describe("the clock", () =>
  it.each([
    [null, "skipped"],
    [0, "ok"],
    [29_000, "ok"],
    [-45_000, "warning"],
    [121_000, "failed"],
    [-9 * hour, "failed"],
  ] as const)("off by %s ms is %s", (skew, status) => expect(clockVerdict(skew).status).toBe(status)));

describe("the zone", () => {
  const judged = (ages: readonly number[], timeZone = "UTC", dependsOnZone = true) => {
    const found = zoneVerdict({ ages, dependsOnZone, timeZone, now, staleAfterMs: 15 * minute });
    return `${found.status}: ${String(found.summary)}; ${String(found.remedy ?? "")}`;
  };
  const old = /^warning: .* old, so all of them are `stale`; no time zone explains it/;
  const future = /^failed: .* in the future, so all of them are `uncertain`; no time zone explains it/;

  it.each([
    ["a minute old", [minute], /^ok: .*60 s old in UTC/],
    ["half an hour old", [30 * minute], /^warning: .*30 min old, more than polling\.stale_after/],
    ["a minute ahead", [-minute], /^ok: .* 0 s old in UTC/],
    ["one of three stands still", [minute, 2 * minute, 90 * hour], /^ok: .* 2 min old/],
    ["two days old", [50 * hour], old],
    ["three and a third hours old", [3 * hour + 20 * minute], old],
    ["20 minutes ahead", [-20 * minute], future],
  ] as const)("%s is judged as that", (_, ages, verdict) => expect(judged(ages)).toMatch(verdict));

  it("is never blamed for times that carry their own", () => {
    expect(judged([-8 * hour], "UTC", false)).toMatch(future);
    expect(judged([8 * hour], "Asia/Shanghai", false)).toMatch(old);
    expect(judged([minute], "UTC", false)).toContain("(their times carry a zone)");
  });

  it("found for any pair of zones is one in which the readings are minutes old", () => {
    const zones = "UTC Asia/Shanghai Asia/Kolkata America/New_York Australia/Adelaide Asia/Tokyo".split(" ");
    const zone = fc.constantFrom(...zones);
    fc.assert(
      fc.property(zone, zone, fc.integer({ min: 0, max: 10 }), (real, configured, minutes) => {
        const shift = zoneOffset(configured)(now) - zoneOffset(real)(now);
        const verdict = judged([minutes * minute + shift], configured);
        // Less than an hour old is plausible, whatever the reason.
        if (shift >= 0 && shift < hour) expect(verdict).toMatch(/^ok|more than polling\.stale_after/);
        else {
          const [, told = configured] = /set platform\.time_zone to (\S+)/.exec(verdict) ?? [];
          expect(zoneOffset(told)(now)).toBe(zoneOffset(real)(now));
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe("a certificate", () => {
  const day = 24 * hour;
  const good = {
    ...{ subject: { CN: "a.example" }, issuer: { CN: "authority" }, subjectaltname: "DNS:a.example" },
    valid_from: new Date(now - hour).toString(),
    valid_to: new Date(now + 400 * day).toString(),
  } as PeerCertificate;
  const wrong = (change: Partial<PeerCertificate>, host = "a.example") =>
    troublesOf({ ...good, ...change }, host, now, "platform.business_url").map(([what]) => what);

  it("that is not valid yet is described as that, and one that is wrong in three ways in all of them", () => {
    expect(wrong({ valid_from: new Date(now + hour).toString() })).toEqual([
      "the certificate is not valid before 2026-06-01",
    ]);
    const expired = { valid_to: new Date(now - day).toString(), issuer: good.subject };
    expect(wrong(expired, "b.example")).toHaveLength(3);
  });

  it.each([
    [3.5, "warning"],
    [14.5, "ok"],
  ])("that ends in %s days: %s", (days, status) => {
    const until = new Date(now + days * day).toString();
    expect(secureVerdict(until, "a.example:443", "TLSv1.3", now).status).toBe(status);
  });
});

describe("a suggested shape", () => {
  const word = fc.constantFrom(..."alpha beta gamma delta epsilon zeta eta theta iota kappa".split(" "));
  const fields = fc.uniqueArray(word, { minLength: 7, maxLength: 7 });
  const readings = fc.array(fc.double({ min: -20, max: 90, noNaN: true }), { minLength: 2, maxLength: 12 });

  it("reads names, codes, values and times of generated answers whose fields nobody could know, in any order", () =>
    fc.assert(
      fc.property(
        fields,
        readings,
        fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 }),
        ([outer, inner, name, code, value, unit, time] = [], numbers, order) => {
          const measured = numbers.map((number) => Math.round(number * 10) / 10 + 0.05);
          const items = measured.map((number, index) => {
            const columns: readonly (readonly [string, unknown])[] = [
              [String(code), `s_${String.fromCodePoint(0x61 + index)}`],
              [String(name), `传感器${String.fromCodePoint(0x4e00 + index)}`],
              [String(value), number],
              [String(unit), index % 2 === 0 ? "℃" : "%"],
              [String(time), "2026-06-01 20:00:00"],
            ];
            return Object.fromEntries<unknown>(order.flatMap((place) => columns.slice(place, place + 1)));
          });
          const body = { code: 200, [String(outer)]: { [String(inner)]: items } };
          const answer = { operation: "sensor-data", query: { deviceCode: "A-1" }, receivedAt: now, body };
          const shape = suggestedShape(answer, "sensor-data", "Asia/Shanghai");
          const read = readingsIn(answer, { "sensor-data": shape ?? {} }, "Asia/Shanghai");
          expect(read.map((item) => item.value)).toEqual(measured);
          expect(new Set(read.map((item) => item.measuredAt))).toEqual(new Set([now]));
          expect(new Set(read.map((item) => item.name.slice(0, 3)))).toEqual(new Set(["传感器"]));
          expect(new Set(read.map((item) => item.name)).size).toBe(items.length);
          expect(new Set(read.map((item) => item.factor)).size).toBe(items.length);
        },
      ),
      { seed: 5 },
    ));

  it.each<readonly [string, readonly (readonly [string, string])[]]>([
    [
      "codes first",
      [
        ["at", "空气温度"],
        ["ah", "空气湿度"],
        ["co2", "二氧化碳"],
      ],
    ],
    [
      "English names",
      [
        ["t_1", "Air temperature"],
        ["h_1", "Humidity"],
        ["c_1", "CO2"],
      ],
    ],
  ])("of readings with limits beside them takes no limit for anything: %s", (_, names) => {
    const items = names.map(([code, name], index) => ({
      ...{ tagName: code, tagDesc: name, tagValue: `${21.4 + index}`, tagUnit: "℃" },
      ...{ dateTime: "2026/06/01 20:00:00", upper: 90 + index, alarmState: 0 },
    }));
    const answer = {
      ...{ operation: "sensor-data", query: { deviceCode: "A-1" }, receivedAt: now },
      body: { code: 200, data: items },
    };
    const wanted = { name: "tagDesc", code: "tagName", value: "tagValue", unit: "tagUnit" };
    expect(suggestedShape(answer, "sensor-data", "Asia/Shanghai")).toEqual(wanted);
  });

  it("never takes from a list what is understood already", () => {
    const device = { code: "GH-1", name: "One", deviceTypeId: "C001" };
    const body = {
      code: 200,
      data: [device, "x", { code: "", online: true }, { code: "GH-1", name: "two" }],
    };
    const answer = { operation: "control/mqtt", query: {}, receivedAt: now, body };
    expect(suggestedShape(answer, "control/mqtt", "UTC")).toBeNull();
  });

  it("of anything at all is null or a shape, and no error", () =>
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        const answer = { operation: "sensor-data", query: { deviceCode: "A-1" }, receivedAt: now, body };
        expect(typeof suggestedShape(answer, "sensor-data", "UTC")).toBe("object");
      }),
    ));
});

it("each check of doctor has a title on the page, and none stands there that is no check", async () => {
  const { configuration: clustered } = await loaded(
    `${platform}mqtt: { url: "mqtt://broker" }\ncluster: { name: farm, nats: ["nats://a:4222"] }\n`,
  );
  const checks = [
    ...[...networkChecks("business"), ...networkChecks("realtime"), ...platformChecks, clockCheck],
    ...[
      ...shapeChecks,
      ...addressChecks,
      ...meaningChecks,
      zoneCheck,
      ...pushChecks,
      ...brokerChecks,
      otherNamesCheck,
      ...(await Promise.all(allFeatures.map(async ({ checks }) => (await checks?.(clustered)) ?? []))).flat(),
      ...dataChecks,
    ],
  ];
  const titled = Object.keys(en.checks);
  const titles = checks.map(({ id }) => [id, id.split(".")[0] ?? ""].find((key) => titled.includes(key)));
  expect(checks.filter((_, at) => titles[at] === undefined)).toEqual([]);
  expect(titled.filter((key) => !titles.includes(key))).toEqual([]);
});

function screen(isTTY: boolean, columns?: number) {
  const written: string[] = [];
  return { written, isTTY, columns, write: (text: string) => written.push(text) };
}

const erase = "\r\u001b[K";

describe("the line that tells what goes on", () => {
  it("is drawn over itself, below whatever else is written, and gone at the end", () => {
    const shown = screen(true);
    const line = new StatusLine(shown);
    line.show("one");
    line.show("two");
    line.above(() => shown.write("a warning\n"));
    line.end();
    expect(shown.written).toEqual(["one", erase, "two", erase, "a warning\n", "two", erase]);
  });

  it("is no wider than the terminal, so that it can be taken away again", () => {
    const shown = [screen(true, 40), screen(true, 0), screen(true)];
    for (const one of shown) new StatusLine(one).show("x".repeat(200));
    expect(shown.map(({ written }) => written[0]?.length)).toEqual([39, 79, 79]);
  });

  it("is not shown elsewhere", () => {
    const pipe = screen(false);
    const line = new StatusLine(pipe);
    line.show("one");
    line.above(() => pipe.write("a warning\n"));
    line.end();
    expect(pipe.written).toEqual(["a warning\n"]);
  });
});
