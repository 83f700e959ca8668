import { describe, expect } from "vitest";
import { parse } from "yaml";
import { kindRows, type KindRow } from "../../src/greenhouse/actuator-kinds.js";
import { whileRuns } from "../end-to-end/support/program.js";
import { canaries, type Configuration, mosquittoSection, type Stage } from "../end-to-end/support/stage.js";
import { it } from "../end-to-end/support/staged.js";
import { fields, until, type Watch } from "../end-to-end/support/watch.js";
import { startSecondPlatform } from "./platform.js";

/*
 * The second platform as a new user meets it: `doctor`, `discover`, the file that it wrote, and then every value of every kind. The only
 * things added by hand are what the document does not have: the machine and the motor that stand in no type.
 */

type Actuators = Readonly<Record<string, Configuration & { readonly kind: keyof typeof kindRows }>>;

const quick = { settle: "200ms", confirm_within: "6s" };

const byHand: Actuators = {
  blower: { kind: "hot_air_blower", address: "D40" },
  roller: { kind: "motor", address: "D41", values: { open: "00010000", close: "00001000" } },
};

async function met(stage: Stage, url: string) {
  const broker = await stage.mosquitto();
  const watch = await stage.watch({ url: broker.url, protocolVersion: 5 });
  const platform = { business_url: url, realtime_url: url, token: canaries.token, requests_per_minute: 0 };
  const first = { platform, ...mosquittoSection(broker.url), http: false, data_dir: "./data" };
  await stage.write("config.yaml", JSON.stringify(first));
  const printed = async (...args: string[]) => {
    const { stdout, stderr, code } = await stage.program(args).ended;
    return { text: `${stdout}${stderr}`, code };
  };
  const advice = await printed("doctor");
  await printed("discover", "-o", "found.yaml");
  const found = parse((await stage.read("found.yaml")).replaceAll(/!(?:env|secret) /g, "")) as {
    readonly controllers: Readonly<Record<string, { readonly actuators: Actuators }>>;
  };
  const [[code, { actuators }] = ["", { actuators: {} as Actuators }]] = Object.entries(found.controllers);
  const all = Object.fromEntries(
    Object.entries({ ...actuators, ...byHand }).map(([id, own]) => [id, { ...own, ...quick }]),
  );
  /** The bridge with these and what somebody wrote below `kinds`. */
  const run = async (kinds: Configuration) => {
    const mark = watch.mark();
    const controllers = { [code]: { id: "house", actuators: all } };
    const bridge = await stage.bridge(
      { ...first, kinds, controllers, commands: { min_interval: "0s" } },
      { logLevel: "warn" },
    );
    await whileRuns(bridge, until(watch, "greenhouse/bridge/state", "online", 30_000));
    await watch.untilTrue(
      () => watch.seen.slice(mark).some(({ topic }) => topic === "greenhouse/house/actuator/roller/value"),
      "everything was read",
      30_000,
    );
    const results = await Promise.all(
      Object.entries(all).map(async ([id, { kind }]) => {
        const ends: (readonly [command: string, outcome: string, message: string])[] = [];
        for (const command of commandsOf(kind, all[id] ?? {})) ends.push(await ended(watch, id, command));
        return ends.map(([command, ...end]) => [`${id} ${command}`, ...end] as const);
      }),
    );
    await bridge.end("SIGTERM");
    return results.flat();
  };
  return { advice, found: Object.keys(actuators), run };
}

function commandsOf(kind: keyof typeof kindRows, { values = {} }: Configuration): readonly string[] {
  const row: KindRow = kindRows[kind];
  const words = Object.keys({ ...row.values, ...(values as object) });
  return row.positionMode === null ? words : ["open", "45", "close", "auto", "0", "100"];
}

async function ended(watch: Watch, id: string, command: string) {
  const mark = watch.mark();
  const [topic, own] = [`greenhouse/house/actuator/${id}`, `${id} ${command} ${mark}`];
  await watch.publish(`${topic}/set`, JSON.stringify({ command, id: own, force: true }));
  const find = () =>
    watch.seen
      .slice(mark)
      .filter((one) => one.topic === `${topic}/result`)
      .map(({ payload }) => fields(payload))
      .find((one) => one["id"] === own);
  await watch.untilTrue(() => find() !== undefined, `${own} ends`, 60_000);
  const { outcome, message } = find() ?? {};
  return [command, String(outcome), String(message)] as const;
}

const count = (ends: readonly (readonly string[])[], outcome: string) =>
  ends.filter(([, own]) => own === outcome).length;

describe("a platform that shares nothing with the simulated one", () => {
  it("that tells what was set needs no setting: doctor fails nothing, discover finds 11 of 11, each of 61 commands is confirmed", async ({
    stage,
  }) => {
    const platform = stage.keep(await startSecondPlatform({ tellsPosition: false }));
    const { advice, found, run } = await met(stage, platform.url);
    expect(advice.text).not.toMatch(/^failed /m);
    expect(found).toHaveLength(11);
    const ends = await run({});
    expect(ends.filter(([, outcome]) => outcome !== "confirmed")).toEqual([]);
    expect(ends).toHaveLength(61);
    expect(platform.posts.filter(({ isTaken }) => !isTaken)).toEqual([]);
  }, 120_000);

  it("that tells how far a window is needs one setting, which the result names; with it all is confirmed that is shown", async ({
    stage,
  }) => {
    const platform = stage.keep(await startSecondPlatform({ tellsPosition: true }));
    const { advice, found, run } = await met(stage, platform.url);
    expect(advice.text).not.toMatch(/^failed /m);
    expect(found).toHaveLength(11);
    const before = await run({});
    const unconfirmed = before.filter(([, outcome]) => outcome !== "confirmed");
    const named = unconfirmed.map(([, , message]) => /reads: \{ .*? \}/.exec(message)?.[0] ?? message);
    // What the results say is written as it stands, once for each kind.
    const sections = [...new Set(named)].map((line) => parse(`{ ${line} }`) as { readonly reads: object });
    const reads = Object.assign({}, ...sections.map((one) => one.reads)) as object;
    expect(reads).toEqual({ open: ["100"], closed: ["0"] });
    const kinds = ["skylight", "shade_curtain", "thermal_curtain", "side_vent"];
    const after = await run(Object.fromEntries(kinds.map((kind) => [kind, { reads }])));
    expect(after.filter(([, outcome]) => outcome !== "confirmed")).toEqual([]);
    expect([count(before, "confirmed"), count(after, "confirmed")]).toEqual([49, 61]);
  }, 120_000);
});
