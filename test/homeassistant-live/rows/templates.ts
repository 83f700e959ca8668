import fc from "fast-check";
import { expect, it } from "vitest";
import { bridgeDocument, controllerDocument } from "../../../src/homeassistant/device-documents.js";
import {
  field,
  labelOfWord,
  multiply,
  optionLabels,
  templates,
  within,
  wordOfLabel,
} from "../../../src/homeassistant/labels.js";
import { actuator, controller, settings } from "../../homeassistant/fixtures.js";
import type { Installation } from "../support/process.js";
import { judged } from "../support/python.js";
import type { Rows } from "../support/rows.js";
import { inChinese } from "../../support/chinese.js";

/* What Home Assistant's own engine makes of every template that the bridge sends. */

/** A template, and by payload what is shown; an object where the text is JSON. */
type Renderings = readonly [template: unknown, shown: Readonly<Record<string, unknown>>];

const json = (state: string | null, position: number | null = null) => JSON.stringify({ state, position });

const health = {
  last_contact_business: "2026-01-01T00:00:00.000Z",
  last_contact_realtime: "2026-01-01T00:00:01.000Z",
  oldest_reading_at: "2025-12-31T00:00:00.000Z",
  requests_left: 118,
};
const bridge = bridgeDocument(settings()).components;
const skylight = controllerDocument(
  controller({ actuators: [actuator({ id: "it", kind: "skylight" })] }),
  settings(),
).components["select_101"];

const words = ["open", "closed", "auto"];
const [english, chinese] = [optionLabels(String, words), optionLabels(inChinese, words)];

const because = (...rules: readonly object[]) =>
  JSON.stringify({ words: ["close"], degrees: { min: 0, max: 10 }, because: rules });
const wind = { rule: "wind", input: "weather/wind", limit: 12, quality: "good", until: null };
const lock = { rule: "lock", input: null, value: "anna", limit: null, quality: null, until: null };
// A measured number, which would fill the history, stands behind the rule.
const { rule, ...numbersBehind } = wind;
const numbers = [14.2, -3, 0, 1e-7, 1.5e22].map((value) => ({ rule, value, ...numbersBehind }));
const tricky = { ...lock, value: '"value":1,' };

const told = {
  ...{ id: "7", actuator: "roof", command: "open", value: "10010", reason: "unauthorized" },
  ...{ message: 'the platform said "no"', read_back: null, by: null, duration_ms: 812, repeated: false },
};
const alert = { severity: "error", message: "gone", at: "2026-01-01T00:00:00.000Z" };

const nowhere = { [json("auto")]: "None", [json("unknown")]: "None", [json(null)]: "None" };
const running = (state: string) => JSON.stringify({ state: "all_on", running: state });
const noNumber = { "--": "None", "": "None", nan: "None", auto: "None" };
const reading = (key: string, shown: string): Renderings => [
  bridge[key]?.["value_template"],
  { [JSON.stringify(health)]: shown },
];

