import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { formatProblem } from "../../src/settings/problem.js";
import { servesPage } from "../../src/http/access.js";
import { hashPassword } from "../../src/runtime/passwords.js";
import { firstFiles, secretLines } from "../../src/setup/init/answers.js";
import { load } from "../config/loading.js";
import { composeProblems, liberties, type Service, servicesOf } from "./support/compose-rules.js";
import { textOf } from "./support/project.js";

describe("compose.yaml", () => {
  let compose: unknown;
  let services: Readonly<Record<string, Service>>;
  beforeAll(async () => {
    compose = parse(await textOf("deploy/compose/compose.yaml"), { merge: true });
    services = servicesOf(compose);
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

  it("opens broker and page to this computer only, unless an address is given", () => {
    expect(services["mosquitto"]?.ports).toEqual(["${MQTT_ADDRESS:-127.0.0.1}:1883:1883"]);
    expect(services["bridge"]?.ports).toEqual(["${PAGE_ADDRESS:-127.0.0.1}:8099:8099"]);
  });

  it("asks the bridge's health as its Dockerfile does", async () => {
    const [, asked = ""] = /^HEALTHCHECK .*CMD (.*)$/m.exec(await textOf("Dockerfile")) ?? [];
    expect(services["bridge"]?.healthcheck?.test).toEqual(["CMD", ...(JSON.parse(asked) as string[])]);
  });

  it("comes with a configuration that passes `check`", async () => {
    const text = await textOf("deploy/compose/config.example.yaml");
    const hash = await hashPassword("a long enough password");
    const secrets = `platform_token: t-1\nmqtt_password: p-1\nanna: "${hash}"\n`;
    const result = await load(text, { secrets, env: {} });
    expect((result.ok ? result.warnings : result.problems).map(formatProblem)).toEqual([]);
    expect(result.ok && result.configuration.mqtt).toMatchObject({
      url: "mqtt://mosquitto:1883",
      username: "bridge",
    });
    const http = result.ok && result.configuration.http;
    expect(http && servesPage(http)).toBe(true);
  });

  it("has for a page in a container what fits behind the answers to `init`", async () => {
    const hash = await hashPassword("a long enough password");
    const secret = (text: string) => ({ from: "secrets", text }) as const;
    const { configuration, secrets } = firstFiles(
      {
        platform: {
          business_url: "https://business.example.com",
          realtime_url: "https://realtime.example.com",
          token: secret("t-1"),
        },
        mqtt: { url: "mqtt://mosquitto:1883", username: "bridge", password: secret("p-1") },
      },
      new Set(),
    );
    const result = await load(configuration + (await textOf("deploy/compose/page.yaml")), {
      secrets: `${secretLines(secrets)}anna: "${hash}"\n`,
      env: {},
    });
    expect((result.ok ? result.warnings : result.problems).map(formatProblem)).toEqual([]);
    const http = result.ok && result.configuration.http;
    expect(http && servesPage(http) && http.host).toBe("0.0.0.0");
  });

  it("is refused by the rules when it breaks them", () => {
    const image = "x";
    const problemsOf = (service: object) => composeProblems({ services: { a: service } });
    expect(composeProblems({ version: "3", services: {} })).toEqual([expect.stringContaining("version")]);
    expect(problemsOf({ image, helthcheck: {} })).toEqual([expect.stringContaining("helthcheck")]);
    expect(problemsOf({})).toEqual(["services.a: neither image nor build"]);
    expect(problemsOf({ image, depends_on: { b: {} }, volumes: ["data:/data", "./x:/x"] })).toEqual([
      "a depends on b, which is not there",
      "a: the volume data is not declared",
    ]);
    expect(liberties({ user: "0:0", privileged: true, network_mode: "host" })).toHaveLength(8);
  });
});
