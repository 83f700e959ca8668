import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { formatProblem } from "../../src/config/problem.js";
import { load } from "../config/loading.js";
import { composeProblems, fieldsOf, liberties, textsOf } from "./support/compose-rules.js";
import { textOf } from "./support/project.js";

describe("compose.yaml", () => {
  let compose: unknown;
  let services: Readonly<Record<string, unknown>>;
  beforeAll(async () => {
    compose = parse(await textOf("deploy/compose/compose.yaml"), { merge: true });
    services = fieldsOf(fieldsOf(compose)["services"]);
  });

  it("has keys of the Compose specification only, and names only what it declares", () =>
    expect(composeProblems(compose)).toEqual([]));

  it("starts Mosquitto, the bridge and Home Assistant", () =>
    expect(Object.keys(services)).toEqual(["mosquitto", "bridge", "homeassistant"]));

  it.each(["mosquitto", "bridge"])("gives %s no liberty it does not need", (name) =>
    expect(liberties(services[name])).toEqual([]),
  );

  it("gives Home Assistant no liberty but those its image needs", () =>
    expect(liberties(services["homeassistant"])).toEqual([
      "its root file system can be written",
      "it has capabilities",
      "it runs as root",
      "it has no limits",
    ]));

  it("opens the broker to this computer only, unless an address is given", () => {
    expect(textsOf(fieldsOf(services["mosquitto"])["ports"])).toEqual([
      "${MQTT_ADDRESS:-127.0.0.1}:1883:1883",
    ]);
    expect(fieldsOf(services["bridge"])["ports"]).toBeUndefined();
  });

  it("asks the bridge's health as its Dockerfile does", async () => {
    const [, asked = ""] = /^HEALTHCHECK .*CMD (.*)$/m.exec(await textOf("Dockerfile")) ?? [];
    const { test: [kind, ...command] = [] } = fieldsOf(fieldsOf(services["bridge"])["healthcheck"]) as {
      readonly test?: readonly string[];
    };
    expect({ kind, command }).toEqual({ kind: "CMD", command: JSON.parse(asked) as unknown });
  });

  it("comes with a configuration that passes `check`", async () => {
    const text = await textOf("deploy/compose/config.example.yaml");
    const result = await load(text, { secrets: "platform_token: t-1\nmqtt_password: p-1\n", env: {} });
    expect((result.ok ? result.warnings : result.problems).map(formatProblem)).toEqual([]);
    expect(result.ok && result.configuration.mqtt).toMatchObject({
      url: "mqtt://mosquitto:1883",
      username: "bridge",
    });
  });

  it("is refused by the rules when it breaks them", () => {
    const wrong = {
      version: "3",
      services: { a: { depends_on: { b: {} }, volumes: ["data:/data", "./x:/x"], helthcheck: {} } },
    };
    expect(composeProblems(wrong)).toEqual([
      "version: no such key",
      "a.helthcheck: no such key",
      "a: neither image nor build",
      "a depends on b, which is not there",
      "a: the volume data is not declared",
    ]);
    expect(liberties({ user: "0:0", privileged: true, network_mode: "host" })).toHaveLength(8);
  });
});
