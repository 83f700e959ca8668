import { expect } from "vitest";
import type { Stage } from "../end-to-end/support/stage.js";
import { it } from "../end-to-end/support/staged.js";
import { until } from "../end-to-end/support/watch.js";
import { countFrom, rounded, tellFigures } from "../proof/figures.js";
import { probeEnvironment } from "../proof/probed.js";
import { freePort } from "../support/mosquitto.js";
import { chanceFor } from "./chance.js";
import { caseOf } from "./mutation.js";
import { errorsIn } from "./logged.js";
import { growthOf, watchMemory } from "./memory.js";
import { regularClient } from "./regular-client.js";
import { play } from "./sockets.js";

/*
 * Mutated MQTT packets against the embedded broker of the built program, over real TCP and WebSocket, while two clients
 * that behave are served all the time. FUZZ_SECONDS says how long (30 min without it), FUZZ_SEED repeats a run. After a
 * failure FUZZ_FROM and FUZZ_CASES play only some of its connections.
 */

const fullSeconds = 1_800;
const seconds = countFrom("FUZZ_SECONDS", fullSeconds);
const seed = countFrom("FUZZ_SEED", Math.trunc(Date.now() / 1_000));
const from = countFrom("FUZZ_FROM", 0);
const most = countFrom("FUZZ_CASES", Number.MAX_SAFE_INTEGER);
const atOnce = 24;
/** A slope over less says more about the just-in-time compiler than about leaks. */
const reduced = seconds < 600;

it("mutated packets of all kinds and versions end nothing, log no error, and everybody else is served", async ({
  stage,
}) => {
  process.stdout.write(`packet fuzz: FUZZ_SEED=${seed}, ${seconds} s\n`);
  const { bridge, ports } = await running(stage);
  const regulars = [
    await regularClient(`mqtt://127.0.0.1:${ports.tcp}`, 5),
    await regularClient(`ws://127.0.0.1:${ports.websocket}`, 4),
  ];
  const inFlight = new Set<number>();
  const state = { next: from, isOver: false as boolean };
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  const isFine = () => !bridge.hasEnded && regulars.every(({ complaints }) => complaints.length === 0);
  const playing = Array.from({ length: atOnce }, async () => {
    while (elapsedMs() < seconds * 1_000 && isFine() && state.next < from + most) {
      const index = state.next++;
      inFlight.add(index);
      const chance = chanceFor(seed, index);
      await play(caseOf(chance, index), ports, chance);
      inFlight.delete(index);
    }
  });
  const memory = watchMemory(bridge, stage.folder, seconds, () => !state.isOver && isFine());
  await Promise.all(playing);
  const lastOnes = `last connections: FUZZ_SEED=${seed} FUZZ_FROM=${Math.max(from, state.next - 200)} FUZZ_CASES=200`;
  state.isOver = true;
  await memory.over;
  for (const regular of regulars) await regular.stop();
  const errors = errorsIn(bridge.stderr);
  const slope = growthOf(memory.rss);
  const heapSlope = growthOf(memory.heap);
  await tellFigures("fuzz", reduced, {
    seed,
    seconds,
    connections: state.next - from,
    "process exits": bridge.hasEnded ? 1 : 0,
    "errors logged": errors.length,
    "requests of regular clients answered": regulars.reduce((sum, { served }) => sum + served, 0),
    "slowest answer, ms": Math.round(Math.max(...regulars.map(({ slowestMs }) => slowestMs))),
    "RSS slope, MB/min": rounded(slope.value),
    "RSS slope, 95 % margin": rounded(slope.margin),
    "heap slope, MB/min": rounded(heapSlope.value),
    "RSS at the end, MB": rounded(memory.rss.at(-1)?.y ?? 0, 0),
  });
  expect(bridge.hasEnded, `${lastOnes}\n${bridge.stderr.slice(-2_000)}`).toBe(false);
  expect(errors, lastOnes).toEqual([]);
  for (const { complaints, forgeries, served } of regulars) {
    expect([...complaints, ...forgeries], lastOnes).toEqual([]);
    expect(served).toBeGreaterThan(0);
  }
  if (!reduced) expect(slope.value).toBeLessThan(1);
  // Limits on clients, retained topics and sessions are reached long before that.
  expect(memory.heap.at(-1)?.y).toBeLessThan(150);
  expect(await bridge.end("SIGTERM"), "it ends in order").toMatchObject({ code: 0 });
});

async function running(stage: Stage) {
  const platform = await stage.platform({ controllers: 3, speed: 20 });
  const ports = { tcp: await freePort(), websocket: await freePort() };
  const printed = /^platform:[\s\S]*/m.exec(platform.program.stdout)?.[0] ?? "";
  const configuration = [
    printed.replace("platform:\n", "platform:\n  requests_per_minute: 0\n"),
    `broker: { port: ${ports.tcp}, websocket_port: ${ports.websocket} }`,
    "polling: { controllers: 5m, sensors: 2s, running_status: 5s, actuators: 2s }",
    "http: false",
    "log: { level: warn, format: json }",
    "",
  ].join("\n");
  await stage.write("config.yaml", configuration);
  const bridge = stage.program(["run"], { env: probeEnvironment(stage.folder) });
  const watch = await stage.watch({ url: `mqtt://127.0.0.1:${ports.tcp}`, protocolVersion: 5 });
  await until(watch, "greenhouse/bridge/state", "online", 60_000);
  await watch.end();
  return { bridge, ports };
}
