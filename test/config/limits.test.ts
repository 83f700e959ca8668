import { describe, expect, it } from "vitest";
import { limitSentences } from "../../src/config/rules/limits.js";
import { itFinds, loaded, platform, problemLines, rowsOf, warningLines } from "./loading.js";

/** A configuration with an actuator `one` of these keys. */
const withOne = (keys: string) => `${platform}weather:
  wind: { topic: weather/wind }
mirror: listed
controllers:
  GH-0001:
    sensors: { probe: { from: t7, ignore: true } }
    actuators:
      one: { address: 101, ${keys.trim()} }
      two: { kind: skylight, address: 102 }
  GH-0002: { id: west, ignore: true }
`;
const at = "controllers.GH-0001.actuators.one.limits";
/** Lines without their place and all of the path that they have in common. */
const below = async (keys: string) =>
  (await problemLines(withOne(keys))).map((line) => line.replace(/:\d+:\d+ .*?\.limits\.?/, ": "));

describe("limits that could not do what they say are errors", () =>
  itFinds(
    rowsOf`
    # a whole guard is none
    kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 12, clear_at: 9, allow: [close, 0..10], then: close } } }
    # no condition
    kind: skylight, limits: { guards: { g: { sensor: weather/wind } } }
      : guards.g: expected one of above, below, is, is_not, moving
    # clear_at on the wrong side
    kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 9, clear_at: 12 } } }
      : guards.g.clear_at: expected at most the value of above, or the guard would never clear
    # then outside allow
    kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 9, allow: [0..10], then: close } } }
      : guards.g.then: it is not in allow, so the guard itself would forbid it; add it there
    # then stop, where nothing says how the actuator is stopped
    kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 9, allow: [stop], then: stop } } }
      : guards.g.then: skylight has no such command; expected one of open, close, auto, a degree or range such as 0..10
    # a lease that ends with stop, where nothing says how the actuator is stopped
    kind: irrigation, limits: { for: 5m, ends_with: stop }
      : ends_with: irrigation has no such command; expected one of on, off, auto, rotation
    # stop, where it is configured
    kind: skylight, stop: { address: 7, value: 1 }, limits: { for: 5m, ends_with: stop, guards: { g: { sensor: weather/wind, above: 9, allow: [], then: stop } } }
    # an unknown weather value
    kind: skylight, limits: { guards: { g: { sensor: weather/rain, above: 9 } } }
      : guards.g.sensor: there is no "rain" under weather
    # an unknown actuator
    kind: skylight, limits: { guards: { g: { actuator: three, moving: true } } }
      : guards.g.actuator: there is no such actuator in this configuration
    # a sensor that is ignored
    kind: skylight, limits: { guards: { g: { sensor: GH-0001/probe, above: 9 } } }
      : guards.g.sensor: this sensor is ignored, so its value never comes
    # a controller that is ignored
    kind: skylight, limits: { guards: { g: { status: west/pump, is: "on" } } }
      : guards.g.status: the controller west is ignored, so its values never come
    # a controller that is not mirrored
    kind: skylight, limits: { guards: { g: { sensor: GH-0003/wind, above: 9 } } }
      : guards.g.sensor: mirror: listed leaves out the controller GH-0003, which is not listed
    # itself
    kind: skylight, limits: { guards: { g: { actuator: one, moving: true } } }
      : guards.g.actuator: expected another actuator; this one would forbid itself
    # a word that the actuator never shows
    kind: skylight, limits: { guards: { g: { actuator: two, is: close, allow: [stop] } } }
      : guards.g.is: skylight never shows that; expected one of open, closed, auto, position, unknown
    # one of several that the actuator never shows
    kind: skylight, limits: { guards: { g: { actuator: two, is_not: [CLOSED, shut] } } }
      : guards.g.is_not[1]: skylight never shows that; expected one of open, closed, auto, position, unknown
    # a degree of what has none
    kind: irrigation, limits: { guards: { g: { actuator: one, above: 5 } } }
      : guards.g.above: irrigation has no degree; use is or is_not
    # a light that always gets on first, which the guard that sends off forbids
    kind: light, lead_in: always, limits: { guards: { g: { sensor: t, above: 5, allow: [off], then: off } } }
      : guards.g.allow: lead_in: always sends "on" before anything else, so it has to be in allow too
    # the same light with a lease
    kind: light, lead_in: always, limits: { for: 1h, guards: { g: { sensor: t, above: 5, allow: [off] } } }
      : guards.g.allow: lead_in: always sends "on" before anything else, so it has to be in allow too
    # reversal of a valve
    kind: irrigation, limits: { reversal: 60s }
      : reversal: irrigation only goes on and off, so there is no other way
    # for longer than at_most
    kind: irrigation, limits: { for: 2h, at_most: 1h }
      : for: longer than at_most
  `,
    below,
  ));

it("check says in a sentence what they mean", async () => {
  const { configuration } = await loaded(
    withOne("kind: irrigation, limits: { for: 15m, at_most: 45m, starts_per_hour: 6 }"),
  );
  expect(limitSentences(configuration)).toEqual([
    'controllers.GH-0001.actuators.one: it starts at most 6 times an hour; each command ends with "off" after 15m unless it names a time, at most 45m. stop always passes.',
  ]);
});

it("check warns of a light that gets on first only now and then, where the guard that sends off forbids it", async () => {
  const light = "limits: { guards: { g: { sensor: weather/wind, above: 5, allow: [off], then: off } } }";
  expect(await warningLines(withOne(`kind: light, ${light}`))).toEqual([
    expect.stringContaining(`${at}.guards.g.then: a light that does not show on gets "on" first`),
  ]);
  expect(await warningLines(withOne(`kind: light, lead_in: never, ${light}`))).toEqual([]);
});
