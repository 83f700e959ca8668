import { describe, expect, it } from "vitest";
import { limitSentences } from "../../src/config/rules/limits.js";
import { loaded, platform, problemLines, warningLines } from "./loading.js";

const actuator = (kind: string, limits: string) => `${platform}weather:
  wind: { topic: weather/wind }
controllers:
  GH-0001:
    actuators:
      one: { kind: ${kind}, address: 101, limits: ${limits} }
      two: { kind: skylight, address: 102 }
`;
const guarded = (guard: string) => actuator("skylight", `{ guards: { g: { ${guard} } } }`);
const at = "controllers.GH-0001.actuators.one.limits";

describe("limits that could not do what they say are errors", () => {
  it.each([
    [
      "a whole guard is none",
      guarded("sensor: weather/wind, above: 12, clear_at: 9, allow: [close, 0..10], then: close"),
      [],
    ],
    [
      "no condition",
      guarded("sensor: weather/wind"),
      [`${at}.guards.g: expected one of above, below, is, is_not, moving`],
    ],
    [
      "clear_at on the wrong side",
      guarded("sensor: weather/wind, above: 9, clear_at: 12"),
      [`${at}.guards.g.clear_at: expected at most the value of above, or the guard would never clear`],
    ],
    [
      "then outside allow",
      guarded("sensor: weather/wind, above: 9, allow: [0..10], then: close"),
      [`${at}.guards.g.then: it is not in allow, so the guard itself would forbid it; add it there`],
    ],
    [
      "then stop, where nothing says how the actuator is stopped",
      guarded("sensor: weather/wind, above: 9, allow: [stop], then: stop"),
      [
        `${at}.guards.g.then: skylight has no such command; expected one of open, close, auto, a degree or range such as 0..10`,
      ],
    ],
    [
      "a lease that ends with stop, where nothing says how the actuator is stopped",
      actuator("irrigation", "{ for: 5m, ends_with: stop }"),
      [`${at}.ends_with: irrigation has no such command; expected one of on, off, auto, rotation`],
    ],
    [
      "stop, where it is configured",
      actuator(
        "skylight, stop: { address: 7, value: 1 }",
        "{ for: 5m, ends_with: stop, guards: { g: { sensor: weather/wind, above: 9, allow: [], then: stop } } }",
      ),
      [],
    ],
    [
      "an unknown weather value",
      guarded("sensor: weather/rain, above: 9"),
      [`${at}.guards.g.sensor: there is no "rain" under weather`],
    ],
    [
      "an unknown actuator",
      guarded("actuator: three, moving: true"),
      [`${at}.guards.g.actuator: there is no such actuator in this configuration`],
    ],
    [
      "itself",
      guarded("actuator: one, moving: true"),
      [`${at}.guards.g.actuator: expected another actuator; this one would forbid itself`],
    ],
    [
      "a word that the actuator never shows",
      guarded("actuator: two, is: close, allow: [stop]"),
      [`${at}.guards.g.is: skylight never shows that; expected one of open, closed, auto, position, unknown`],
    ],
    [
      "one of several that the actuator never shows",
      guarded("actuator: two, is_not: [CLOSED, shut]"),
      [
        `${at}.guards.g.is_not[1]: skylight never shows that; expected one of open, closed, auto, position, unknown`,
      ],
    ],
    [
      "a degree of what has none",
      actuator("irrigation", "{ guards: { g: { actuator: one, above: 5 } } }"),
      [`${at}.guards.g.above: irrigation has no degree; use is or is_not`],
    ],
    [
      "a light that always gets on first, which the guard that sends off forbids",
      actuator(
        "light, lead_in: always",
        "{ guards: { g: { sensor: t, above: 5, allow: [off], then: off } } }",
      ),
      [`${at}.guards.g.allow: lead_in: always sends "on" before anything else, so it has to be in allow too`],
    ],
    [
      "the same light with a lease",
      actuator("light, lead_in: always", "{ for: 1h, guards: { g: { sensor: t, above: 5, allow: [off] } } }"),
      [`${at}.guards.g.allow: lead_in: always sends "on" before anything else, so it has to be in allow too`],
    ],
    [
      "reversal of a valve",
      actuator("irrigation", "{ reversal: 60s }"),
      [`${at}.reversal: irrigation only goes on and off, so there is no other way`],
    ],
    [
      "for longer than at_most",
      actuator("irrigation", "{ for: 2h, at_most: 1h }"),
      [`${at}.for: longer than at_most`],
    ],
  ])("%s", async (_, text, expected) => {
    const lines = await problemLines(text);
    expect(lines.map((line) => line.split(" ").slice(1).join(" "))).toEqual(expected);
  });
});

it("check says in a sentence what they mean", async () => {
  const { configuration } = await loaded(
    actuator("irrigation", "{ for: 15m, at_most: 45m, starts_per_hour: 6 }"),
  );
  expect(limitSentences(configuration)).toEqual([
    'controllers.GH-0001.actuators.one: it starts at most 6 times an hour; each command ends with "off" after 15m unless it names a time, at most 45m. stop always passes.',
  ]);
});

it("check warns of a light that gets on first only now and then, where the guard that sends off forbids it", async () => {
  const light = "{ guards: { g: { sensor: weather/wind, above: 5, allow: [off], then: off } } }";
  expect(await warningLines(actuator("light", light))).toEqual([
    expect.stringContaining(`${at}.guards.g.then: a light that does not show on gets "on" first`),
  ]);
  expect(await warningLines(actuator("light, lead_in: never", light))).toEqual([]);
});
