import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseDocument, type YAMLMap } from "yaml";
import { deviceType, isCamera, parameterGroup, statusNumber } from "../../../src/greenhouse/device-types.js";
import type { ListedAddress, SensorItem } from "../../../src/greenhouse/ports.js";
import { loadAt, verdictOn } from "../../../src/setup/discover/discover.js";
import { knownFile, movePaths, readGivenFile } from "../../../src/setup/discover/given-file.js";
import {
  type Answer,
  type Ask,
  type DeviceSurvey,
  isUsableCode,
  type Survey,
} from "../../../src/setup/discover/survey.js";
import { wholeFileText } from "../../../src/setup/discover/whole-file.js";
import { fileWith } from "../../cli/in-process.js";
import { loaded } from "../../config/loading.js";
import { item } from "../../support/builders.js";
import { inChinese } from "../../support/chinese.js";
import { loadedText } from "./support/account.js";
import { device, file, survey } from "./support/surveys.js";

const platform = [
  "platform:",
  "  business_url: https://business.example.com",
  "  realtime_url: https://realtime.example.com",
  "  token: !env TOKEN",
  "",
].join("\n");

const textOf = (found: Survey): string => platform + wholeFileText({ ...file, survey: found });
/** The text about one device. */
const textAbout = (...devices: readonly DeviceSurvey[]): string => textOf({ stations: [], devices });
const sensors = (items: readonly SensorItem[]) => [["sensors", { type: "sensors", items }]] as const;

const configurationOf = async (found: Survey) => (await loaded(textOf(found))).configuration;

const anyText = fc.string({ unit: "binary", maxLength: 60 });
const anyValue = fc.oneof(anyText, fc.double(), fc.boolean(), fc.constantFrom("10001", "1001", "00000", 45));

const anyItem = fc
  .record({
    ...{ name: anyText, factor: fc.option(anyText), channel: fc.option(anyText), unit: fc.option(anyText) },
    value: fc.option(fc.oneof(anyText, fc.double())),
  })
  .map((one) => item({ ...one, raw: null }));
const anyStatus = fc.record({
  ...{ name: anyText, number: fc.option(fc.nat().map(statusNumber)), value: fc.option(anyValue) },
});
const anyRegister = fc.tuple(fc.oneof(anyText, fc.nat(50).map(String)), anyValue);

const anyListed = fc.record({
  address: fc.oneof(anyText, fc.nat(50).map(String)),
  ...{ value: fc.option(anyValue), name: fc.option(anyText), unit: fc.option(anyText) },
});

const anyAnswer: fc.Arbitrary<readonly [Ask, Answer]> = fc.oneof(
  fc
    .tuple(fc.array(anyItem, { maxLength: 5 }), fc.array(anyText, { maxLength: 5 }))
    .map(([items, unread]) => ["sensors", { type: "sensors", items, unread }] as const),
  fc.array(anyStatus, { maxLength: 5 }).map((items) => ["statuses", { type: "statuses", items }] as const),
  fc
    .tuple(
      fc.constantFrom(2, 3, 10, 12, 190, 203, 212, 5),
      fc.array(anyRegister, { maxLength: 6 }),
      fc.array(anyListed, { maxLength: 6 }),
    )
    .map(([type, pairs, beside]) => {
      const answer = { type: "values", values: [...new Map(pairs)], beside } as const;
      return [parameterGroup(type), answer] as const;
    }),
  fc
    .tuple(fc.constantFrom(2, 4, 7), anyText)
    .map(([type, why]) => [parameterGroup(type), { type: "refused", why }] as const),
);

const anyDevice: fc.Arbitrary<DeviceSurvey> = fc
  .record({
    code: fc.oneof(
      anyText,
      fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
      fc.constantFrom("bridge", "0012", "true", "__proto__", "constructor", "null", "1e3", "~"),
    ),
    name: fc.option(anyText),
    type: fc.option(fc.oneof(anyText, fc.constantFrom("C001", "V008", "W001")).map(deviceType)),
    typeName: fc.option(anyText),
    stationName: fc.option(anyText),
    answers: fc.array(anyAnswer, { maxLength: 5 }),
    isOffline: fc.boolean(),
    why: anyText,
  })
  .map(({ answers, isOffline, why, ...facts }) => ({
    device: device(facts),
    answers: new Map(answers),
    unanswered: [{ ask: parameterGroup(219), why }],
    isOffline,
  }));

