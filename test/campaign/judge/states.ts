import type { Held } from "../../end-to-end/support/platform.js";
import { fields, type Seen } from "../../end-to-end/support/watch.js";
import { readMs } from "../../judge/timing.js";
import { type Breach, type History, textOf } from "../history.js";
import { commanded, counters, moved, points } from "../support/house.js";
import type { World } from "../support/world.js";

/** Judges that the platform showed every published value before, and that none goes back to an older one. */
export function judgeStates(history: History): readonly Breach[] {
  return [
    ...points.flatMap((point) => [...truths(history, point), ...order(history, point)]),
    ...counts(history),
  ];
}

type Point = (typeof points)[number];

const wrong = (at: number, text: string): Breach => ({ at, invariant: "wrong state", text });

/** State words by value; states of other values are not checked. */
export const words: Readonly<Record<string, readonly string[]>> = {
  "10010": ["open"],
  "10001": ["closed"],
  "11000": ["auto"],
  "1010": ["on"],
  "1100": ["auto"],
  "0110": ["low"],
};

/** Checks that a register held the value of each `json` when it was read. */
function truths(history: History, point: Point): readonly Breach[] {
  const { messages, held, clockOffsets } = history;
  const { topic, code } = point;
  const isSending = sendingIn(history, point);
  const registers = point.registers.map((one) => held.get(`${code}/${one}`) ?? []);
  return messages
    .filter((one) => one.topic === `${topic}/json` && one.payload !== "")
    .flatMap(({ at, payload }) => {
      const { value, state, read_at: readAt } = fields(payload);
      if (typeof value !== "string" || typeof readAt !== "string") return [];
      const told = Date.parse(readAt);
      const wasSo = registers.some((register) =>
        clockOffsets.some((offset) => heldAround(register, value, told - offset)),
      );
      if (!wasSo) return [wrong(at, `${topic} says ${value} read at ${readAt}; no register held it then`)];
      const word = words[value];
      // While a command sends its steps the state stays the same, but the value follows each read.
      const isBetween = () => clockOffsets.some((offset) => isSending(told - offset));
      return word === undefined || word.includes(textOf(state)) || isBetween()
        ? []
        : [wrong(at, `${topic} calls ${value} ${textOf(state)}`)];
    });
}

/** Reads and records of one moment may be apart by this much. */
const apartMs = 500;

/**
 * Whether a command may be between its first POST and its end at the time of a read, which a slow broker shows later.
 * The topic `/command` would not do: a newer command that is refused shows `done` there while an older one goes on.
 */
function sendingIn({ journal }: History, { id: actuator, code }: Point): (at: number) => boolean {
  const [begun, ended] = [new Map<string, number>(), new Map<string, number>()];
  for (const { at, record } of journal) {
    const { type, controller, result } = record;
    if (controller !== code || record["actuator"] !== actuator) continue;
    if (type === "step_sent" && !begun.has(textOf(record["id"]))) begun.set(textOf(record["id"]), at);
    if (type === "result") ended.set(textOf((result as Readonly<Record<string, unknown>>)["id"]), at);
  }
  return (at) =>
    [...begun].some(([id, from]) => at >= from - apartMs && at <= (ended.get(id) ?? Infinity) + apartMs);
}

const heldAround = (register: readonly Held[], value: string, readAt: number): boolean =>
  register.some((one, index) => {
    const until = register[index + 1]?.at ?? Infinity;
    return one.value === value && one.at <= readAt + 250 && until >= readAt - readMs;
  });

/** Checks that the published values follow the register's history without going back. */
function order({ messages, held }: History, { topic, code, registers }: Point): readonly Breach[] {
  const [register, ...others] = registers;
  // With separate registers for mode and position the published value switches between them.
  if (register === undefined || others.length > 0) return [];
  const history = held.get(`${code}/${register}`) ?? [];
  let from = 0;
  const breaches: Breach[] = [];
  for (const { at, payload } of live(messages, `${topic}/value`)) {
    const found = history.findIndex(
      (one, index) => index >= from && one.value === payload && one.at <= at + 50,
    );
    if (found < 0)
      breaches.push(
        wrong(at, `${topic}/value went to ${payload}, which was not shown since the value before`),
      );
    else from = found;
  }
  return breaches;
}

const live = (messages: readonly Seen[], topic: string): readonly Seen[] =>
  messages.filter((one) => one.topic === topic && !one.retain && one.payload !== "");

/** Checks counting sensors: every published number was shown before, and numbers never decrease. */
function counts({ messages, shown }: History): readonly Breach[] {
  return counters.flatMap(({ topic }) => {
    const since = new Map(shown.filter((one) => one.topic === topic).map(({ value, from }) => [value, from]));
    const first = Math.min(...since.keys());
    let newest = -Infinity;
    return live(messages, topic).flatMap(({ at, payload }) => {
      const value = Number(payload);
      const from = since.get(value);
      // Before the campaign's first number the sensor shows readings of its own.
      if (
        from === undefined &&
        newest === -Infinity &&
        Number.isFinite(value) &&
        at < (since.get(first + 5) ?? Infinity)
      )
        return [];
      if (from === undefined || from > at + 50)
        return [wrong(at, `${topic} says ${payload}, which was not shown`)];
      if (value < newest) return [wrong(at, `${topic} went back from ${newest} to ${value}`)];
      newest = value;
      return [];
    });
  });
}

/** Differences between retained topics and the platform once nothing moves; empty without any. */
export async function differences({ watch, platform, load }: World): Promise<readonly string[]> {
  const found: string[] = [];
  const expect = (topic: string, wanted: string) => {
    const got = watch.latest(topic);
    if (got !== wanted) found.push(`${topic} is ${got ?? "nothing"}, not ${wanted}`);
  };
  expect("greenhouse/bridge/state", "online");
  expect("greenhouse/bridge/platform", "online");
  for (const code of [commanded, moved]) expect(`greenhouse/${code.toLowerCase()}/availability`, "online");
  for (const { code, topic, registers } of points) {
    const [held = "", mode] = await Promise.all(registers.map((one) => platform.register(code, one)));
    // With two registers the second one holds the mode; at this value of it the position is shown.
    const isPosition = mode === undefined || mode === "10100";
    expect(`${topic}/value`, isPosition ? held : mode);
    if (mode !== undefined) expect(`${topic}/position`, isPosition ? held : "");
    const json = watch.latest(`${topic}/json`) ?? "";
    if (!json.includes('"quality":"good"')) found.push(`${topic} is not good: ${json}`);
  }
  for (const { topic } of counters) {
    expect(topic, String(load.shown.findLast((one) => one.topic === topic)?.value));
    expect(`${topic}/quality`, "good");
  }
  return found;
}
