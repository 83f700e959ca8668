import mqtt from "mqtt";
import { expect } from "vitest";
import { it } from "../end-to-end/support/staged.js";
import { countFrom, rounded, tellFigures } from "../proof/figures.js";
import { memoryOf, probeEnvironment, type Memory } from "../proof/probed.js";
import { slopeOf } from "../proof/slope.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { commandLoad } from "./command-load.js";

/*
 * The built bridge between the simulated platform, whose time runs sixty times as fast, and a real Mosquitto behind a
 * link that breaks now and then. SOAK_MESSAGES and SOAK_COMMANDS say how much (1,000,000 and 20,000 without them, some 36
 * minutes), SOAK_CONTROLLERS the controllers of 12 sensors each (100), SOAK_POLL_SECONDS the interval of readings (1). A day is
 * SOAK_POLL_SECONDS=10 SOAK_MESSAGES=20000000 SOAK_COMMANDS=200000.
 */

const messagesWanted = countFrom("SOAK_MESSAGES", 1_000_000);
const commandsWanted = countFrom("SOAK_COMMANDS", 20_000);
const controllers = countFrom("SOAK_CONTROLLERS", 100);
const pollSeconds = countFrom("SOAK_POLL_SECONDS", 1);
const reduced = messagesWanted < 1_000_000 || commandsWanted < 20_000;
const flapEveryMs = reduced ? 10_000 : 60_000;
const downMs = 500;
const samplesWanted = 40;
const base = "greenhouse";
/** By kind, their address. */
const kinds = {
  circulation_fan: "150",
  light: "220",
  heating_blower: "320",
  co2_supply: "310",
  mist_cooling: "330",
};

interface Sample extends Memory {
  readonly messages: number;
}

