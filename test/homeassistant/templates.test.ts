import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  field,
  labelOfWord,
  multiplied,
  optionLabels,
  templates,
  within,
  wordOfLabel,
} from "../../src/homeassistant/labels.js";
import { render } from "./jinja.js";

const json = (state: string | null, position: number | null = null) => JSON.stringify({ state, position });

describe("availability", () => {
  test.each([
    ["good", "online"],
    ["uncertain", "online"],
    ["stale", "offline"],
    ["bad", "offline"],
    ["", "offline"],
  ])("a reading of quality %j is %s", (payload, rendered) =>
    expect(render(templates.usableQuality, payload)).toBe(rendered),
  );

  test.each([
    ["online", "online"],
    ["degraded", "online"],
    ["unauthorized", "online"],
    ["unreachable", "offline"],
    ["", "offline"],
  ])("a platform that is %j counts as %s", (payload, rendered) =>
    expect(render(templates.platformReachable, payload)).toBe(rendered),
  );

  test.each([
    ["online", "online"],
    ["unknown", "online"],
    ["offline", "offline"],
    ["", "offline"],
  ])("a controller that is %j counts as %s", (payload, rendered) =>
    expect(render(templates.controllerReachable, payload)).toBe(rendered),
  );
});

describe("cover", () =>
  test.each([
    [json("open"), "open", "100"],
    [json("closed"), "closed", "0"],
    [json("close"), "closed", "0"],
    [json("position", 45), "open", "45"],
    [json("position", 1), "open", "1"],
    [json("position", 100), "open", "100"],
    [json("position", 0), "closed", "0"],
    [json("position"), "None", ""],
    [json("auto"), "None", ""],
    [json("unknown"), "None", ""],
    [json(null), "None", ""],
  ])("%s is %s at %j", (payload, state, position) => {
    expect(render(templates.coverState, payload)).toBe(state);
    expect(render(templates.coverPosition, payload)).toBe(position);
  }));

describe("on and off", () => {
  test.each([
    ["on", "on"],
    ["off", "off"],
    ["auto", "None"],
    ["unknown", "None"],
    ["3", "None"],
  ])("%s shows as %s", (state, rendered) => {
    expect(render(templates.onOffState, json(state))).toBe(rendered);
    expect(render(templates.onOff, state)).toBe(rendered);
  });

  test.each([
    ["online", "online"],
    ["offline", "offline"],
    ["unknown", "None"],
  ])("a controller's own flag %s shows as %s", (flag, rendered) =>
    expect(render(templates.connectivity, flag)).toBe(rendered),
  );
});

describe("options", () => {
  const words = ["open", "closed", "auto"];

  test("in English the options are readable words, and a command leads back to the topic's word", () => {
    const labels = optionLabels("en", words);
    expect([...labels.values()]).toEqual(["Open", "Closed", "Automatic"]);
    expect(render(wordOfLabel(labels) ?? "", "Closed")).toBe("closed");
    expect(render(labelOfWord("value_json.state", labels, "None"), json("closed"))).toBe("Closed");
    expect(render(labelOfWord("value_json.state", labels, "None"), json("position", 4))).toBe("None");
    expect(render(labelOfWord("value_json.state", labels, "unknown"), json(null))).toBe("unknown");
  });

  test("in Chinese a label leads back to the word it stands for", () => {
    const labels = optionLabels("zh", words);
    expect([...labels.values()]).toEqual(["打开", "关闭", "自动"]);
    const toLabel = labelOfWord("value_json.state", labels, "None");
    const toWord = wordOfLabel(labels) ?? "";
    expect(words.map((word) => render(toWord, render(toLabel, json(word))))).toEqual(words);
    expect(render(toLabel, json("position", 4))).toBe("None");
  });

  test("any words an actuator may have, quotes and braces included, come back as they were", () => {
    const hostile = fc.uniqueArray(
      fc.oneof(
        fc.string({ unit: "grapheme", minLength: 1 }),
        fc.constantFrom("none", "None", "auto", "自动", "}}'{%", "\\", "\n"),
      ),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(hostile, fc.constantFrom("en" as const, "zh" as const), (names, language) => {
        const labels = optionLabels(language, names);
        const toLabel = labelOfWord("value_json.state", labels, "None");
        const toWord = wordOfLabel(labels) ?? "{{ value }}";
        expect(new Set(labels.values()).size).toBe(names.length);
        for (const label of labels.values()) expect(label.toLowerCase()).not.toBe("none");
        for (const name of names) expect(render(toWord, render(toLabel, json(name)))).toBe(name);
      }),
    );
  });
});

