import type { Held } from "../../end-to-end/support/platform.js";
import { fields, type Seen } from "../../end-to-end/support/watch.js";
import { readMs } from "../../judge/timing.js";
import { type Breach, type History, textOf } from "../history.js";
import { commanded, counters, moved, points } from "../support/house.js";
import type { World } from "../support/world.js";

/** Every value published was shown by the platform before, and none goes back to an older one. */
export function judgeStates(history: History): readonly Breach[] {
  return [
    ...points.flatMap((point) => [...truths(history, point), ...order(history, point)]),
    ...counts(history),
  ];
}

type Point = (typeof points)[number];

const wrong = (at: number, text: string): Breach => ({ at, invariant: "wrong state", text });

/** Words of states whose value tells them; others are not looked at. */
export const words: Readonly<Record<string, readonly string[]>> = {
  "10010": ["open"],
  "10001": ["closed"],
  "11000": ["auto"],
  "1010": ["on"],
  "1100": ["auto"],
  "0110": ["low"],
};

/** Each `json` names a value and when it was read: the register must have held it then. */
function truths({ messages, held, clockOffsets }: History, point: Point): readonly Breach[] {
  const { topic, code } = point;
  const registers = point.registers.map((one) => held.get(`${code}/${one}`) ?? []);
  return messages
    .filter((one) => one.topic === `${topic}/json` && one.payload !== "")
    .flatMap(({ at, index, payload }) => {
      const { value, state, read_at: readAt } = fields(payload);
      if (typeof value !== "string" || typeof readAt !== "string") return [];
      const told = Date.parse(readAt);
      const wasSo = registers.some((register) =>
        clockOffsets.some((offset) => heldAround(register, value, told - offset)),
      );
      if (!wasSo) return [wrong(at, `${topic} says ${value} read at ${readAt}; no register held it then`)];
      const word = words[value];
      // Between the steps of a command the state stays what it was, while the value follows each read.
      const isOpen = () => phaseBefore(messages, topic, index) !== "done";
      return word === undefined || word.includes(textOf(state)) || isOpen()
        ? []
        : [wrong(at, `${topic} calls ${value} ${textOf(state)}`)];
    });
}

/**
 * The phase of the newest command that was shown before a message; `done` where there was none. A command may end in the
 * same millisecond, so instants do not tell which of two messages came first.
 */
function phaseBefore(messages: readonly Seen[], topic: string, index: number): string {
  const newest = messages.findLast(
    (one) => one.index < index && one.topic === `${topic}/command` && one.payload !== "",
  );
  return newest === undefined ? "done" : textOf(fields(newest.payload)["phase"]);
}

const heldAround = (register: readonly Held[], value: string, readAt: number): boolean =>
  register.some((one, index) => {
    const until = register[index + 1]?.at ?? Infinity;
    return one.value === value && one.at <= readAt + 250 && until >= readAt - readMs;
  });

/** The values published one after the other can be laid on the register's history without ever going back. */
function order({ messages, held }: History, { topic, code, registers }: Point): readonly Breach[] {
  const [register, ...others] = registers;
  // Where mode and position are two registers, the value published changes between them.
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

/** Counting sensors: every number was shown before it was published, and they never count down. */
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

/** Where retained topics differ from what the platform holds, with nothing moving any more; empty when nowhere. */
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
    // Of an actuator with two registers the other one is shown, as its position, while this one says so.
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