it(`memory does not grow with ${messagesWanted} messages, and each of ${commandsWanted} commands has one outcome`, async ({
  stage,
}) => {
  process.stdout.write(`soak: SOAK_MESSAGES=${messagesWanted} SOAK_COMMANDS=${commandsWanted}\n`);
  const mosquitto = await stage.mosquitto({ extra: ["max_queued_messages 0", "set_tcp_nodelay true"] });
  const link = stage.keep(await startTcpProxy(mosquitto.port));
  const platform = await stage.platform({ controllers, speed: 60 });
  const greenhouses = (await platform.codes()).filter((code) => code.startsWith("GH-"));
  const configuration = configurationFor(platform.url, link.port, greenhouses);
  const env = probeEnvironment(stage.folder);
  const bridge = await stage.bridge(configuration, { logLevel: "warn", env });
  const client = await mqtt.connectAsync(mosquitto.url, { protocolVersion: 5, reconnectPeriod: 0 });
  const actuators = Object.keys(kinds).flatMap((kind) =>
    greenhouses.map((code) => `${code.toLowerCase()}/actuator/${kind}`),
  );
  const load = commandLoad(client, base, actuators);
  const state = { messages: 0, isOnline: false };
  client.on("message", (topic, payload) => {
    state.messages += 1;
    if (topic === `${base}/bridge/state`) state.isOnline = payload.toString() === "online";
    load.saw(topic, payload);
  });
  await client.subscribeAsync(`${base}/#`, { qos: 1 });
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const waitFor = async (what: string, condition: () => boolean) => {
    const end = performance.now() + 60_000;
    while (!condition()) {
      if (bridge.hasEnded || performance.now() > end)
        throw new Error(`not in time: ${what}\n${bridge.stderr.slice(-2_000)}`);
      await pause(20);
    }
  };
  const [first = ""] = actuators;
  await waitFor("the bridge is online", () => state.isOnline && first !== "");

  const startedAt = performance.now();
  const samples: Sample[] = [];
  const commanding = load.run(commandsWanted);
  let [nextFlapAt, flaps] = [performance.now() + flapEveryMs, 0];
  const isDone = () => state.messages >= messagesWanted && load.sent >= commandsWanted;
  // Through both counts at the same pace, so that none of them ends long before the other.
  while (!isDone()) {
    if (bridge.hasEnded) throw new Error(`it ended\n${bridge.stderr.slice(-2_000)}`);
    const share = Math.min(state.messages / messagesWanted, 1);
    if (samples.length < share * samplesWanted) {
      // A line now and then, so that one sees it lives.
      if (samples.length % 10 === 0)
        process.stdout.write(
          `  ${state.messages} messages, ${load.sent} commands after ${Math.round((performance.now() - startedAt) / 1_000)} s\n`,
        );
      samples.push({ ...(await memoryOf(bridge, stage.folder)), messages: state.messages });
    }
    if (performance.now() >= nextFlapAt) {
      await load.hold().catch((error: unknown) => {
        throw new Error(`${String(error)}\n${bridge.stderr.slice(-3_000)}`);
      });
      await link.manner("reset");
      link.cut();
      await waitFor("its end is noticed", () => !state.isOnline);
      await pause(downMs);
      await link.manner("pass");
      await waitFor("the bridge is back", () => state.isOnline);
      load.release();
      flaps += 1;
      nextFlapAt = performance.now() + flapEveryMs;
    }
    await pause(20);
  }
  await commanding;
  await load.settled(120_000);
  samples.push({ ...(await memoryOf(bridge, stage.folder)), messages: state.messages });
  const seconds = (performance.now() - startedAt) / 1_000;

  const warm = samples.filter(({ messages }) => messages >= messagesWanted * 0.3);
  const slope = slopeOf(
    warm.map(({ messages, heapUsed, external }) => ({ x: messages, y: heapUsed + external })),
  );
  const rss = slopeOf(warm.map((sample) => ({ x: sample.messages, y: sample.rss })));
  const middle = (of: (sample: Sample) => number, part: readonly Sample[]) =>
    part.map(of).sort((a, b) => a - b)[part.length >> 1] ?? NaN;
  const half = warm.length >> 1;
  const change = (of: (sample: Sample) => number) =>
    middle(of, warm.slice(-half)) - middle(of, warm.slice(0, half));
  const outcomes = [...load.outcomes].map(([outcome, count]) => `${outcome} ${count}`).join(", ");
  await tellFigures("soak", reduced, {
    messages: state.messages,
    commands: load.sent,
    "commands without exactly one outcome": load.unaccounted().length,
    outcomes,
    "link flaps": flaps,
    seconds: Math.round(seconds),
    "messages a second": Math.round(state.messages / seconds),
    "heap slope, bytes/message": rounded(slope.value, 3),
    "heap slope, 95 % margin": rounded(slope.margin, 3),
    "RSS slope, bytes/message": rounded(rss.value, 3),
    "heap at the end, MB": rounded((samples.at(-1)?.heapUsed ?? 0) / 1e6, 1),
    "RSS at the end, MB": rounded((samples.at(-1)?.rss ?? 0) / 1e6, 1),
    "change of handles": change(handlesOf),
    "change of listeners": change(({ listeners }) => listeners),
  });
  expect(load.unaccounted()).toEqual([]);
  expect([...load.outcomes.keys()].filter((outcome) => !["confirmed", "already"].includes(outcome))).toEqual(
    [],
  );
  // Fewer is no leak: connections that the start needed are closed when they are idle.
  expect(change(handlesOf)).toBeLessThanOrEqual(2);
  expect(change(({ listeners }) => listeners)).toBeLessThanOrEqual(2);
  // Short runs are still warming up: what they show is only that nothing is badly wrong.
  expect(slope.value).toBeLessThan(reduced ? 400 : 2);
  expect(await bridge.end("SIGTERM")).toMatchObject({ code: 0 });
  await client.endAsync(true);
});

/** Timers come and go with every poll; sockets and files must not add up. */
const handlesOf = ({ handles }: Memory): number =>
  Object.entries(handles).reduce(
    (sum, [kind, count]) => (/Timeout|Immediate|Req/.test(kind) ? sum : sum + count),
    0,
  );

function configurationFor(url: string, brokerPort: number, codes: readonly string[]) {
  const actuators = Object.fromEntries(
    Object.entries(kinds).map(([kind, address]) => [
      kind,
      { kind, address, settle: "0s", min_interval: "0s", confirm_within: "60s" },
    ]),
  );
  const every = `${pollSeconds}s`;
  return {
    platform: {
      ...{ business_url: url, realtime_url: url, token: "soak" },
      ...{ requests_per_minute: 0, concurrency: 8, push: { enabled: false } },
    },
    mqtt: { url: `mqtt://127.0.0.1:${brokerPort}`, base_topic: base },
    http: false,
    polling: { controllers: "5m", sensors: every, running_status: "30s", actuators: "30s" },
    data_dir: "./data",
    log: { level: "warn", format: "json" },
    controllers: Object.fromEntries(codes.map((code) => [code, { actuators }])),
  };
}
