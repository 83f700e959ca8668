import { textOf } from "../history.js";
import { byHand, commanded, counters, moved, targets, topicOf } from "../support/house.js";
import type { World } from "../support/world.js";

/** Where retained topics differ from what the platform holds, with nothing moving any more; empty when nowhere. */
export async function differences(world: World): Promise<readonly string[]> {
  const { recorder, platform, load } = world;
  const found: string[] = [];
  const expect = (topic: string, wanted: string) => {
    const got = recorder.latest(topic);
    if (got !== wanted) found.push(`${topic} is ${got ?? "nothing"}, not ${wanted}`);
  };
  expect("greenhouse/bridge/state", "online");
  expect("greenhouse/bridge/platform", "online");
  for (const code of [commanded, moved]) expect(`greenhouse/${code.toLowerCase()}/availability`, "online");
  const registers = [
    ...Object.entries(targets).map(([id, { address }]) => ({ code: commanded, id, address })),
    ...Object.entries(byHand).map(([id, { address }]) => ({ code: moved, id, address })),
  ];
  for (const { code, id, address } of registers) {
    const held = await platform.register(code, address);
    if (id !== "louvre") expect(`${topicOf(code, id)}/value`, held);
    else {
      // Of an actuator with two registers the other one is shown, as its position, while this one says so.
      const mode = await platform.register(code, textOf(targets[id]?.settings["address"]));
      expect(`${topicOf(code, id)}/value`, mode === "10100" ? held : mode);
      expect(`${topicOf(code, id)}/position`, mode === "10100" ? held : "");
    }
    const json = recorder.latest(`${topicOf(code, id)}/json`) ?? "";
    if (!json.includes('"quality":"good"')) found.push(`${topicOf(code, id)} is not good: ${json}`);
  }
  for (const { topic } of counters) {
    expect(topic, String(load.shown.findLast((one) => one.topic === topic)?.value));
    expect(`${topic}/quality`, "good");
  }
  return found;
}
