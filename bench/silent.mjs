// (l) Beside a controller whose POSTs are never answered: from publishing another controller's command to its POST, and
// from the wind that triggers a guard to the POST of its command. The baseline is the same bridge before.
import { setTimeout as wait } from "node:timers/promises";
import { figure, percentile, spread } from "./figures.mjs";
import { mustLive, stop } from "./processes.mjs";
import { startRegisterPlatform } from "./register-platform.mjs";
import { bases, startBridge, startBroker } from "./setup.mjs";
import { Counter } from "./wire.mjs";

const [code, silent] = ["GH-00001", "GH-00002"];
/** As many as the dead controller may have open, and half of the number that once filled all places. */
const unanswered = 8;
const actuators = 40;
const slotMs = 64;
/** Longer than the deadline of a POST: a command that waits for another's is sent after 30 s. */
const answerMs = 40_000;

const topicOf = (of, actuator) => `${bases.bridge}/${of.toLowerCase()}/actuator/${actuator}`;
const fan = (address) => ({ kind: "circulation_fan", address });
const addressOf = (turn) => String(101 + (turn % actuators));
const guardAddress = (guard) => String(301 + guard);
const windOf = (guard) => `weather/wind${guard}`;

function configuration(guards) {
  const limits = (guard) => ({
    guards: { wind: { sensor: windOf(guard), above: 12, clear_at: 9, allow: ["off"], then: "off" } },
  });
  const fans = Array.from({ length: actuators }, (_, turn) => [`a${addressOf(turn)}`, fan(addressOf(turn))]);
  const guarded = Array.from({ length: guards }, (_, guard) => {
    const address = guardAddress(guard);
    return [`a${address}`, { ...fan(address), limits: limits(guard) }];
  });
  const dead = Array.from({ length: unanswered }, (_, n) => [`a${101 + n}`, fan(String(101 + n))]);
  return {
    weather: Object.fromEntries(
      Array.from({ length: guards }, (_, guard) => [
        `wind${guard}`,
        { topic: windOf(guard), stale_after: "1h" },
      ]),
    ),
    controllers: {
      [code]: { actuators: Object.fromEntries([...fans, ...guarded]) },
      [silent]: { actuators: Object.fromEntries(dead) },
    },
  };
}

/** ms from `publish` to the POST of this address. */
async function untilPost({ child, platform }, address, publish) {
  const arrived = new Promise((resolve) => {
    platform.posted = (post) => post.code === code && post.address === address && resolve(post);
  });
  const began = performance.now();
  publish();
  const post = await Promise.race([arrived, wait(answerMs, null)]);
  mustLive(child);
  if (post === null) throw new Error(`no POST to ${address} within ${answerMs / 1_000} s:\n${child.tail}`);
  await wait(Math.max(0, slotMs - (performance.now() - began)));
  return post.at - began;
}

/** ms of each command from one turn to another. */
async function commands(side, from, count) {
  const ms = [];
  for (let turn = from; turn < from + count; turn += 1) {
    const word = Math.floor(turn / actuators) % 2 === 0 ? "on" : "off";
    const address = addressOf(turn);
    const publish = () => side.sender.publish(`${topicOf(code, `a${address}`)}/set`, word, 1);
    ms.push(await untilPost(side, address, publish));
  }
  return ms;
}

async function storms(side, guards) {
  const ms = [];
  for (const guard of guards)
    ms.push(await untilPost(side, guardAddress(guard), () => side.sender.publish(windOf(guard), "20", 1)));
  return ms;
}

/** Sets calm wind, and switches on everything that a guard is to switch off. */
async function prepare(side, broker, guards) {
  const done = await Counter.open(
    broker.port,
    guards.map((guard) => `${topicOf(code, `a${guardAddress(guard)}`)}/result`),
  );
  for (const guard of guards) {
    side.sender.publish(windOf(guard), "3", 1);
    await untilPost(side, guardAddress(guard), () =>
      side.sender.publish(`${topicOf(code, `a${guardAddress(guard)}`)}/set`, "on", 1),
    );
  }
  await done.until(guards.length, 30_000);
  done.close();
}

/** Sends commands to the dead controller until it has as many POSTs as it may have at once. */
async function silence({ platform, sender }) {
  platform.silent = silent;
  let posts = 0;
  platform.posted = (post) => (posts += post.code === silent ? 1 : 0);
  for (let n = 0; n < unanswered; n += 1) sender.publish(`${topicOf(silent, `a${101 + n}`)}/set`, "on", 1);
  for (const began = performance.now(); posts === 0; await wait(10))
    if (performance.now() - began > answerMs) throw new Error("the silent controller got no POST");
  await wait(500);
  return posts;
}

export async function measureSilent({ commands: count, guards, say }) {
  const broker = await startBroker();
  const platform = await startRegisterPlatform(code, silent);
  const sender = await Counter.open(broker.port, ["none"]);
  const ready = await Counter.open(broker.port, [`${topicOf(code, "+")}/state`]);
  const child = startBridge(platform, broker, { resting: true, ...configuration(2 * guards) });
  await ready.until(actuators + 2 * guards, 30_000);
  ready.close();
  const side = { platform, sender, child };
  const all = Array.from({ length: 2 * guards }, (_, guard) => guard);
  await prepare(side, broker, all);
  await commands(side, 0, actuators);
  const alone = {
    set: await commands(side, actuators, count),
    guard: await storms(side, all.slice(0, guards)),
  };
  const posts = await silence(side);
  const beside = {
    guard: await storms(side, all.slice(guards)),
    set: await commands(side, actuators + count, count),
  };
  sender.close();
  await stop(child);
  await broker.stop();
  platform.stop();
  say(`beside ${posts} unanswered POSTs: guard ${percentile(beside.guard, 0.5).toFixed(1)} ms`);
  const rows = [
    ["set publish to POST", "set"],
    ["wind to a guard's POST", "guard"],
  ];
  const what = `beside a controller with ${unanswered} commands whose POSTs are unanswered`;
  return rows.flatMap(([name, which]) => [
    figure("l", `${name} ${what}, p50`, "ms", percentile(beside[which], 0.5), {
      bare: percentile(alone[which], 0.5),
      range: spread(beside[which]),
    }),
    figure("l", `${name} ${what}, longest`, "ms", percentile(beside[which], 1), {
      bare: percentile(alone[which], 1),
      target: { of: "value", atMost: 250 },
    }),
  ]);
}
