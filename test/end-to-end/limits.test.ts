import { describe, expect } from "vitest";
import { brokers, type BrokerUnderTest } from "./support/brokers.js";
import { houseOf } from "./support/house.js";
import { installation } from "./support/installation.js";
import { type Configuration, configurationFor, type Stage } from "./support/stage.js";
import { it } from "./support/staged.js";
import { ask, fields } from "./support/watch.js";

/*
 * What limits commands, in the built program at each kind of broker: what a guard allows, what counts as measured, locks, and
 * leases that end whatever happens to the bridge. LEASE_KILLS says how often a lease is killed (6 without it).
 */

const quick = { settle: "100ms", confirm_within: "3s" };
const wind = { sensor: "weather/wind", above: 12, clear_at: 9, clear_after: "1s", allow: ["close", "0..10"] };

const configured: Configuration = {
  weather: { wind: { topic: "weather/wind", field: "speed", stale_after: "30s" } },
  mirror: "listed",
  homeassistant: { enabled: false },
  commands: { min_interval: "0s" },
  controllers: {
    "GH-0001": {
      actuators: {
        roof: {
          ...{ kind: "skylight", address: "101", ...quick, travel_time: "200ms" },
          limits: { guards: { wind: { ...wind, then: "close" } } },
        },
        valve: { kind: "irrigation", address: "210", ...quick, limits: { at_most: "1h" } },
      },
    },
  },
};

async function scene(stage: Stage, broker: BrokerUnderTest) {
  const platform = await stage.platform({ controllers: 1 });
  const there = await installation(stage, broker);
  const start = (more: Configuration = {}) =>
    there.start(configurationFor(platform.url, there.section, { ...configured, ...more }));
  await start();
  const { watch } = there;
  const house = houseOf("GH-0001", { platform, watch });
  const allowed = (actuator = "roof") => fields(house.latest(actuator, "allowed"));
  const blow = (speed: number, retain = false) =>
    watch.publish("weather/wind", JSON.stringify({ speed }), { retain });
  const untilWords = (words: readonly string[]) =>
    watch.untilTrue(
      () => JSON.stringify(allowed()["words"]) === JSON.stringify(words),
      `allowed are ${words.join(", ")}`,
    );
  const restart = async (signal: NodeJS.Signals, more: Configuration = {}) => {
    await there.bridge.end(signal);
    await start(more);
  };
  return { there, watch, house, start, restart, allowed, blow, untilWords };
}

const all = ["open", "close", "auto"];

describe.each(brokers)("limits over $name", { timeout: 180_000 }, (broker) => {
  it("a guard holds until its value is good, refuses with its numbers, and sends once when it begins", async ({
    stage,
  }) => {
    const { house, watch, allowed, blow, untilWords } = await scene(stage, broker);
    await untilWords(["close"]);
    expect(allowed()).toMatchObject({
      degrees: { min: 0, max: 10 },
      because: [{ rule: "wind", quality: "stale" }],
    });
    if (!broker.embedded) {
      const online = watch.seen.findIndex(
        ({ topic, payload }) => topic === "greenhouse/bridge/state" && payload === "online",
      );
      const before = watch.seen.slice(0, online).map(({ topic }) => topic);
      for (const actuator of ["roof", "valve"])
        expect(before).toContain(`greenhouse/gh-0001/actuator/${actuator}/allowed`);
    }
    await blow(3);
    await untilWords(all);
    expect(await house.command("roof", "open")).toMatchObject({ outcome: "confirmed", interlock: null });
    await blow(14);
    await watch.untilTrue(
      () => house.results("roof").some(({ by, outcome }) => by === "rule wind" && outcome === "confirmed"),
      "what the guard sends is confirmed",
    );
    expect(await house.command("roof", { command: "open", force: true })).toMatchObject({
      ...{ outcome: "refused", reason: "interlock", steps: [] },
      interlock: { rule: "wind", input: "weather/wind", value: 14, limit: 12, quality: "good" },
    });
    expect(await house.posted("101")).toEqual(["10010", "10001"]);
    const told = watch.seen.filter(
      ({ topic, payload }) => topic === "greenhouse/bridge/event" && payload.includes("guard_"),
    );
    expect(told.map(({ payload }) => JSON.parse(payload) as unknown)).toMatchObject([
      { type: "guard_tripped", controller: "gh-0001", actuator: "roof", rule: "wind", value: 14, limit: 12 },
    ]);
  });

  it("a retained message counts nothing, a live one whatever its flag on MQTT 5", async ({ stage }) => {
    const { restart, blow, untilWords, allowed } = await scene(stage, broker);
    await blow(3, true);
    if (broker.version === 5) await untilWords(all);
    if (broker.embedded) return;
    await restart("SIGTERM");
    await untilWords(["close"]);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(allowed()["words"]).toEqual(["close"]);
    await blow(3);
    await untilWords(all);
  });

  it("a lock outlives the bridge, names its holder, and refuses everything", async ({ stage }) => {
    const { restart, watch, house } = await scene(stage, broker);
    const about = { controller: "gh-0001", actuator: "valve" };
    expect(await ask(watch, "lock", { ...about, by: "anna", until: "2h" })).toMatchObject({ status: "ok" });
    await watch.untilTrue(() => house.latest("valve", "lock").includes("anna"), "the lock is shown");
    if (!broker.embedded) await restart("SIGKILL");
    expect(await house.command("valve", "on")).toMatchObject({
      reason: "interlock",
      interlock: { rule: "lock" },
    });
    expect(await ask(watch, "unlock", { ...about, by: "ben" })).toMatchObject({ status: "error" });
    expect(await ask(watch, "unlock", { ...about, by: "anna" })).toMatchObject({ status: "ok" });
    await watch.untilTrue(() => house.latest("valve", "lock") === "", "the lock is gone");
    expect(await house.command("valve", "on")).toMatchObject({ outcome: "confirmed" });
    expect(fields(house.latest("valve", "lease"))).toMatchObject({ command: "on", ends_with: "off" });
  });
});

