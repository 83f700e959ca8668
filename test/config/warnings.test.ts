import { describe, expect, it } from "vitest";
import { formatProblem } from "../../src/config/problem.js";
import { callsPerHourNeeded, configuredLoad, costSentence } from "../../src/config/warnings.js";
import { itFinds, loaded, platform, rowsOf, warningLines } from "./loading.js";

const plain = "plain password; `greenhouse2mqtt passwd` makes a hash that can stand here instead";

describe("what works but is probably not wanted", () => {
  itFinds(
    rowsOf`
    polling: { controllers: 299s }
      :5:25 polling.controllers: the platform asks for 5m or more between controller lists
    polling: { controllers: 5m }
    ⏎  timeouts: { control: 20s }
      :6:24 platform.timeouts.control: the platform advises to wait at least 30s for a control value; giving up earlier leaves open whether it was done
    ⏎  timeouts: { control: 30s }
    controllers: { A: { actuators: { a: { kind: light, address: 1, type_id: 2 } } } }
      :5:73 controllers.A.actuators.a.type_id: type_id says type 2 (left skylight), which is the kind skylight, not light; correct kind or type_id, or say accept_type: true where it is meant; until then its commands are refused
    controllers: { A: { actuators: { a: { kind: light, address: 1, type_id: 2, accept_type: true } } } }
    polling: { sensors: 20m }
      :5:1 polling.stale_after: readings would be stale before the next poll (polling.sensors is 20m)
    mqtt: { url: mqtt://a }⏎broker: { port: 1884 }
      :6:1 broker: without effect, because mqtt.url names another broker; the embedded one is not started
    mqtt: { url: mqtt://a }⏎broker:
      :6:1 broker: without effect, because mqtt.url names another broker; the embedded one is not started
    broker: { users: [{ username: a, password: b }] }
      :5:44 broker.users[0].password: ${plain}
    broker: { users: [{ username: a, password: "scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA" }] }
    mqtt: { url: mqtts://a, tls: { reject_unauthorized: false } }
      :5:53 mqtt.tls.reject_unauthorized: the broker's certificate is not verified
    http: { host: 0.0.0.0 }
      :5:15 http.host: other machines can reach this address and neither http.token nor http.users is set
    http: { host: 0.0.0.0, token: abcdefgh }
    mirror: listed
      :5:9 mirror: nothing is mirrored, because no controller is listed below
    mirror: listed⏎controllers: { A: { ignore: true } }
      :5:9 mirror: nothing is mirrored, because no controller is listed below
    mirror: listed⏎controllers: { A: }
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, scale: 100, writable: { min: 0, max: 1000, step: 50 } }
      :8:73 controllers.G.parameters.p.writable.step: 50 would be sent as 1 and read back as 100; expected a multiple of scale (100)
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, scale: 100, writable: { min: 0, max: 1000, step: 10 } }
      :8:73 controllers.G.parameters.p.writable.step: 10 would be sent as 0 and read back as 0; expected a multiple of scale (100)
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, writable: { min: 0.5, max: 9.5, step: 1 } }
      :8:41 controllers.G.parameters.p.writable.min: 0.5 would be sent as 1 and read back as 1; expected a multiple of scale (1)
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, scale: -0.5, writable: { min: -9, max: 0, step: 0.75 } }
      :8:72 controllers.G.parameters.p.writable.step: -8.25 would be sent as 17 and read back as -8.5; expected a multiple of scale (-0.5)
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, scale: 100, writable: { min: 100, max: 1000, step: 200 } }
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, scale: 0.1, writable: { min: 0.3, max: 5.7, step: 0.3 } }
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, scale: 0.01, writable: { min: 0, max: 5, step: 0.1 } }
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, writable: { min: 0, max: 5, step: 1 } }
  `,
    (text) => warningLines(platform + text),
  );

  it("an unencrypted platform, also where it is allowed", async () => {
    const text = platform.replace("https://business", "http://business");
    expect(await warningLines(`${text}  allow_insecure: true\n`)).toEqual([
      "config.yaml:5:19 platform.allow_insecure: the token travels unencrypted and can be read on the way",
    ]);
  });

  it("a budget below what the configured controllers need", async () => {
    const controllers = Array.from({ length: 100 }, (_, n) => `  GH-${n}:\n`).join("");
    const text = `${platform}  requests_per_minute: 120\ncontrollers:\n${controllers}`;
    expect(await warningLines(text)).toEqual([
      "config.yaml:5:24 platform.requests_per_minute: polling the controllers below takes about 121 requests a minute; all intervals will be stretched",
    ]);
    expect(await warningLines(text.replace("120", "121"))).toEqual([]);
    expect(await warningLines(text.replace("120", "0"))).toEqual([]);
  });

  it("warnings are sorted by place", async () => {
    const text = `${platform}mirror: listed\nhttp: { host: 0.0.0.0 }\npolling: { controllers: 1s }\n`;
    const { warnings } = await loaded(text);
    expect(warnings.map(({ line }) => line)).toEqual([5, 6, 7]);
    expect(warnings.map(formatProblem)[0]).toMatch(/^config\.yaml:5:9 mirror: /);
  });
});

const intervals = { controllers: 300_000, sensors: 60_000, running_status: 300_000, actuators: 120_000 };

describe("what polling costs", () => {
  it.each([
    [{ controllers: 0, addressReads: 0 }, 14],
    [{ controllers: 10, addressReads: 0 }, 734],
    [{ controllers: 10, addressReads: 20 }, 1_334],
    [{ controllers: 500, addressReads: 0 }, 36_014],
  ])("%j needs %d calls an hour", (load, expected) =>
    expect(callsPerHourNeeded(intervals, load)).toBeCloseTo(expected, 9),
  );

  it.each([
    [
      "",
      "polling costs 14 calls an hour of the budget of 18000; each controller that is not named here costs 72 more",
    ],
    ["mirror: listed\ncontrollers: { G: }\n", "polling costs 86 calls an hour of the budget of 18000"],
    [
      "mirror: listed\npolling: { actuators: 1m }\ncontrollers: { G: { actuators: { a: { kind: light, address: 1 } } }, H: }\n",
      "polling costs 218 calls an hour of the budget of 18000",
    ],
  ])("%j is told as a sentence", async (text, sentence) => {
    const { configuration } = await loaded(`${platform}${text}`);
    expect(costSentence(configuration)).toBe(sentence);
  });

  it("without a budget is told as well", async () => {
    const { configuration } = await loaded(
      `${platform.trimEnd()}\n  requests_per_minute: 0\nmirror: listed\ncontrollers: { G: }\n`,
    );
    expect(costSentence(configuration)).toBe("polling costs 86 calls an hour");
  });

  it("addresses with a type are read together, each other one alone and once", async () => {
    const { configuration } = await loaded(`${platform}controllers:
  G:
    actuators:
      a: { kind: skylight, address: 1, mode_address: 2, position_address: 1, type_id: 2 }
      b: { kind: skylight, address: 3, type_id: 2 }
      c: { kind: shade_curtain, address: 4, mode_address: 8, position_address: 5 }
    parameters:
      p: { address: 6, type_id: 203 }
      q: { address: 7 }
  H: { ignore: true, parameters: { p: { address: 1 } } }
  I:
`);
    expect(configuredLoad(configuration)).toEqual({ controllers: 2, addressReads: 5 });
  });
});
