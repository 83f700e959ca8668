import { describe, expect, it } from "vitest";
import { flagField } from "../../src/mqtt/requests.js";
import type { ShapeReport } from "../../src/platform/counters.js";
import { deviceTexts } from "../../src/config/private-texts.js";
import { bundleForMessage, bundleOf, fitForStrangers } from "../../src/status/bundle.js";
import { notice, type NoticedFacts, noticedNothing } from "../../src/status/notices.js";
import { lock } from "../../src/status/requests.js";
import { leaksIn, secrets, userHash } from "../canary/secrets.js";
import { loaded } from "../config/loading.js";
import { record } from "../support/builders.js";
import { CommandBench } from "../support/command-bench.js";

const hour = 3_600_000;

const report = (over: Partial<ShapeReport> = {}): ShapeReport => ({
  operation: "sensor-data",
  problem: "no list of items",
  sample: ["code", "data"],
  place: null,
  found: "an object with 2 fields",
  count: 1,
  firstAt: 0,
  lastAt: 0,
  ...over,
});

/** What is told at each of several looks: `[monotonic ms, facts]`. */
function told(looks: readonly (readonly [number, Partial<NoticedFacts>])[]): readonly string[][] {
  let noticed = noticedNothing;
  return looks.map(([now, facts]) => {
    const all = { shapes: [], signIns: 0, contested: 0, isSignInRefused: false, ...facts };
    const { after, events } = notice(noticed, all, now, 1_700_000_000_000 + now);
    noticed = after;
    return events.map(({ type, facts: about }) => `${type} ${String(about?.["operation"] ?? "")}`.trim());
  });
}

const shape = "shape_unknown sensor-data";

describe("a session that somebody else keeps ending", () =>
  it("is told with the second token in a row, then once an hour while it goes on", () => {
    const looks = [
      [0, { contested: 0 }],
      [1_000, { contested: 1 }],
      [2_000, { contested: 2 }],
      [hour, { contested: 2 }],
      [2 * hour, { contested: 3 }],
    ] as const;
    expect(told(looks)).toEqual([[], ["session_contested"], [], [], ["session_contested"]]);
  }));

describe("a frame that no setting makes readable", () =>
  it("is told without a setting", () => {
    const shapes = [report({ operation: "ws/set-value", problem: "a binary frame", isLeftOut: true })];
    const facts = { shapes, signIns: 0, contested: 0, isSignInRefused: false };
    const [event] = notice(noticedNothing, facts, 0, 0).events;
    expect(event?.message).toMatch(/^A frame of ws\/set-value was left out: a binary frame\./);
    expect(event?.message).not.toContain("platform.shapes");
  }));

describe("an answer that cannot be read", () => {
  it("is told once, however often it comes", () => {
    const looks = [1, 2, 3].map((n) => [n * 1_000, { shapes: [report({ count: n * 100 })] }] as const);
    expect(told(looks)).toEqual([[shape], [], []]);
  });

  it("is told again after a day when it still comes, and not when it does not", () =>
    expect(
      told([
        [0, { shapes: [report({ count: 1 })] }],
        [25 * hour, { shapes: [report({ count: 1 })] }],
        [26 * hour, { shapes: [report({ count: 2 })] }],
        [27 * hour, { shapes: [report({ count: 3 })] }],
      ]),
    ).toEqual([[shape], [], [shape], []]));

  it("with other field names each time is one occurrence", () => {
    const shapes = Array.from({ length: 150 }, (_, n) => report({ sample: [`field-${n}`] }));
    expect(told([[0, { shapes }]])).toEqual([[shape]]);
  });

  it("of many kinds is told ten times an hour, and the rest when there is room", () => {
    const shapes = Array.from({ length: 25 }, (_, n) => report({ problem: `problem ${n}` }));
    const counts = told([
      [0, { shapes }],
      [hour - 1, { shapes }],
      [hour, { shapes }],
      [2 * hour, { shapes }],
      [3 * hour, { shapes }],
    ]).map((events) => events.length);
    expect(counts).toEqual([10, 0, 10, 5, 0]);
  });
});

