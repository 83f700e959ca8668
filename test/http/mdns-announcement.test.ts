import { describe, expect, it, onTestFinished } from "vitest";
import { hostname } from "node:os";
import multicastDns from "multicast-dns";
import { isAnnounced, judge } from "../../src/http/access.js";
import { qrOf } from "../../src/http/page-address.js";
import { announce, answersTo, recordsOf } from "../../src/http/mdns-announcement.js";
import { systemClock } from "../../src/runtime/clock.js";
import { silentLog } from "../../src/runtime/log.js";
import { loopback } from "./support.js";

const open = { ...loopback, host: "0.0.0.0", page: true };
const records = recordsOf({ name: "greenhouse2mqtt on pi", port: 8099, addresses: ["192.0.2.7"] });

describe("the page has a name in its network", () => {
  it.each([
    ["where other computers reach it", open, true],
    ["not on this computer alone", loopback, false],
    ["not where it is turned off", { ...open, mdns: false }, false],
    ["not without a page", { ...open, page: false }, false],
  ])("%s", (_, listener, expected) => {
    expect(isAnnounced(listener)).toBe(expected);
    const socket = { remoteAddress: "192.0.2.1", localAddress: "192.0.2.7" };
    const asked = { headers: { host: "greenhouse2mqtt.local:8099" }, socket };
    const isServed = !("status" in judge(asked, listener, { find: () => null }));
    expect(isServed).toBe(expected);
  });

  it.each([
    [{ name: "Greenhouse2mqtt.local", type: "A" }, [{ type: "A", data: "192.0.2.7" }]],
    [{ name: "_http._tcp.local", type: "PTR" }, [{ data: "greenhouse2mqtt on pi._http._tcp.local" }]],
    [
      { name: "greenhouse2mqtt on pi._http._tcp.local", type: "ANY" },
      [{ data: { target: "greenhouse2mqtt.local", port: 8099 } }, { data: "path=/" }],
    ],
    [{ name: "greenhouse2mqtt.local", type: "TXT" }, []],
    [{ name: "printer.local", type: "A" }, []],
  ] as const)("%j is answered with what it is about", (asked, expected) =>
    expect(answersTo([asked], records)).toMatchObject(expected),
  );

  it("on the wire, and a failure is told and ends nothing", async () => {
    const warnings: unknown[] = [];
    const log = { ...silentLog, warn: (facts: unknown) => void warnings.push(facts) };
    const end = new AbortController();
    const running = announce({ listener: open, port: 8099, clock: systemClock, log }, end.signal);
    const asking = multicastDns();
    onTestFinished(() => asking.destroy());
    const heard: unknown[] = [];
    asking.on("response", ({ answers }) => {
      heard.push(
        ...answers.filter(({ type, name }) => type === "SRV" && name.includes("greenhouse2mqtt on")),
      );
    });
    for (const part of ["error", "warning"] as const) asking.on(part, (problem) => heard.push(problem));
    // A computer without a network that takes part says so instead.
    const isOver = () => {
      asking.query([{ name: "_http._tcp.local", type: "PTR" }]);
      asking.query([{ name: `greenhouse2mqtt on ${hostname()}._http._tcp.local`, type: "SRV" }]);
      return warnings.length + heard.length > 0;
    };
    await expect.poll(isOver).toBe(true);
    end.abort();
    await running;
  });
});

it("its address is a picture for a phone only where a phone can reach it", async () => {
  expect(await qrOf(loopback, 8099)).toBeNull();
  expect((await qrOf({ ...open, host: "192.0.2.7" }, 8099))?.split("\n").length).toBeGreaterThan(10);
});