const surveyOf = (code: string): Survey => ({ stations: [], devices: [survey({ code })] });

describe("the whole file", () => {
  it("is a configuration the program takes, whatever the platform calls things; nobody becomes something else", async () => {
    const anySurvey: fc.Arbitrary<Survey> = fc.record({
      notes: fc.array(anyText, { maxLength: 3 }),
      stations: fc.array(fc.record({ id: anyText, name: fc.option(anyText) }), { maxLength: 3 }),
      devices: fc.uniqueArray(anyDevice, { selector: (one) => one.device.code, maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(anySurvey, async (found) => {
        const configuration = await configurationOf(found);
        expect(configuration.commands.read_only).toBe(true);
        expect(configuration.mqtt.url).toBeUndefined();
        const usable = found.devices.filter(({ device: { code, type }, answers }) => {
          const readings = answers.get("sensors");
          const areThere = readings?.type === "sensors" && readings.items.length > 0;
          return isUsableCode(code) && (!isCamera(type) || areThere);
        });
        expect(Object.keys(configuration.controllers).sort()).toEqual(
          usable.map((one) => one.device.code).sort(),
        );
        for (const [code, { actuators, parameters }] of Object.entries(configuration.controllers)) {
          expect(parameters).toEqual({});
          const own = usable.find((one) => one.device.code === code);
          const answered = [...(own?.answers.values() ?? [])].flatMap((one) =>
            one.type === "values" ? one.values.map(([address]) => address) : [],
          );
          for (const { address } of Object.values(actuators)) expect(answered).toContain(address);
        }
      }),
      { numRuns: 300, examples: [[surveyOf("---")], [surveyOf("...")], [surveyOf("-")]] },
    );
  });

  const refused = { type: "refused", why: "code 400\nno" } as const;
  const unanswered = [2, 3].map((type) => ({
    ...{ ask: parameterGroup(type), why: "no whole answer within 15 s" },
  }));
  const many = Array.from({ length: 1_003 }, (_, n) => [String(2_000 + n), 1] as const);
  const ec = item({ name: "", factor: "ecfii", unit: "mS/cm", value: null });
  const readings = [item({ channel: "1" }), item({ name: "blob", value: 12, unit: null }), ec];

  it.each<[string, DeviceSurvey, readonly string[]]>([
    [
      "what was not answered, refused or not connected, controller by controller",
      {
        ...survey(
          {},
          {},
          [3, 4].map((type) => [parameterGroup(type), refused] as const),
        ),
        isOffline: true,
        unanswered,
      },
      [
        "    # not connected, so its addresses could not be read",
        "    # refused by the platform with code 400 no: type 3, type 4",
        "    # no answer, run discover again (no whole answer within 15 s): type 2, type 3",
      ],
    ],
    [
      "what was answered and could not be read, once for all questions of which it is so",
      survey({}, {}, [
        ["sensors", { type: "sensors", items: [], unread: ["a reading without name (fields: q)"] }],
        ...[2, 3].map(
          (type) =>
            [
              parameterGroup(type),
              { type: "values", values: [], unread: ["an item without the fields it needs"] },
            ] as const,
        ),
      ]),
      [
        "    # could not be read (a reading without name (fields: q)); `greenhouse2mqtt doctor` may say what helps: readings",
        "    # could not be read (an item without the fields it needs); `greenhouse2mqtt doctor` may say what helps: type 2,",
      ],
    ],
    [
      "what is listed without a value, whatever its type, and how many addresses are too many",
      survey({}, { 212: Object.fromEntries(many) }, [
        [
          parameterGroup(211),
          {
            ...{ type: "values", values: [] },
            beside: ["701", "a b"].map((address) => ({ address, value: null, name: null, unit: null })),
          },
        ],
      ]),
      [
        "    # listed without a value below type 211 (sensor channel): 701, a b",
        "    # and 3 more addresses, which are left out here",
      ],
    ],
    [
      "the choices for an address of unknown meaning",
      survey({}, { 2: { "101": "10001", "601": "350", "602": "45", "603": "3600" }, 5: { "9": 1 } }),
      [
        "    #   p_601: { address: 601, type_id: 2 } # now 350: no value of the kind skylight: a parameter, or kind: custom with its values",
        "      # left_skylight_602: { kind: skylight, name: Left skylight (602), address: 602, type_id: 2 } # now 45: kind: skylight, a position_address of another one, or a parameter",
        '    #   p_602: { address: 602, type_id: 2, unit: "%" } # now 45, unit guessed: kind: skylight, a position_address of another one, or a parameter',
        "    #   p_603: { address: 603, type_id: 2, unit: s } # now 3600, unit guessed: no value",
        "    #   p_9: { address: 9, type_id: 5 } # now 1: this type is not in the interface's table",
      ],
    ],
    [
      "a positioner at a degree in a type that lists set points too, as what it may be",
      survey({}, { 2: { "101": "45", "601": "350" } }),
      [
        "    #   left_skylight: { kind: skylight, name: Left skylight, address: 101, type_id: 2 } # now 45: kind",
        '    #   p_101: { address: 101, type_id: 2, unit: "%" } # now 45, unit guessed',
      ],
    ],
    [
      "an address that types of several kinds list once for each of these kinds",
      survey(
        {},
        { 2: { "101": "10010" }, 3: { "101": "10010" }, 4: { "101": "10010" }, 211: { "101": "10010" } },
      ),
      [
        "    #   left_skylight: { kind: skylight, name: Left skylight, address: 101, type_id: 2 } # now 10010: several types hold it",
        "    #   inner_shade: { kind: shade_curtain, name: Inner shade curtain, address: 101, type_id: 3 } # now 10010: several types hold it",
      ],
    ],
    [
      "what no configuration can hold, with the reason",
      survey({}, { 2: { "101": "10010", "a b": "10010" } }),
      [
        "    # address a b of type 2 (left skylight) holds 10010: a configuration cannot hold such an address",
      ],
    ],
    [
      "which kinds are assumed, and where an address stands twice",
      survey({}, { 7: { "104": "11000" }, 3: { "102": "10010" }, 41: { "102": "10010" } }),
      [
        "# now 11000 (auto); assumed to take the values of a positioner",
        "# now 10010 (open); also in type 41 (inner shade curtain)",
      ],
    ],
    [
      "unknown readings apart from known ones",
      survey({}, {}, sensors(readings)),
      [
        "    # readings: 空气温度 @1 temperature 21.5 °C, ecfii ec -- mS/cm",
        "    # readings of unknown kind (say kind and unit under sensors): blob 12",
      ],
    ],
  ])("says %s", (_, found, lines) => {
    for (const line of lines) expect(textAbout(found)).toContain(line);
  });

  it("tells its comments in Chinese to whom reads Chinese, all but words of the file and answers", () => {
    const devices = [
      { ...survey({}, {}, [[parameterGroup(3), refused]]), isOffline: true, unanswered },
      survey(
        { code: "A" },
        { 2: { "101": "10001", "601": "350", "602": "45", "603": "3600" }, 5: { "9": 1 } },
      ),
      survey({ code: "B" }, { 2: { "101": "10010", "a b": "10010" }, 3: { "101": "10010" } }),
      survey(
        { code: "C", type: null },
        { 7: { "104": "11000" }, 3: { "102": "10010" }, 41: { "102": "10010" } },
      ),
      survey(
        { code: "D", type: deviceType("C003"), online: false },
        { 2: { "101": "11010" } },
        sensors(readings),
      ),
      ...["V008", "V009"].map((type) => ({
        ...survey({ code: type, type: deviceType(type) }, {}),
        unanswered: type === "V009" ? unanswered : [],
      })),
    ];
    const found = { stations: [{ id: "1", name: "North farm" }], devices };
    const text = wholeFileText({ ...file, language: "zh", tell: inChinese, survey: found });
    const comments = [...text.matchAll(/# (.*)$/gm)].map(([, comment = ""]) => comment);
    const own =
      /`[^`]*`|code 400 no|no whole answer within 15 s|North farm|East house|position_address|type_id|custom|kind|\w+: \S+|@\d \w+|ecfii ec|under sensors/g;
    const english = comments.filter((one) => /[a-z]{3,} [a-z]{2,}/.test(one.replace(own, "")));
    expect(comments.length).toBeGreaterThan(20);
    expect(english).toEqual([]);
  });

  it.each(["602", "007", "a.b", "1e3"])(
    "has a line for each address that may be the degree of a window, which counts once its # is gone (%s)",
    async (place) => {
      const found = {
        2: { "101": "10001", "601": "350", [place]: "45" },
        10: { "140": "00000", "141": "40" },
      };
      const text = textAbout(survey({ code: "GH-1" }, found));
      const lines = text.split("\n").filter((line) => /^ +# position_address:/.test(line));
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain("# now 45");
      const actuatorsOf = async (file: string) =>
        (await loaded(file)).configuration.controllers["GH-1"]?.actuators["left_skylight"];
      expect((await actuatorsOf(text))?.position_address).toBeUndefined();
      const uncommented = text.replace(/^( +)# (position_address:.*)$/m, "$1$2");
      expect(await actuatorsOf(uncommented)).toMatchObject({ address: "101", position_address: place });
    },
  );

  it("writes what combines bits in automatic with the reads that it needs, behind a #", async () => {
    const text = textAbout(survey({ code: "GH-1" }, { 2: { "101": "11010" } }));
    const roofOf = async (file: string) =>
      (await loaded(file)).configuration.controllers["GH-1"]?.actuators["left_skylight"];
    expect(await roofOf(text)).toMatchObject({ address: "101", kind: "skylight" });
    expect((await roofOf(text))?.reads).toBeUndefined();
    const uncommented = text.replace(/^( +)# (reads: .*)$/m, "$1$2");
    expect((await roofOf(uncommented))?.reads).toEqual({ auto: ["11000", "11010", "11001"] });
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    ["a degree beside set points", { "101": "45", "601": "350", "602": "-3" }, "left_skylight"],
    ["beside an actuator", { "101": "10001", "602": "45" }, "left_skylight_602"],
  ])("offers what is not sure as an entry behind a #: %s", async (_, values, id) => {
    const text = textAbout(survey({ code: "GH-1" }, { 2: values }));
    const actuatorsOf = async (file: string) =>
      (await loaded(file)).configuration.controllers["GH-1"]?.actuators ?? {};
    expect(await actuatorsOf(text)).not.toHaveProperty(id);
    const uncommented = text
      .replace(/^( +)# (actuators:) .*$/m, "$1$2")
      .replace(new RegExp(`^( +)# ( *${id}: \\{.*)$`, "m"), "$1$2");
    expect(await actuatorsOf(uncommented)).toHaveProperty(id);
  });

  /** A skylight's group, with what the platform says of an address beside its value. */
  const listing = (values: Readonly<Record<string, string>>, ...beside: readonly ListedAddress[]) =>
    textAbout(
      survey({ code: "GH-1" }, {}, [
        [parameterGroup(2), { type: "values", values: Object.entries(values), beside }],
      ]),
    );
  const houseOf = async (text: string) => (await loaded(text)).configuration.controllers["GH-1"];
  const told = { address: "101", value: null, name: null, unit: null };

  it("a degree beside an address without a value is no actuator of its own: the other may be its mode", async () => {
    const text = listing({ "601": "0" }, told);
    expect((await houseOf(text))?.actuators ?? {}).toEqual({});
    const uncommented = text
      .replace(/^( +)# (actuators:) .*$/m, "$1$2")
      .replace(/^( +)# ( *left_skylight: \{.*)$/m, "$1$2");
    expect((await houseOf(uncommented))?.actuators).toMatchObject({
      left_skylight: { address: "101", position_address: "601", mode_reads: "never" },
    });
  });

  it("an address without a value is told, never left out", () =>
    expect(listing({ "102": "10001" }, told)).toContain(
      "# address 101 of type 2 (left skylight) is listed without a value",
    ));

  it("an address without a value under one type that has one under another is told once", () => {
    const text = textAbout(
      survey({ code: "GH-1" }, { 3: { "101": "10001" } }, [
        [parameterGroup(2), { type: "values", values: [["601", "45"]], beside: [told] }],
      ]),
    );
    expect(text).toMatch(/address: 101\b/);
    expect(text).not.toContain("without a value");
  });

  it.each(["doubtful", "strange"] as const)(
    "an address whose value is %s is no mode that is only written, and is told",
    (unclear) => {
      const text = listing({ "601": "45" }, { ...told, unclear });
      expect(text).not.toMatch(/without a value|mode_reads/);
      expect(text).toContain("# address 101 of type 2 (left skylight) is listed ");
    },
  );

  it("an address without a value that was heard with one is told as that alone", () => {
    const one = survey({ code: "GH-1" }, {}, [
      [parameterGroup(2), { type: "values", values: [["601", "45"]], beside: [told] }],
    ]);
    const text = textAbout({
      ...one,
      heard: [{ code: "GH-1", address: "101", values: ["10001", "10010"], firstAt: 0, lastAt: 1 }],
    });
    expect(text).toContain("address: 101");
    expect(text).not.toContain("without a value");
  });

  it("what the platform says of an address goes before every guess", async () => {
    const set = { address: "601", value: "25.5", name: "左天窗开启温度", unit: "℃" };
    const text = listing({ "101": "10001", "601": "25.5" }, set);
    expect(text).not.toContain("position_address");
    expect(text).toMatch(
      /p_601: \{ name: 左天窗开启温度, address: 601, type_id: 2, unit: ℃ \} # now 25.5: no value/,
    );
    const uncommented = text
      .replace(/^( +)# (parameters:) .*$/m, "$1$2")
      .replace(/^( +)# ( *p_601: .*)$/m, "$1$2");
    expect((await houseOf(uncommented))?.parameters).toMatchObject({ p_601: { unit: "℃" } });
  });

  it("an answer with thousands of items does not drown the rest", () => {
    const items = Array.from({ length: 5_000 }, (_, n) => item({ name: `probe ${n}` }));
    const addresses = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [String(n), "10001"]));
    const text = textAbout(survey({}, { 2: addresses }, sensors(items)));
    expect(text).toContain("# and 4800 more of them");
    expect(text.split("\n").length).toBeLessThan(1_200);
  });

  it("a controller in no list of the account keeps its place in the file", () => {
    const root = parseDocument("controllers: { GH-0099: { name: Old house } }").contents as YAMLMap;
    const nothing = { actuatorIds: new Set(""), parameterIds: new Set(""), addresses: new Set("") };
    const text = wholeFileText({
      ...file,
      given: { ...file.given, root },
      known: { ...file.known, controllers: new Map([["GH-0099", nothing]]) },
    });
    expect(text).toContain("  # not asked this time\n  GH-0099:\n    name: Old house\n");
  });
});

async function written(text: string, out?: string): Promise<string> {
  const path = await fileWith(text);
  const given = await readGivenFile(path);
  if (out !== undefined) movePaths(given, dirname(path), join(dirname(path), out));
  const known = knownFile((await loadedText(text, env)).controllers);
  const found = { stations: [], devices: [survey()] };
  return wholeFileText({ ...file, given, known, survey: found });
}

const env = { T: "token-from-env" };
const hosts = [
  "platform:",
  "  business_url: https://business.example.com",
  "  realtime_url: https://realtime.example.com",
].join("\n");

describe("what the given file says", () => {
  it("is kept key by key, also references, digits as written and flow style; its comments are not", async () => {
    const text = await written(
      [
        hosts,
        "  token: !env T # changed by Li",
        "  time_zone: UTC",
        "  shapes: { sensor-data: { items: payload.points } }",
        "mqtt:",
        "  username: 0012",
        "  password: !env T",
        "  url: mqtt://10.0.0.2:1883",
        "polling: { sensors: 2m }",
        "commands: { max_age: 30s, read_only: false }",
        "controllers:",
        "  0012:",
        "    name: 007",
        "    actuators: { vent: { kind: motor, address: 0300, values: { open: 00000001, stop: 00000100 } } }",
        "  GH-0001:",
        "    parameters:",
        "      ec: { address: 501, scale: 0.01 }",
        "",
      ].join("\n"),
    );
    expect(text).not.toContain("changed by Li");
    const found = await loadedText(text, env);
    expect(found.platform).toMatchObject({ token: "token-from-env", time_zone: "UTC" });
    expect(found.platform.shapes).toEqual({ "sensor-data": { items: "payload.points" } });
    expect(found.mqtt).toMatchObject({ username: "0012", url: "mqtt://10.0.0.2:1883" });
    expect(found.polling.sensors).toBe(120_000);
    expect(found.commands).toMatchObject({ max_age: 30_000, read_only: true });
    expect(found.controllers["0012"]).toMatchObject({
      name: "007",
      actuators: { vent: { address: "0300", values: { open: "00000001", stop: "00000100" } } },
    });
    expect(found.controllers["GH-0001"]).toMatchObject({
      actuators: { left_skylight: { address: "101" } },
      parameters: { ec: { address: "501", scale: 0.01 } },
    });
  });

  it.each([
    [
      "sign-in body",
      "  sign_in: { body: { user: me, pin: 123456, deep: { key2: lit-key-2 }, list: [lit-item-3] } }",
      ["123456", "lit-key-2", "lit-item-3"],
      ["GREENHOUSE_SIGN_IN_BODY_PIN", "GREENHOUSE_SIGN_IN_BODY_DEEP_KEY2", "GREENHOUSE_SIGN_IN_BODY_LIST_1"],
    ],
    [
      "broker users",
      "  token: !env T\nbroker: { users: [ { username: a, password: lit-pass-4 }, { username: b, password: lit-pass-5 } ] }",
      ["lit-pass-4", "lit-pass-5"],
      ["GREENHOUSE_BROKER_USERS_1_PASSWORD", "GREENHOUSE_BROKER_USERS_2_PASSWORD"],
    ],
  ])(
    "a literal secret becomes a variable of the environment: %s",
    async (_title, lines, secrets, variables) => {
      const text = await written(`${hosts}\n${lines}\n`);
      for (const secret of secrets) expect(text).not.toContain(secret);
      for (const variable of variables) expect(text).toContain(`!env ${variable}`);
      const set = Object.fromEntries(variables.map((name) => [name, "value-of-the-variable"]));
      await expect(loadedText(text, { ...env, ...set })).resolves.toBeDefined();
    },
  );

  it("paths of a file that will lie elsewhere still lead to the same files", async () => {
    const text = await written(
      `${hosts}\n  token_file: secrets/token\nmqtt: { url: mqtts://h, tls: { ca: /etc/ca.pem, cert: c.pem, key: k.pem } }\n`,
      "deep/er",
    );
    expect(text).toContain("token_file: ../../secrets/token");
    expect(text).toContain("ca: /etc/ca.pem, cert: ../../c.pem, key: ../../k.pem");
  });
});

describe("the verdict on what is written", () => {
  it("is what `check` says, with the secrets that were taken out", async () => {
    const text = `${hosts}\n  token: !env GREENHOUSE_TOKEN\n`;
    const replaced = [
      { path: ["platform", "token"], tag: "!env", name: "GREENHOUSE_TOKEN", value: '"0012"', isCopy: false },
    ] as const;
    expect(await verdictOn(text, "found.yaml", loadAt("found.yaml", {}), replaced)).toEqual({
      problems: [],
      warnings: [],
    });
    const { problems } = await verdictOn(text, "found.yaml", loadAt("found.yaml", {}), []);
    expect(problems.join()).toContain("GREENHOUSE_TOKEN is not set");
  });
});
