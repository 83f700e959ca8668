import { commanded, counters, moved, points } from "../support/house.js";
import type { World } from "../support/world.js";

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
