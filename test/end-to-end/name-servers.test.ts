import { execFileSync } from "node:child_process";
import { expect } from "vitest";
import { nameServer } from "../support/name-server.js";
import { configurationFor, mosquittoSection, type Stage } from "./support/stage.js";
import { airtemp, it } from "./support/staged.js";
import { fields, seenOn, until } from "./support/watch.js";

/*
 * The first name server of this computer never answers, as real packets have it: the C library would ask the next one after five
 * seconds. The program finds both in an `/etc/resolv.conf` of its own.
 */

const silentAddress = "127.0.0.77";
const secondAddress = "127.0.0.78";
const root = "greenhouse/gh-0001/actuator/motor";

/** Null where this computer gives no namespaces, or not the port of name servers. */
async function deadFirstServer(stage: Stage) {
  try {
    execFileSync("unshare", ["-rm", "true"], { stdio: "ignore" });
    const here = { a: ["127.0.0.1"] } as const;
    const silent = await nameServer(null, { address: silentAddress, port: 53 });
    await nameServer({ "business.test": here, "realtime.test": here }, { address: secondAddress, port: 53 });
    const lines = [`nameserver ${silentAddress}`, `nameserver ${secondAddress}`, ""];
    return { silent, resolvConf: await stage.write("resolv.conf", lines.join("\n")) };
  } catch {
    return null;
  }
}

it("a first name server that is dead holds back no reading, no command and no stop, and doctor names it", async ({
  stage,
  skip,
}) => {
  const servers = await deadFirstServer(stage);
  if (servers === null) {
    skip("NOT RUN: no mount namespace (unshare -rm), or no right to port 53");
    return;
  }
  const { resolvConf, silent } = servers;
  const platform = await stage.platform();
  const at = (host: string) => platform.url.replace("127.0.0.1", host);
  const broker = await stage.mosquitto({ users: { bridge: "x", watch: "x" } });
  const watch = await stage.watch({
    url: broker.url,
    protocolVersion: 5,
    username: "watch",
    password: "x",
  });
  const base = configurationFor(platform.url, mosquittoSection(broker.url));
  await stage.bridge(
    {
      ...base,
      mqtt: { url: broker.url, username: "bridge", password: "x" },
      platform: {
        business_url: at("business.test"),
        realtime_url: at("realtime.test"),
        allow_insecure: true,
        token: "t",
        requests_per_minute: 0,
      },
      controllers: {
        "GH-0001": {
          actuators: { motor: { kind: "motor", address: "300", values: { open: "00000001" } } },
        },
      },
    },
    { resolvConf },
  );
  await until(watch, `${airtemp}/quality`, "good");
  expect(silent.asked).toContain("realtime.test");
  await until(watch, `${root}/state`, () => true);
  await watch.publish(`${root}/set`, JSON.stringify({ command: "open", id: "an open" }));
  const ended = await until(watch, `${root}/result`, (text) => fields(text)["id"] === "an open");
  expect(fields(ended)).toMatchObject({ outcome: "confirmed" });
  // Longer than a connection is kept, so that the name is wanted again.
  const readings = seenOn(watch, `${airtemp}/json`).length;
  await watch.untilTrue(() => seenOn(watch, `${airtemp}/json`).length > readings + 1, "readings go on");
  const sentAt = Date.now();
  await watch.publish(`${root}/set`, JSON.stringify({ command: "stop", id: "a stop" }));
  await until(watch, `${root}/result`, (text) => fields(text)["id"] === "a stop");
  const stop = (await platform.posts()).find((one) => one.code === "GH-0001" && one.at >= sentAt);
  expect((stop?.at ?? Infinity) - sentAt).toBeLessThan(2_000);
  const { stdout } = await stage.program(["doctor"], { resolvConf }).ended;
  const about = stdout.split("\n").filter((line) => line.includes("realtime.test"));
  expect(about.join("\n")).toMatch(/warning.*looked up in \d+ ms.*name server 127\.0\.0\.77 does not answer/);
});
