import { describe, expect, it } from "vitest";
import { bundleForMessage, bundleOf, fitForStrangers } from "../../src/status/bundle.js";
import { leaksIn, secrets, userHash } from "../canary/secrets.js";
import { loaded } from "../config/loading.js";

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