describe("numbers", () => {
  test("a reading in klx is shown in lx without float noise", () => {
    expect(Number(render(multiplied(1000), "12.345"))).toBe(12_345);
    expect(Number(render(multiplied(0.001), "350"))).toBe(0.35);
  });

  test("a text is no reading: nothing is invented for it", () => {
    for (const text of ["--", "", "nan"]) expect(render(multiplied(1000), text)).toBe("None");
  });

  test.each([
    ["2.5", "2.5"],
    ["0", "0"],
    ["5", "5"],
    ["5.1", "None"],
    ["-1", "None"],
    ["text", "None"],
  ])("a parameter between 0 and 5 that reads %s shows %s", (payload, rendered) =>
    expect(render(within(0, 5), payload)).toBe(rendered),
  );

  test.each([
    ["2.5", "2.5"],
    ["-1", "-1"],
    ["00012", "00012"],
    ["", "None"],
    ["--", "None"],
    ["auto", "None"],
  ])("a quantity that reads %j shows %s", (payload, rendered) =>
    expect(render(templates.number, payload)).toBe(rendered),
  );

  test("a text is cut at the 255 characters that Home Assistant keeps", () => {
    expect(render(templates.text, "关")).toBe("关");
    expect(render(templates.text, "关".repeat(300))).toBe("关".repeat(255));
  });

  test("a field that is null shows as unknown", () => {
    expect(render(field("requests_left"), '{"requests_left":null}')).toBe("None");
    expect(render(field("requests_left"), '{"requests_left":12}')).toBe("12");
    expect(render(templates.degree, json("auto"))).toBe("None");
    expect(render(templates.degree, json("position", 0))).toBe("0");
  });
});

describe("limits", () => {
  const because = (...rules: object[]) =>
    JSON.stringify({ words: ["close"], degrees: { min: 0, max: 10 }, because: rules });
  const wind = { rule: "wind", input: "weather/wind", limit: 12, quality: "good", until: null };
  const lock = { rule: "lock", input: null, value: "anna", limit: null, quality: null, until: null };

  test.each([
    [because(), "unlocked"],
    [because(wind), "unlocked"],
    [because(wind, lock), "locked"],
  ])("%s is %s", (payload, state) => expect(render(templates.locked, payload)).toBe(state));

  test("why something is not to be had are attributes, without a measured number, which would fill the history", () => {
    const { rule, ...numbersBehind } = wind;
    const numbers = [14.2, -3, 0, 1e-7, 1.5e22].map((value) => ({ rule, value, ...numbersBehind }));
    const told = JSON.parse(render(templates.allowed, because(...numbers, lock))) as unknown;
    expect(told).toEqual({
      ...{ words: ["close"], degrees: { min: 0, max: 10 } },
      because: [...numbers.map(() => wind), lock],
    });
    const tricky = { ...lock, value: '"value":1,' };
    expect(JSON.parse(render(templates.allowed, because(tricky)))).toMatchObject({ because: [tricky] });
  });

  test("a lock's attributes are empty without one", () => {
    expect(render(templates.orNothing, "")).toBe("{}");
    expect(render(templates.orNothing, '{"by":"anna"}')).toBe('{"by":"anna"}');
  });

  test.each([
    [0, "off"],
    [2, "on"],
  ])("%i alarms are a problem: %s", (count, state) =>
    expect(render(templates.anyAlarm, JSON.stringify({ count }))).toBe(state),
  );
});

describe("events", () => {
  test("a result becomes an event of its outcome with what a person asks next", () => {
    const result = {
      id: "7",
      controller: "gh-0001",
      actuator: "roof",
      command: "open",
      value: "10010",
      outcome: "rejected",
      reason: "unauthorized",
      message: 'the platform said "no"',
      read_back: null,
      by: null,
      via: { client: "ha" },
      steps: [],
      duration_ms: 812,
      repeated: false,
    };
    expect(JSON.parse(render(templates.result, JSON.stringify(result)))).toEqual({
      event_type: "rejected",
      id: "7",
      actuator: "roof",
      command: "open",
      value: "10010",
      reason: "unauthorized",
      message: 'the platform said "no"',
      read_back: null,
      by: null,
      duration_ms: 812,
      repeated: false,
    });
  });

  test("an event of the bridge keeps its facts, also where some are missing", () => {
    const alert = {
      type: "platform_lost",
      severity: "error",
      message: "gone",
      at: "2026-01-01T00:00:00.000Z",
    };
    expect(JSON.parse(render(templates.alert, JSON.stringify(alert)))).toEqual({
      event_type: "platform_lost",
      severity: "error",
      message: "gone",
      at: "2026-01-01T00:00:00.000Z",
      controller: null,
      actuator: null,
      alarm: null,
      remedy: null,
    });
  });
});
