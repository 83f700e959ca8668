import { describe, expect, it } from "vitest";
import { countRefusal, countsOver, takePlace } from "../../src/commands/intake.js";
import { emptyBook } from "../../src/commands/book.js";
import { incomingCommand } from "../../src/commands/service.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { fanBench } from "./benches.js";

describe("the allowance of a target", () => {
  const allowance = (target: "actuator" | "address" = "actuator") => {
    let { allowances } = emptyBook;
    return (targetId: string, now: number, isStop = false): boolean => {
      const about = { code: "GH-0001", target, targetId } as const;
      const after = takePlace(allowances, about, { isKnown: true, isStop }, now);
      if (after) allowances = after;
      return after !== null;
    };
  };

  it("of names without end is forgotten when it is over, and shared by those beyond a thousand", () => {
    const take = allowance("address");
    for (let n = 0; n < 1_000; n += 1) take(`invented${n}`, 0);
    const shared = Array.from({ length: 100 }, (_, n) => take(`more${n}`, 1)).filter(Boolean);
    expect(shared).toHaveLength(60);
    const later = Array.from({ length: 100 }, (_, n) => take(`more${n}`, 60_001)).filter(Boolean);
    expect(later).toHaveLength(100);
  });
});

describe("refusals that are only counted", () => {
  const result = (received_at: string) => ({
    ...{ id: "x", controller: "c", actuator: "a", command: null, value: null, outcome: "refused" as const },
    ...{ reason: "overloaded" as const, message: null, request_id: null, by: null, via: null, steps: [] },
    ...{ read_back: null, received_at, sent_at: null, finished_at: received_at, duration_ms: 0 },
    repeated: false,
    interlock: null,
  });

  it("stand under their own target, and beyond a thousand targets under none", () => {
    const invented = Array.from({ length: 1_100 }, (_, n) => `invented${n}`);
    let { refusals } = emptyBook;
    for (const actuator of [...invented, "invented0"])
      ({ refusals } = countRefusal(refusals, { controller: "GH-0001", actuator }, result("t"), true));
    const { over } = countsOver(refusals, 120_000);
    expect(over.find(({ actuator }) => actuator === "invented0")).toMatchObject({ count: 2 });
    expect(over.filter(({ count }) => count > 2)).toMatchObject([
      { controller: "*", actuator: "*", count: 100 },
    ]);
  });
});

const asked = { controller: "gh-0001", actuator: "roof", command: "on", value: "1010", by: "anna" };

describe("the log", () => {
  it("has a line of each command taken and one of its result: who, target, value, outcome", async () => {
    const bench = fanBench();
    await bench.run('{"command":"on","by":"anna","id":"a"}');
    expect(bench.lines).toEqual([
      ["command taken", { id: "a", ...asked, via: null }],
      [
        "command ended",
        {
          ...{ id: "a", ...asked, via: null, outcome: "confirmed", reason: null, message: null },
          ...{ read_back: "1010", duration_ms: expect.any(Number) as number },
        },
      ],
    ]);
  });

  it("has a line of a command that was refused", async () => {
    const bench = fanBench();
    await bench.run("dance");
    expect(bench.lines).toMatchObject([["command ended", { outcome: "refused", reason: "unknown_command" }]]);
  });

  it("is not flooded: above 60 refusals a minute for one target there is one line of how many", async () => {
    const bench = fanBench();
    for (let n = 0; n < 1_000; n++) bench.send("dance");
    await bench.clock.advance(61_000);
    await bench.journalAgain();
    expect(bench.lines).toHaveLength(61);
    expect(bench.lines.at(-1)).toMatchObject(["commands ended that were only counted", { count: 940 }]);
  });
});

const where = { type: "command", controllerId: "east", target: "actuator", id: "fan" } as const;

const responseOf = (responseTopic: string) =>
  incomingCommand(
    {
      topic: "greenhouse/east/actuator/fan/set",
      payload: Buffer.from("on"),
      retain: false,
      properties: { responseTopic },
    },
    where,
    { topics: topicsUnder("greenhouse"), responseTopics: ["clients/anna", "panel"] },
  ).response;

describe("a command that asks for an answer", () => {
  it.each([
    ["below the bridge's own topic for answers gets one", "greenhouse/response/anna/1"],
    ["of 512 bytes gets one", `greenhouse/response/${"x".repeat(512 - 20)}`],
    ["below a topic that the configuration allows gets one", "clients/anna/answers"],
    ["below another that it allows gets one", "panel/1"],
  ])("%s", (_, topic) => expect(responseOf(topic)).toEqual({ topic, correlationData: null }));

  it.each([
    ["on a topic of more than 512 bytes", `panel/${"温".repeat(171)}`],
    ["on a topic of more levels than brokers take", "panel/" + "a/".repeat(64) + "a"],
    ["on no topic", ""],
    ["with a wildcard", "panel/#"],
    ["under $", "$SYS/answers"],
    ["elsewhere under the bridge's base topic", "greenhouse/answers"],
    ["on the topic for answers itself", "greenhouse/response"],
    ["on nothing below it", "greenhouse/response/"],
    ["where it would be a command", "greenhouse/east/actuator/fan/set"],
    ["where it would be a request", "greenhouse/bridge/request/refresh"],
    ["where another program would obey it", "zigbee2mqtt/bridge/request/permit_join"],
    ["where it would be an announcement", "homeassistant/device/x/config"],
    ["where it would be Home Assistant's birth", "homeassistant/status"],
    ["where nothing was allowed", "answers/anna"],
    ["beside a topic that is allowed", "panels/1"],
    ["beside the bridge's base topic", "greenhouse2/response/1"],
    ["on a topic that is allowed as a first level only", "clients/anna"],
  ])("%s gets none there", (_, topic) => expect(responseOf(topic)).toBeNull());
});
