// (f) From publishing a command to its POST at a platform that answers at once, bridge and baseline in turn.
import { setTimeout as wait } from "node:timers/promises";
import { figure, percentile, spread } from "./figures.mjs";
import { here, mustLive, newFile, start, stop, untilSays } from "./processes.mjs";
import { startRegisterPlatform } from "./register-platform.mjs";
import { bases, freePort, startBridge, startBroker } from "./setup.mjs";
import { watchPage } from "./viewers.mjs";
import { Counter } from "./wire.mjs";

export const code = "GH-00001";
/** Enough that each has been read back before its next turn. */
export const actuators = 40;
/**
 * Bridge and baseline alternate slots. The bridge reads each command back after 2,000 ms, which is in the middle of a
 * slot and so not where the next command is measured.
 */
const slotMs = 64;
const answerMs = 10_000;
const warmUp = 10;

const addressOf = (turn) => String(101 + (turn % actuators));
const commandOf = (turn) => (Math.floor(turn / actuators) % 2 === 0 ? "on" : "off");

/** In every other turn the actuator has limits, which allow every command. */
const isLimited = (turn) => turn % 2 === 1;
export const weather = { wind: { topic: "weather/wind", stale_after: "1h" } };
const limits = {
  ...{ starts_per_hour: 60, for: "1h" },
  guards: { wind: { sensor: "weather/wind", above: 12, allow: ["off"], then: "off" } },
};

export function commandedControllers() {
  const one = (address) => ({
    ...{ kind: "circulation_fan", address },
    ...(isLimited(Number(address) - 101) ? { limits } : {}),
  });
  const all = Array.from({ length: actuators }, (_, turn) => [`a${addressOf(turn)}`, one(addressOf(turn))]);
  return { [code]: { actuators: Object.fromEntries(all) } };
}

const nextSlot = (began) => wait(slotMs - ((performance.now() - began) % slotMs));

/**
 * Publishes the command of this turn below `base`; returns ms until its POST arrived. `others` is told of other POSTs.
 */
export async function once(who, { child, platform, sender, base, code: of = code, others }, turn) {
  const isOther = ({ address }) => others !== undefined && address !== addressOf(turn);
  const arrived = new Promise(
    (resolve) => (platform.posted = (post) => (isOther(post) ? others(post) : resolve(post))),
  );
  const began = performance.now();
  sender.publish(`${base}/${of.toLowerCase()}/actuator/a${addressOf(turn)}/set`, commandOf(turn), 1);
  const post = await Promise.race([arrived, wait(answerMs, null)]);
  mustLive(child);
  if (post === null) throw new Error(`${who}: command ${turn} made no POST within ${answerMs / 1000} s`);
  if (post.address !== addressOf(turn))
    throw new Error(`${who}: command ${turn} made a POST to ${post.address}, not to ${addressOf(turn)}`);
  return post.at - began;
}

export async function startBridgeSide(broker, sender, http) {
  const platform = await startRegisterPlatform(code);
  const ready = await Counter.open(broker.port, [`${bases.bridge}/${code.toLowerCase()}/actuator/+/state`]);
  const child = startBridge(platform, broker, {
    ...{ resting: true, controllers: commandedControllers(), weather, http },
  });
  await ready.until(actuators, 30_000);
  if (ready.messages < actuators) throw new Error(`the bridge did not read its actuators:\n${child.tail}`);
  ready.close();
  sender.publish("weather/wind", "3", 1);
  return { platform, sender, child, base: bases.bridge };
}

async function startBareSide(broker, sender) {
  const platform = await startRegisterPlatform(code);
  const settings = { platform: platform.url, broker: broker.url, base: bases.bare, code };
  const file = newFile("bare-journal.jsonl");
  const child = start(process.execPath, [here("./bare-commands.mjs"), JSON.stringify({ ...settings, file })]);
  await untilSays(child, /ready/);
  return { platform, sender, child, base: bases.bare };
}

/**
 * Sends `commands` commands to each side in turn, after some uncounted ones; returns ms from publishing to the POST.
 */