const table: readonly Renderings[] = [
  [
    templates.usableQuality,
    { good: "online", uncertain: "online", stale: "offline", bad: "offline", "": "offline" },
  ],
  [templates.platformReachable, { online: "online", degraded: "online", unauthorized: "online" }],
  [templates.platformReachable, { unreachable: "offline", "": "offline" }],
  [templates.controllerReachable, { online: "online", unknown: "online", offline: "offline", "": "offline" }],
  [templates.connectivity, { online: "online", offline: "offline", unknown: "None" }],
  [templates.coverState, { [json("open")]: "open", [json("closed")]: "closed", [json("close")]: "closed" }],
  [templates.coverState, { [json("position", 45)]: "open", [json("position", 1)]: "open" }],
  [templates.coverState, { [json("position", 0)]: "closed", [json("position")]: "None", ...nowhere }],
  [templates.coverPosition, { [json("open")]: "100", [json("closed")]: "0", [json("close")]: "0" }],
  [templates.coverPosition, { [json("position", 45)]: "45", [json("position", 0)]: "0" }],
  // Nothing is sent where no degree is known.
  [templates.coverPosition, { [json("position")]: "", [json("auto")]: "", [json(null)]: "" }],
  [templates.invertedState, { [json("open")]: "closed", [json("closed")]: "open", [json("close")]: "open" }],
  [templates.invertedState, { [json("position", 100)]: "closed", [json("position", 99)]: "open" }],
  [templates.invertedState, { [json("position", 0)]: "open", [json("position")]: "None", ...nowhere }],
  [templates.invertedPosition, { [json("open")]: "0", [json("closed")]: "100", [json("close")]: "100" }],
  [templates.invertedPosition, { [json("position", 45)]: "55", [json("position")]: "", [json("auto")]: "" }],
  [templates.degree, { [json("auto")]: "None", [json("position", 0)]: "0" }],
  [templates.onOffState, { [json("on")]: "on", [json("off")]: "off", [json("3")]: "None", ...nowhere }],
  [templates.running, { [running("on")]: "on", [running("unknown")]: "None", [json("all_on")]: "None" }],
  [templates.onOff, { on: "on", off: "off", unknown: "None", "3": "None" }],
  [templates.valveState, { [json("on")]: "open", [json("off")]: "closed", [json("rotation")]: "None" }],
  [
    labelOfWord("value_json.state", english, "None"),
    { [json("closed")]: "Closed", [json("position", 4)]: "None" },
  ],
  [labelOfWord("value_json.state", english, "unknown"), { [json(null)]: "unknown" }],
  [wordOfLabel(english), { Closed: "closed", Automatic: "auto" }],
  [
    labelOfWord("value_json.state", chinese, "None"),
    { [json("auto")]: "自动", [json("position", 4)]: "None" },
  ],
  [wordOfLabel(chinese), { 打开: "open", 自动: "auto" }],
  [skylight?.["value_template"], { [json("position", 40)]: "Position", [json("auto")]: "Automatic" }],
  // It cannot be chosen: its word is refused.
  [skylight?.["command_template"], { Position: "position", Open: "open" }],
  // No noise behind the last digit, and nothing is invented for what is no number.
  [multiply(1000), { "12.345": "12345.0", ...noNumber }],
  [multiply(0.001), { "350": "0.35" }],
  [within(0, 5), { "2.5": "2.5", "0": "0", "5": "5", "5.1": "None", "-1": "None", ...noNumber }],
  [within(0, 10), { "7.2": "7.2" }],
  [templates.number, { "2.5": "2.5", "-1": "-1", "00012": "00012", ...noNumber }],
  [templates.text, { 关: "关", ["关".repeat(300)]: "关".repeat(255), ["🌱".repeat(300)]: "🌱".repeat(255) }],
  [field("requests_left"), { '{"requests_left":null}': "None", '{"requests_left":12}': "12" }],
  reading("sensor_last-contact-business", health.last_contact_business),
  reading("sensor_last-contact-realtime", health.last_contact_realtime),
  reading("sensor_oldest-reading", health.oldest_reading_at),
  reading("sensor_requests-left", "118"),
  [
    templates.locked,
    { [because()]: "unlocked", [because(wind)]: "unlocked", [because(wind, lock)]: "locked" },
  ],
  [
    templates.allowed,
    {
      [because(...numbers, lock)]: JSON.parse(because(...numbers.map(() => wind), lock)) as object,
      [because(tricky)]: JSON.parse(because(tricky)) as object,
      "": {},
    },
  ],
  [templates.orNothing, { "": {}, '{"by":"anna"}': { by: "anna" } }],
  [templates.runTime, { "": "", '{"on_s":2520}': "2520" }],
  [templates.readingAlarm, { "": "off", '{"count":0}': "off", '{"count":2}': "on" }],
  [templates.anyAlarm, { '{"count":0}': "off", '{"count":2}': "on" }],
  [
    templates.result,
    {
      [JSON.stringify({ ...told, controller: "gh-0001", outcome: "rejected", via: {}, steps: [] })]: {
        event_type: "rejected",
        ...told,
      },
    },
  ],
  [
    templates.alert,
    {
      [JSON.stringify({ type: "platform_lost", ...alert })]: {
        ...{ event_type: "platform_lost", ...alert },
        ...{ controller: null, actuator: null, alarm: null, remedy: null },
      },
    },
  ],
];

/** Any words that an actuator may have come back as they were, quotes and braces included. */
function hostile(): readonly Renderings[] {
  const word = fc.oneof(
    fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => text.trim() === text),
    fc.constantFrom("none", "None", "auto", "自动", "}}'{%", "\\", "a\nb"),
  );
  const words_ = fc.uniqueArray(word, { minLength: 1, maxLength: 6 });
  const samples = fc.sample(fc.tuple(words_, fc.constantFrom(String, inChinese)), {
    numRuns: 200,
    seed: 1,
  });
  return samples.flatMap(([names, tell]): readonly Renderings[] => {
    const labels = optionLabels(tell, names);
    expect(new Set(labels.values()).size).toBe(names.length);
    for (const label of labels.values()) expect(label.toLowerCase()).not.toBe("none");
    const toLabel = Object.fromEntries(names.map((name) => [json(name), labels.get(name)]));
    const toWord = Object.fromEntries([...labels].map(([name, label]) => [label, name]));
    return [
      [labelOfWord("value_json.state", labels, "None"), toLabel],
      [wordOfLabel(labels) ?? "{{ value }}", toWord],
    ];
  });
}

export function templateRenderings(installation: Installation, rows: Rows): void {
  it("its own engine makes of every template what the bridge means", async () => {
    const cases = [...table, ...hostile()].flatMap(([template, payloads]) =>
      Object.entries(payloads).map(([payload, shown]) => ({ template, payload, shown })),
    );
    const lines = await judged(
      installation,
      "templates.py",
      cases.map(({ template, payload }) => [template, payload]),
    );
    const results = cases.map(({ shown, ...of }, at) => {
      const text = JSON.parse(lines[at] ?? "null") as string | null;
      return {
        ...of,
        shown: typeof shown === "object" && text !== null ? (JSON.parse(text) as unknown) : text,
      };
    });
    expect(results).toEqual(cases);
    rows.tell("templates rendered by its own engine", `${cases.length}, 0 otherwise than meant`);
  });
}
