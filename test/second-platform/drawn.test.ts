import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { discovered, doctorSays } from "../readings/installed.js";
import { configured, PlayedBridge, PlayedWorld, type Section } from "../readings/played.js";
import { type Asked, DrawnPlatform } from "./drawn.js";

/*
 * What `discover` writes of a platform drawn from a seed, and then every word of every kind with that file and no other setting. The seed
 * stands in the name; `SEED="…"` plays others.
 */

const given = process.env["SEED"];
const seeds = (given ?? "1 2 3 4 5 6 7 8 9 10 25").split(" ").map(Number);

class DrawnWorld extends PlayedWorld {
  readonly platform: DrawnPlatform;

  constructor(...drawn: ConstructorParameters<typeof DrawnPlatform>) {
    super();
    this.platform = new DrawnPlatform(...drawn);
  }

  protected override reply(asked: Asked) {
    return { ...this.platform.answer(asked, this.now), headers: {}, delayMs: 0 };
  }
}

interface Found {
  readonly controllers: Readonly<
    Record<
      string,
      { readonly actuators: Readonly<Record<string, Section & { readonly address: string | number }>> }
    >
  >;
}

const quick = { settle: "500ms", travel_time: "25s" };

/** What is written ready to be switched on, of the addresses that somebody knows to be right. */
const offered = (
  text: string,
  isRight: (address: string) => boolean,
): Found["controllers"][string]["actuators"] =>
  Object.fromEntries(
    [...text.matchAll(/^ +# +(\w+): (\{ kind: .*\}) # now /gm)].flatMap(([, id = "", entry = ""]) => {
      const own = parse(entry) as Section & { readonly address: string | number };
      return isRight(String(own.address)) ? [[id, own] as const] : [];
    }),
  );

/** What stands in no type of the document. */
const byHand = (platform: DrawnPlatform): Readonly<Record<string, Section>> =>
  Object.fromEntries(
    [...platform.registers.values()].flatMap(({ type, group, address }) => {
      if (type !== null) return [];
      const values = { open: "00000001", close: "00000010" };
      return [
        [`own_${group}`, group === "motor" ? { kind: group, address, values } : { kind: group, address }],
      ];
    }),
  );

describe.each(seeds)("a platform drawn from the document with the seed %i", (seed) =>
  it("is found as it stands, and each command moves what it is meant for, once, and is confirmed", async () => {
    const world = new DrawnWorld(seed);
    const { platform } = world;
    const { code, registers, manners } = platform;
    const base: Section = { commands: { min_interval: "0s" }, mirror: "all" };
    const text = await discovered({ platform: world, configuration: await configured(base) });
    const typed = [...registers.values()].filter(({ type, group }) => type !== null && group !== "setting");
    const addresses = typed.map(({ address }) => address);
    const sure =
      (parse(text.replaceAll(/!(?:env|secret) /g, "")) as Found).controllers[code]?.actuators ?? {};
    const addressesOf = (all: typeof sure) => Object.values(all).map(({ address }) => String(address));
    const unsure = offered(text, (address) => addresses.includes(address));
    const found = { ...sure, ...unsure };
    expect(addressesOf(found).toSorted(), text).toEqual(addresses.toSorted());
    // A type that lists its device alone leaves no doubt.
    if (manners.beside === 0) expect(unsure).toEqual({});
    const all: Readonly<Record<string, Section>> = { ...found, ...byHand(platform) };
    const actuators = Object.fromEntries(
      Object.entries(all).map(([id, own]) => {
        const one = registers.get(String(own["address"]));
        const { travel_time, ...still } = quick;
        const travels = one?.group === "window" || one?.group === "motor";
        return [
          id,
          { ...own, address: String(own["address"]), ...(travels ? { ...still, travel_time } : still) },
        ];
      }),
    );
    const bridge = await PlayedBridge.started(
      world,
      await configured({ ...base, controllers: { [code]: { actuators } } }),
    );
    // As they were at the start, which is when they were asked for.
    const running = platform.running(world.now).map((runs) => (runs ? "on" : "off"));
    const ends: string[] = [];
    const wanted: string[] = [];
    for (const [id, { address }] of Object.entries(actuators)) {
      const one = registers.get(address);
      for (const word of one === undefined ? [] : platform.wordsOf(one)) {
        const { outcome, message } = await bridge.command(code, id, word, { force: true });
        await world.pass(30_000);
        ends.push(
          `${id} ${word}: ${outcome} ${String(message ?? "")}, ${one === undefined ? "" : platform.heldAt(one, world.now)}`,
        );
        wanted.push(`${id} ${word}: confirmed , ${one === undefined ? "" : platform.valueOf(one, word)}`);
      }
    }
    const shown = bridge.shown(`${code.toLowerCase()}/availability`);
    const readings = [...bridge.retained].filter(([topic]) => /\/sensor\/[^/]+\/quality$/.test(topic));
    const statuses = [...bridge.retained].filter(([topic]) => /\/status\/[^/]+$/.test(topic));
    await bridge.end();
    expect(ends, JSON.stringify(manners)).toEqual(wanted);
    expect(platform.posts.filter(({ isTaken }) => !isTaken)).toEqual([]);
    expect(shown).toBe("online");
    expect(readings.map(([, quality]) => quality)).toEqual(["good", "good", "good"]);
    expect(statuses.map(([, state]) => state)).toEqual(running);
  }),
);

it("a platform that wants every read to say whether it is fresh is polled with the line that doctor names", async () => {
  const house = async (more: Section) => {
    const world = new DrawnWorld(1, true);
    const { code } = world.platform;
    const machine = Object.values(byHand(world.platform)).find(({ kind }) => kind === "machine");
    const controllers = { [code]: { actuators: { blower: { ...machine, settle: "500ms" } } } };
    return { platform: world, code, configuration: await configured({ controllers, ...more }) };
  };
  const shown = async (more: Section) => {
    const { platform, code, configuration } = await house(more);
    const bridge = await PlayedBridge.started(platform, configuration);
    const state = bridge.shown(`${code.toLowerCase()}/actuator/blower/state`);
    const { outcome } = await bridge.command(code, "blower", "on", { force: true });
    await bridge.end();
    return [state, outcome];
  };
  const said = await doctorSays(await house({}), "shapes.get-value");
  const [, line = ""] = /add (platform: .*) \(found/.exec(said) ?? [];
  expect(await shown({}), said).toEqual(["", "confirmed"]);
  expect(await shown(parse(`{ ${line} }`) as Section), said).toEqual([
    expect.stringMatching(/^(?:on|off|auto)$/),
    "confirmed",
  ]);
});