describe("a refused sign-in", () => {
  const refused = (signIns: number) => ({ signIns, isSignInRefused: true });
  it.each([
    ["the first is told", [[0, refused(1)]], [1]],
    ["not while there is none", [[0, { signIns: 3 }]], [0]],
    [
      "once, as long as no other was sent",
      [
        [0, refused(1)],
        [hour, refused(1)],
      ],
      [1, 0],
    ],
    [
      "further ones at most every ten minutes",
      [
        [0, refused(1)],
        [10_000, refused(2)],
        [599_999, refused(4)],
        [600_000, refused(4)],
        [1_200_000, refused(5)],
      ],
      [1, 0, 0, 1, 1],
    ],
    [
      "at once again after it had worked",
      [
        [0, refused(1)],
        [10_000, { signIns: 2 }],
        [20_000, refused(3)],
      ],
      [1, 0, 1],
    ],
  ] as const)("%s", (_, looks, counts) => expect(told(looks).map((events) => events.length)).toEqual(counts));
});

it.each(["0s", "2020-01-01T00:00:00Z", "2026-03-02", "soon", "999999999w"])(
  "a lock until %s is refused, and nothing is locked",
  async (until) => {
    const { engine, store, clock } = new CommandBench();
    const controller = store.get("GH-0001");
    if (controller === undefined) throw new Error("the bench has no controller");
    const asked = { controller, fields: { by: "anna", until }, via: null };
    await expect(lock(engine, asked, { clock, onEvent: () => undefined })).rejects.toThrow('"until"');
    expect(engine.inForce("GH-0001", "roof")?.lock ?? null).toBeNull();
  },
);

it("one topic locks and unlocks: what is neither true nor false is refused, and left out it locks", () => {
  const locked = [{}, { locked: true }, { locked: false }].map((fields) => flagField(fields, "locked", true));
  expect(locked).toEqual([true, true, false]);
  expect(() => flagField({ locked: "no" }, "locked", true)).toThrow('"locked" must be true or false');
});

const text = `
platform:
  business_url: https://business.farm.example
  realtime_url: https://realtime.farm.example:8443
  sign_in: { body: { account: grower@farm.example, password: ${secrets.accountPassword}, pin: "71" } }
mqtt: { url: "mqtts://broker.farm.example", username: anna, password: ${secrets.brokerPassword} }
broker: { users: [{ username: ha, password: "${userHash}" }] }
http: { token: ${secrets.httpToken}, users: [{ username: berta, password: page-${secrets.userPassword} }] }
data_dir: /home/anna/greenhouse
controllers: { KH-77: { id: east, name: Upper house, area: East } }
`;

async function bundle(parts: Readonly<Record<string, unknown>> = {}) {
  const { configuration } = await loaded(text);
  const about = { configuration, version: "1.2.3", now: 0, secrets: [secrets.signedInToken] };
  return { configuration, made: bundleOf(about, parts) };
}