it.for(brokers.filter(({ embedded }) => !embedded))(
  "a run whose data are lost clears the locks and alarms of before from $name, and says so",
  { timeout: 120_000 },
  async (broker, { stage }) => {
    const { restart, watch, house } = await scene(stage, broker);
    const lock = { controller: "gh-0001", actuator: "valve", by: "anna" };
    await watch.publish("greenhouse/bridge/request/lock", JSON.stringify(lock));
    const lockShown = () => house.latest("valve", "lock");
    await watch.untilTrue(() => lockShown().includes("anna"), "the lock is shown");
    const left = "greenhouse/alarm/command_problem.gh-0001.valve";
    await watch.publish(left, JSON.stringify({ id: "x", state: "active" }), { retain: true });
    await restart("SIGKILL", { data_dir: "another" });
    const isLost = () => fields(watch.latest("greenhouse/alarm/state_lost"))["state"] === "active";
    await watch.untilTrue(isLost, "the alarm says that state is lost");
    await watch.untilTrue(() => lockShown() === "", "the lock is not shown any more");
    await watch.untilTrue(() => watch.latest(left) === "", "the alarm is not shown any more");
    expect(await house.command("valve", "on")).toMatchObject({ outcome: "confirmed" });
  },
);

const kills = Number(process.env["LEASE_KILLS"] ?? 6);
const [mosquitto5] = brokers;

it(
  `kill -9 at any step of a lease: the valve is off after the next start (${kills} kills)`,
  { timeout: 120_000 + kills * 90_000 },
  async ({ stage }) => {
    const { there, start, house } = await scene(stage, mosquitto5);
    const wrong: string[] = [];
    for (let run = 0; run < kills; run++) {
      const id = `lease-${run}`;
      // The end of the one before may go first, and the distance between two commands counts as well.
      const leaseMs = 6_000;
      await house.send("valve", { command: "on", id, for: `${leaseMs}ms` });
      const step = run % 3;
      if (step === 0) await new Promise((resolve) => setTimeout(resolve, (run * 37) % 120));
      if (step === 1) await house.untilPhase("valve", id, "sending");
      if (step === 2) await house.untilPhase("valve", id, "done");
      await there.bridge.end("SIGKILL");
      const isOn = (await house.register("210")) === "1010";
      await new Promise((resolve) => setTimeout(resolve, run % 2 === 0 ? 0 : leaseMs));
      const startedAt = performance.now();
      await start();
      const until = performance.now() + 60_000;
      while ((await house.register("210")) === "1010" && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, 100));
      const register = await house.register("210");
      if (register === "1010") wrong.push(`${id} killed at ${step}: still on after a minute`);
      console.log(
        `lease ${run}, step ${step}: on ${String(isOn)}, off ${Math.round(performance.now() - startedAt)} ms after the restart`,
      );
    }
    expect(wrong).toEqual([]);
  },
);
