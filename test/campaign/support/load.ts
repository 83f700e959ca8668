import type { SimulatedPlatform } from "../../end-to-end/support/platform.js";
import type { Sent, Shown } from "../history.js";
import { byHand, commanded, counters, maxAgeMs, moved, targets, topicOf } from "./house.js";
import type { Recorder } from "./recorder.js";

/** What goes on all the time: commands over MQTT, sensors that count, somebody who moves things by hand. */
export interface Load {
  readonly sent: readonly Sent[];
  readonly shown: readonly Shown[];
  /** No commands until `resume`; everything else goes on. */
  pause(): void;
  resume(): void;
  /** Resolves when the last change was made. */
  stop(): Promise<void>;
}

const commandEveryMs = 1_200;
const countEveryMs = 1_000;
const moveEveryMs = 3_000;

export function startLoad(recorder: Recorder, platform: SimulatedPlatform, lane: string): Load {
  const sent: Sent[] = [];
  const shown: Shown[] = [];
  const over = new AbortController();
  let isPaused = false;
  const chores = [
    every(commandEveryMs, over.signal, (turn) => {
      if (!isPaused && recorder.isConnected) send(recorder, sent, lane, turn);
      return Promise.resolve();
    }),
    every(countEveryMs, over.signal, (turn) => count(platform, shown, turn)),
    every(moveEveryMs, over.signal, async (turn) => {
      for (const { address, values } of Object.values(byHand)) {
        const value = values[turn % values.length] ?? "";
        await platform.tell("move_by_hand", { controller: moved, address, value });
      }
    }),
  ];
  return {
    sent,
    shown,
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
    stop: async () => {
      over.abort();
      await Promise.all(chores);
    },
  };
}

function send(recorder: Recorder, sent: Sent[], lane: string, turn: number): void {
  const names = Object.keys(targets);
  const actuator = names[turn % names.length] ?? "";
  const { address, commands } = targets[actuator] ?? { address: "", commands: [] };
  const [command, value] = commands[Math.floor(turn / names.length) % commands.length] ?? ["", ""];
  const id = `${lane}-${turn}`;
  const one: Sent = { id, at: Date.now(), actuator, command, value, address, acknowledged: false };
  sent.push(one);
  // Every third says when it was sent, so that the clock matters to it.
  const at = turn % 3 === 0 ? { at: new Date(one.at).toISOString(), max_age: `${maxAgeMs / 1_000}s` } : {};
  const payload = JSON.stringify({ command, id, by: "campaign", ...at });
  void recorder.publish(`${topicOf(commanded, actuator)}/set`, payload).then((taken) => {
    one.acknowledged = taken;
  });
}

async function count(platform: SimulatedPlatform, shown: Shown[], turn: number): Promise<void> {
  const value = 100 + turn;
  for (const { code, sensor, topic } of counters) {
    shown.push({ topic, value, from: Date.now() });
    await platform.tell("set_sensor", { controller: code, sensor, value });
  }
}

/** At a steady rate, but never two of one kind at a time. */
async function every(ms: number, over: AbortSignal, chore: (turn: number) => Promise<void>): Promise<void> {
  for (let turn = 0; !over.aborted; turn += 1) {
    const due = performance.now() + ms;
    await chore(turn);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, Math.max(0, due - performance.now()));
      function done() {
        clearTimeout(timer);
        over.removeEventListener("abort", done);
        resolve();
      }
      over.addEventListener("abort", done);
    });
  }
}
