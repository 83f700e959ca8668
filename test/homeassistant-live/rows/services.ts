import { expect, it } from "vitest";
import type { State } from "../support/client.js";
import { house, registered, type World } from "../support/world.js";
import type { Rows } from "../support/rows.js";

/* Each service of each component: to the platform's register and back, with nothing shown in between. */

type Looks = (state: State) => string;
const plain: Looks = ({ state }) => state;
const opening: Looks = ({ state, attributes }) => `${state} ${String(attributes["current_position"])}`;

interface Step {
  readonly key: string;
  readonly service: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly address: string;
  /** What somebody sets its register to by hand first. */
  readonly before?: string;
  /** What the platform's register then holds. */
  readonly register: string;
  /** What is shown before, and after; nothing else in between. */
  readonly shown: readonly string[];
  readonly looks?: Looks;
  /** The entity that shows it, where the one that is acted on shows nothing of it. */
  readonly shows?: string;
}

const cover = (
  key: string,
  address: string,
  ...steps: [string, object, string, readonly string[]][]
): Step[] =>
  steps.map(([service, data, register, shown]) => ({
    key: `cover/greenhouse2mqtt_${house}_cover:${key}`,
    service: `cover.${service}`,
    data: { ...data },
    address,
    register,
    shown,
    looks: opening,
  }));

const chosen = (key: string, address: string, ...steps: [string, string][]): Step[] =>
  steps.map(([option, register]) => ({
    key: `select/greenhouse2mqtt_${house}_select:${key}`,
    service: "select.select_option",
    data: { option },
    address,
    register,
    shown: [option],
  }));

const turned = (domain: string, key: string, address: string): Step[] =>
  (["on", "off"] as const).map((word) => ({
    key: `${domain}/greenhouse2mqtt_${house}_${domain}:${key}`,
    service: `${domain}.turn_${word}`,
    address,
    register: word === "on" ? "1010" : "1001",
    shown: [word],
  }));

const valve: readonly Step[] = (["open", "close"] as const).map((word) => ({
  key: `valve/greenhouse2mqtt_${house}_valve:210`,
  service: `valve.${word}_valve`,
  address: "210",
  register: word === "open" ? "1010" : "1001",
  shown: [word === "open" ? "open" : "closed"],
}));

const steps: readonly Step[] = [
  ...cover(
    "101",
    "101",
    ["open_cover", {}, "10010", ["open 100"]],
    ["set_cover_position", { position: 40 }, "40", ["open 40"]],
    ["set_cover_position", { position: 0 }, "0", ["closed 0"]],
    ["set_cover_position", { position: 70 }, "70", ["open 70"]],
    ["close_cover", {}, "10001", ["closed 0"]],
  ),
  ...cover("108", "109", ["set_cover_position", { position: 25 }, "25", ["open 25"]]),
  ...chosen("101", "101", ["Automatic", "11000"], ["Open", "10010"], ["Closed", "10001"]),
  ...chosen(
    "140",
    "140",
    ["Fan 1", "10000"],
    ["Fans 1 and 2", "11000"],
    ["Fans 1, 2 and 3", "11100"],
    ["All on", "11110"],
    ["Off", "00000"],
  ),
  ...chosen("210", "210", ["Rotation", "11111111"], ["Automatic", "1100"], ["On", "1010"], ["Off", "1001"]),
  {
    key: `button/greenhouse2mqtt_${house}_stop:400`,
    service: "button.press",
    address: "400",
    register: "0110",
    shown: ["Stop"],
    shows: `select/greenhouse2mqtt_${house}_select:400`,
  },
  ...chosen("400", "400", ["High", "1001"]),
  // Its stop value stands at the address of another motor, which shows in the register alone.
  {
    key: `cover/greenhouse2mqtt_${house}_cover:104`,
    service: "cover.stop_cover",
    address: "300",
    before: "00000001",
    register: "00000100",
    shown: [],
  },
  ...turned("switch", "150", "150"),
  ...chosen("310", "310", ["On", "1010"], ["Off", "1001"]),
  ...chosen("320", "320", ["Off", "1001"], ["Automatic", "1100"]),
  ...valve,
  ...turned("light", "220", "220"),
  // From off it is switched on first, which the platform shows.
  ...chosen("220", "220", ["On", "1010"], ["Automatic", "1100"]),
  {
    key: `number/greenhouse2mqtt_${house}_parameter:501`,
    service: "number.set_value",
    data: { value: 2.4 },
    address: "501",
    register: "240",
    shown: ["2.4"],
  },
];

export function services(world: () => World, rows: Rows): void {
  it("every service of every component ends at the platform and shows what the platform shows, nothing before", async () => {
    const slowest = { ms: 0, what: "" };
    const ids = await registered(world());
    for (const step of steps) {
      const entity = ids.get(step.key) ?? "";
      expect(entity, step.key).not.toBe("");
      const ms = await performed(world(), step, entity, ids.get(step.shows ?? "") ?? entity);
      if (ms > slowest.ms)
        Object.assign(slowest, { ms, what: `${step.service} ${JSON.stringify(step.data ?? {})}` });
    }
    rows.tell(
      "services",
      `${steps.length} of ${new Set(steps.map(({ key }) => key)).size} entities, 0 shown early, slowest ${Math.round(slowest.ms)} ms (${slowest.what})`,
    );
  });
}

/** Performs one, checks the register and every state between; how long it took until it was shown. */
async function performed(
  { ha, platform }: World,
  step: Step,
  entity: string,
  showing: string,
): Promise<number> {
  const looks = step.looks ?? plain;
  const at = () => {
    const state = ha.state(showing);
    return state === undefined ? "nothing" : looks(state);
  };
  if (step.before !== undefined)
    await platform.tell("move_by_hand", { controller: house, address: step.address, value: step.before });
  // The other views of the same actuator change with it; what is under way to us comes before this answer.
  await ha.call("get_config");
  const before = at();
  const since = performance.now();
  await ha.act(step.service, entity, step.data);
  const wanted = step.shown.at(-1) ?? at();
  await ha.until(
    `${showing} shows ${wanted} after ${step.service}, it shows ${at()}`,
    () => at() === wanted,
    30_000,
  );
  const ms = performance.now() - since;
  const register = () => platform.register(house, step.address);
  if (step.shown.length === 0) await expect.poll(register).toBe(step.register);
  expect(await register(), `${step.service} of ${entity}`).toBe(step.register);
  const between = ha.shown(showing, since).map(looks);
  const allowed = new Set([before, ...step.shown]);
  expect(
    between.filter((one) => !allowed.has(one)),
    `${step.service} of ${entity}`,
  ).toEqual([]);
  return ms;
}