describe("the support bundle", () => {
  it("holds no secret of the configuration, and none that was learnt, wherever it stands", async () => {
    const said = Object.values(secrets).join(" and ");
    const escaped = JSON.stringify({ secret: secrets.accountPassword });
    const { made } = await bundle({
      log: [{ message: `refused: ${secrets.signedInToken}, ${secrets.brokerPassword}` }],
      journal: [{ by: secrets.httpToken, payload: escaped }],
      [secrets.brokerPassword]: true,
    });
    expect(said).not.toBe("");
    expect(leaksIn(JSON.stringify(made))).toEqual([]);
    expect(JSON.stringify(made)).not.toContain('"71"');
    expect(made).toMatchObject({ version: "1.2.3", node: process.version, at: "1970-01-01T00:00:00.000Z" });
  });

  it("leaves the house with placeholders for what says where it is and whose, the same throughout", async () => {
    const { configuration, made } = await bundle({
      controllers: [
        { code: "KH-99", id: "kh-99", name: "北棚", area: null, station: "Hill farm", sensors: {} },
      ],
      log: [
        { message: "KH-77 of Hill farm via broker.farm.example, 北棚二, 192.168.7.9", facts: { c: "east" } },
      ],
      commands: { "KH-77/roof": { by: "anna", value: 45 } },
    });
    const safe = fitForStrangers(made, configuration, [["platform-text", "Secret Orchid"]]);
    const shown = JSON.stringify(safe);
    for (const word of [
      "farm",
      "anna",
      "berta",
      "KH-77",
      "KH-99",
      "北棚",
      "Hill",
      "Upper house",
      "192.168",
      '"east"',
    ])
      expect(shown, word).not.toContain(word);
    expect(safe).toMatchObject({
      configuration: { controllers: { "<controller-1>": { area: "<name-3>" } } },
      commands: { "<controller-1>/roof": { by: "<user-1>", value: 45 } },
    });
  });

  it("leaves the house without names of hosts, files and topics that others chose", async () => {
    const { configuration } = await loaded(`
platform: { business_url: https://a.example, realtime_url: https://a.example, token: ${secrets.token} }
broker:
  users:
    - { username: ha, password: "${userHash}", publish: ["clients/meier/+/set"], subscribe: ["#", "greenhouse/#"] }
    - { username: hb, password: "${userHash}", subscribe: ["meier-farm/#", "homeassistant/#", "+/+", "a/b"] }
  tls: { cert: /home/meier/broker.pem, key: /home/meier/broker.key }
commands: { response_topics: [answers/meier] }
http: { allowed_hosts: [meier.example.org], ingress: { address: "fd00::77" } }
weather: { wind: { topic: station/meier/wind }, rain: { topic: weather/rain }, frost: { topic: frost } }
`);
    const made = bundleOf(
      { configuration, version: "1.2.3", now: 0, secrets: [] },
      {
        log: [
          { message: "starting", facts: { config: "/srv/meier/config.yaml" } },
          { message: "clients/meier/7/set and station/meier/wind: no frost, a/b, wind" },
        ],
      },
    );
    const safe = fitForStrangers(made, configuration, []);
    for (const word of ["meier", "fd00"]) expect(JSON.stringify(safe)).not.toContain(word);
    expect(safe).toMatchObject({
      configuration: {
        broker: {
          users: [
            { publish: ["<topic-1>/+/set"], subscribe: ["#", "greenhouse/#"] },
            { subscribe: ["<topic-2>", "homeassistant/#", "+/+", "a/b"] },
          ],
        },
        weather: { wind: { topic: "<topic-4>" }, rain: { topic: "weather/rain" }, frost: { topic: "frost" } },
      },
      log: [{}, { message: "<topic-1>/7/set and <topic-4>: no frost, a/b, wind" }],
    });
  });

  it("leaves the house without topic ids made of codes, and without people and what they called their commands", async () => {
    const result = {
      id: "order of Mr Meier",
      command: "open",
      by: "carl",
      via: { client: "c1", user: "dora" },
    };
    const { configuration, made } = await bundle({
      journal: [
        { type: "result", result: { ...result, controller: "kh-88" } },
        { type: "result", result: { id: "9", command: "close", by: "rule wind", via: "page:emil" } },
      ],
      log: [{ message: "kh-88/roof: open for carl, 小王", facts: { by: "小王" } }],
    });
    const safe = fitForStrangers(
      made,
      configuration,
      deviceTexts({ controllers: [record({ code: "KH-88" })] }),
    );
    const shown = JSON.stringify(safe);
    for (const word of ["kh-88", "Meier", "carl", "dora", "emil", "小王"]) expect(shown).not.toContain(word);
    expect(safe).toMatchObject({ journal: [{}, { result: { by: "rule wind" } }] });
  });

  it("is cut until one message can hold it", async () => {
    const line = { message: "x".repeat(1_000) };
    const whole = await bundleForMessage((share) =>
      Promise.resolve({ log: Array<unknown>(Math.floor(1_500 / share)).fill(line) }),
    );
    const bytes = JSON.stringify(whole).length;
    expect(bytes).toBeLessThan(200_000);
    expect(bytes).toBeGreaterThan(90_000);
  });
});
