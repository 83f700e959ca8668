import { expect, it } from "vitest";
import { house, type World } from "../support/world.js";
import type { Rows } from "../support/rows.js";

/* A command that does not go as it should: the event, the problem, and the state as the platform shows it. */

interface Trouble {
  readonly outcome: string;
  readonly reason?: string;
  readonly hasProblem: boolean;
  readonly option: string;
  readonly arrange: (world: World) => Promise<void>;
}

const fault = (entry: Readonly<Record<string, unknown>>) => (world: World) =>
  world.platform.fault({ controller: house, count: 1, ...entry });

const troubles: readonly Trouble[] = [
  {
    ...{ outcome: "refused", reason: "unknown_command", hasProblem: false, option: "Position" },
    arrange: () => Promise.resolve(),
  },
  {
    ...{ outcome: "rejected", hasProblem: true, option: "Open" },
    arrange: fault({ fault: "body_code", operation: "set-value", code: 500 }),
  },
  {
    ...{ outcome: "unconfirmed", hasProblem: true, option: "Automatic" },
    arrange: fault({ fault: "ignore", address: "101" }),
  },
];

const select = "select.gh_0001_left_skylight_mode";
const event = "event.gh_0001_command_result";
const problem = "binary_sensor.gh_0001_command_problem";

export function outcomes(world: () => World, rows: Rows): void {
  it("a refusal, a rejection and what was not confirmed show as such, and the state stays what it is", async () => {
    const one = world();
    const { ha } = one;
    const { entities } = await idsOf(one);
    const [mode, told, flag] = [select, event, problem].map((id) => entities.get(id) ?? id) as [
      string,
      string,
      string,
    ];
    const before = ha.state(mode)?.state;
    for (const { outcome, reason, hasProblem, option, arrange } of troubles) {
      await arrange(one);
      const since = performance.now();
      await ha.act("select.select_option", mode, { option });
      const isTold = () =>
        ha
          .shown(told, since)
          .some(
            ({ attributes: { event_type: type, actuator } }) =>
              type === outcome && actuator === "left_skylight",
          );
      await ha.until(`the event tells ${outcome}`, isTold);
      if (reason !== undefined) expect(ha.shown(told, since).at(-1)?.attributes["reason"]).toBe(reason);
      await ha.until(
        `the problem of ${outcome}`,
        () => ha.state(flag)?.state === (hasProblem ? "on" : "off"),
      );
      expect(
        ha
          .shown(mode, since)
          .map(({ state }) => state)
          .filter((state) => state !== before),
      ).toEqual([]);
      if (hasProblem) expect(ha.state(flag)?.attributes["message"]).toMatch(/^left_skylight /);
    }
    await ha.act("button.press", entities.get("button.gh_0001_acknowledge_problem") ?? "");
    await ha.until("the problem is acknowledged", () => ha.state(flag)?.state === "off");
    rows.tell(
      "refused, rejected, unconfirmed",
      `${troubles.length} of ${troubles.length}: event, problem, unchanged state`,
    );
  });
}

/** Entity ids as they are here by those that the bridge suggests: older releases make them of names. */
export async function idsOf(world: World) {
  const registry = (await world.ha.registry()).filter(({ platform }) => platform === "mqtt");
  const byUnique = new Map(
    registry.map((one) => [`${one.entity_id.split(".")[0] ?? ""}/${one.unique_id}`, one.entity_id]),
  );
  const entities = new Map<string, string>();
  for (const [key, { default_entity_id: wanted }] of world.announced())
    if (typeof wanted === "string") entities.set(wanted, byUnique.get(key) ?? wanted);
  return { entities };
}
