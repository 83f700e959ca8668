import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadFleet } from "../../src/config/fleet.js";
import { tempFolder } from "../mqtt-connection/support.js";
import { problemLines } from "./loading.js";

const platform =
  "platform: { business_url: https://b.example.com, realtime_url: https://r.example.com, token: t }\n";
const broker = "mqtt: { url: mqtt://broker.example.com }\n";
const servers = 'nats: [nats://a:4222, tls://b.example.com, "nats://[fd00::1]:4222"]';

describe("a cluster", () => {
  it("takes its servers, and says of itself what is usual", async () => {
    expect(
      await problemLines(`${platform}${broker}cluster: { ${servers}, credentials: "bridge:x" }\n`),
    ).toEqual([]);
  });

  it.each([
    ["", `cluster: { ${servers} }`, "cluster needs mqtt.url"],
    [broker, "cluster: {}", "nats"],
    [broker, "cluster: { nats: [http://a] }", "an address such as nats://nats1:4222"],
    [broker, "cluster: { nats: [nats://user:secret@a] }", "an address such as nats://nats1:4222"],
    [broker, `cluster: { ${servers}, name: Green houses }`, "a name of a-z, 0-9"],
    [broker, `cluster: { ${servers}, replicas: 0 }`, "from 1 to 5"],
    [broker, `cluster: { ${servers}, server: a }`, "unknown key"],
  ])("is refused: %s%s", async (mqtt, cluster, why) => {
    expect((await problemLines(`${platform}${mqtt}${cluster}\n`)).join("\n")).toContain(why);
  });

  it("of a fleet stands in the fleet's file, and each account knows of it", async () => {
    const folder = await tempFolder();
    await mkdir(join(folder, "accounts"));
    const write = (name: string, text: string) => writeFile(join(folder, name), text, { mode: 0o600 });
    await write("fleet.yaml", `defaults: { ${broker.trim()} }\ncluster: { ${servers} }\n`);
    await write("accounts/north.yaml", platform);
    await write("accounts/east.yaml", `${platform.replace("token: t", "token: e")}cluster: { ${servers} }\n`);
    const { accounts, problems } = await loadFleet(join(folder, "fleet.yaml"), { env: {} });
    expect(accounts.get("north")?.configuration.cluster).toMatchObject({ replicas: 3, name: "greenhouses" });
    expect(problems.map(({ message }) => message)).toEqual([
      "belongs into the file of the fleet, as its members share all accounts",
    ]);
  });
});
