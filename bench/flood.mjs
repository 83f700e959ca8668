// (i) A thousand commands a second to one actuator: from publishing another actuator's stop to its POST.
import { setTimeout as wait } from "node:timers/promises";
import { figure, percentile, spread } from "./figures.mjs";
import { mustLive, stop } from "./processes.mjs";
import { startRegisterPlatform } from "./register-platform.mjs";
import { bases, freePort, startBridge, startBroker } from "./setup.mjs";
import { Counter } from "./wire.mjs";

const code = "GH-00001";
const topicOf = (actuator) => `${bases.bridge}/${code.toLowerCase()}/actuator/${actuator}`;
/** Two stops to one motor are at least 2 s apart, so that many motors take turns. */
export const motors = Array.from({ length: 30 }, (_, n) => `m${300 + n}`);
const slotMs = 80;
const answerMs = 10_000;
const [batch, everyMs] = [10, 10];

export const motor = (address) => ({ kind: "motor", address, values: { open: "00000001" } });
const controllers = {
  [code]: {
    actuators: {
      flooded: { kind: "circulation_fan", address: "101" },
      ...Object.fromEntries(motors.map((id) => [id, motor(id.slice(1))])),
    },
  },
};

export async function reachable(port) {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const counter = await Counter.open(port, ["none"]).catch(() => null);
    if (counter !== null) return counter;
    if (performance.now() > deadline) throw new Error("the embedded broker does not answer");
    await wait(50);
  }
}

async function startSide(embedded) {
  const platform = await startRegisterPlatform(code);
  const broker = embedded
    ? { port: await freePort(), stop: async () => {} }
    : await startBroker({ usual: true });
  const child = startBridge(platform, broker, { resting: true, controllers, embedded });
  const sender = await reachable(broker.port);
  const states = await Counter.open(broker.port, [`${topicOf("+")}/state`]);
  await states.until(motors.length + 1, embedded ? 3_000 : 15_000);
  states.close();
  return { platform, broker, child, sender };
}

/** Publishes until told to end; resolves with the messages per second. */
async function flood(port, ended) {
  const sender = await Counter.open(port, ["none"]);
  const began = performance.now();
  let sent = 0;
  while (!ended.aborted) {
    // Catches up after a late timer.
    const due = ((performance.now() - began) / everyMs) * batch;
    for (; sent < due; sent += 1)
      sender.publish(`${topicOf("flooded")}/set`, sent % 2 === 0 ? "on" : "off", 1);
    await wait(everyMs);
  }
  const seconds = (performance.now() - began) / 1_000;
  sender.close();
  return sent / seconds;
}

/** ms from publishing a stop to its POST. */
export async function stops({ platform, child, sender }, count) {
  const ms = [];
  for (let turn = 0; turn < count; turn += 1) {
    const id = motors[turn % motors.length];
    const arrived = new Promise((resolve) => {
      platform.posted = (post) => post.address === id.slice(1) && resolve(post);
    });
    const began = performance.now();
    sender.publish(`${topicOf(id)}/set`, "stop", 1);
    const post = await Promise.race([arrived, wait(answerMs, null)]);
    mustLive(child);
    if (post === null)
      throw new Error(`stop ${turn} made no POST within ${answerMs / 1000} s:\n${child.tail}`);
    ms.push(post.at - began);
    await wait(Math.max(0, slotMs - (performance.now() - began)));
  }
  return ms;
}

async function measureOver(name, embedded, count, say) {
  const side = await startSide(embedded);
  const results = await Counter.open(side.broker.port, [`${topicOf("flooded")}/result`]);
  const calm = await stops(side, Math.ceil(count / 3));
  const end = new AbortController();
  const flooding = flood(side.broker.port, end.signal);
  await wait(2_000);
  const ms = await stops(side, count);
  end.abort();
  const rate = await flooding;
  results.close();
  side.sender.close();
  await stop(side.child);
  await side.broker.stop();
  side.platform.stop();
  say(`flood over ${name}: ${Math.round(rate)} messages/s, stop p99 ${percentile(ms, 0.99).toFixed(1)} ms`);
  const what = (text) => `stop publish to POST over ${name}, ${text}`;
  return [
    figure("i", what("p50 in a flood"), "ms", percentile(ms, 0.5), {
      bare: percentile(calm, 0.5),
      range: spread(ms),
    }),
    figure("i", what("p99 in a flood"), "ms", percentile(ms, 0.99), {
      bare: percentile(calm, 0.99),
      target: { of: "value", atMost: 250 },
    }),
    figure("i", what("the flood"), "1/s", rate),
  ];
}

/** The baseline is the same bridge without a flood. */
export async function measureFlood({ stops: count, say }) {
  return [
    ...(await measureOver("Mosquitto", false, count, say)),
    ...(await measureOver("the embedded broker", true, count, say)),
  ];
}