export async function timeSets(sides, commands) {
  const ms = Object.fromEntries(Object.keys(sides).map((who) => [who, []]));
  const began = performance.now();
  for (let turn = 0; turn < warmUp + commands; turn += 1) {
    for (const [who, side] of Object.entries(sides)) {
      await nextSlot(began);
      const took = await once(who, side, turn);
      if (turn >= warmUp) ms[who].push(took);
    }
  }
  return ms;
}

/** Counts the outcomes in the bridge's results. */
async function countOutcomes(broker) {
  const outcomes = new Map();
  const listener = await Counter.open(broker.port, [`${bases.bridge}/+/actuator/+/result`]);
  listener.onMessage = (_, payload) => {
    const { outcome, reason } = JSON.parse(payload);
    const word = reason === null ? outcome : `${outcome} ${reason}`;
    outcomes.set(word, (outcomes.get(word) ?? 0) + 1);
  };
  return { outcomes, listener };
}

/** `viewers`: how many look at the controller on the page meanwhile; `part` is the letter of the figures. */
export async function measureCommands({ commands, say, viewers = 0, part = "f" }) {
  const http = viewers > 0 ? { port: await freePort() } : false;
  const broker = await startBroker();
  const sender = await Counter.open(broker.port, ["none"]);
  const sides = {
    bridge: await startBridgeSide(broker, sender, http),
    bare: await startBareSide(broker, sender),
  };
  const watching = await watchPage(http, viewers, [`controller/${code.toLowerCase()}`, "journal"]);
  const { outcomes, listener } = await countOutcomes(broker);
  const took = await timeSets(sides, commands);
  const ms = {
    bridge: took.bridge.filter((_, turn) => !isLimited(turn)),
    limited: took.bridge.filter((_, turn) => isLimited(turn)),
    bare: took.bare,
  };
  await listener.until(warmUp + commands, 60_000);
  const { bridge, bare } = sides;
  await Promise.all([stop(bridge.child), stop(bare.child), broker.stop()]);
  mustAllBeConfirmed(outcomes, bridge.platform.posts, warmUp + commands);
  for (const { platform } of [bridge, bare]) platform.stop();
  for (const one of [sender, listener, watching]) one.close();
  say(
    `commands: ${spread(ms.bridge).median.toFixed(2)} ms, with limits ${spread(ms.limited).median.toFixed(2)} ms, bare ${spread(ms.bare).median.toFixed(2)} ms`,
  );
  return figures(part, viewers, ms, commands);
}

/** Figures count only if every command was confirmed. */
function mustAllBeConfirmed(outcomes, posts, expected) {
  if (posts === expected && outcomes.size === 1 && outcomes.get("confirmed") === expected) return;
  const told = [...outcomes].map(([outcome, count]) => `${count} ${outcome}`).join(", ");
  throw new Error(`${expected} commands ended as ${told} with ${posts} POSTs; all had to be confirmed`);
}

function figures(part, viewers, ms, commands) {
  const at = (who, share) => percentile(ms[who], share);
  const who = viewers > 0 ? ` with ${viewers} viewers` : "";
  const name = (what) => `set publish to POST${who}, ${what}`;
  const options = (share, atMost) => ({
    bare: at("bare", share),
    target: { of: "value", atMost },
    range: spread(ms.bridge),
  });
  const ratio = at("bridge", 0.5) / at("bare", 0.5);
  return [
    figure(part, name("p50"), "ms", at("bridge", 0.5), options(0.5, 3)),
    figure(part, name("p50 by bare"), "times", ratio, { target: { of: "value", atMost: 1.4 } }),
    figure(part, name("p99"), "ms", at("bridge", 0.99), options(0.99, 12)),
    figure(part, name("p50 with limits"), "ms", at("limited", 0.5), { range: spread(ms.limited) }),
    figure(part, name("p50 with limits by without"), "times", at("limited", 0.5) / at("bridge", 0.5)),
    figure(part, name("confirmed"), "commands", commands),
  ];
}
