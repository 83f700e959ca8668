import type { SimulatedPlatform } from "../../end-to-end/support/platform.js";
import type { Watch } from "../../end-to-end/support/watch.js";
import type { Sent, Shown } from "../history.js";
import { wait } from "../row.js";
import { byHand, commanded, counters, maxAgeMs, moved, targets, topicOf } from "./house.js";

const commandEveryMs = 1_200;
const countEveryMs = 1_000;
/** Far from the sensors' own readings, which the judge could not tell from a count. */
const firstCount = 10_000;
const moveEveryMs = 3_000;
/** The longest wait for the acknowledgement of a publish. */
const takenWithinMs = 15_000;

/** The continuous load: commands over MQTT, counting sensors, and values set by hand. */
export function startLoad(watch: Watch, platform: SimulatedPlatform, lane: string) {
  const sent: Sent[] = [];
  const shown: Shown[] = [];
  let isOver = false;
  /** Runs at a steady rate, but never two of one kind at a time. */
  const every = async (ms: number, chore: (turn: number) => Promise<void>) => {
    for (let turn = 0; !isOver; turn += 1) {
      const due = performance.now() + ms;
      await chore(turn);
      await wait(Math.max(0, due - performance.now()));
    }
  };
  const chores = [
    every(commandEveryMs, (turn) => {
      if (watch.isConnected) send(watch, sent, lane, turn);
      return Promise.resolve();
    }),
    every(countEveryMs, async (turn) => {
      for (const { code, sensor, topic } of counters) {
        shown.push({ topic, value: firstCount + turn, from: Date.now() });
        await platform.tell("set_sensor", { controller: code, sensor, value: firstCount + turn });
      }
    }),
    every(moveEveryMs, async (turn) => {
      for (const { address, values } of Object.values(byHand)) {
        const value = values[turn % values.length] ?? "";
        await platform.tell("move_by_hand", { controller: moved, address, value });
      }
    }),
  ];
  return {
    sent: sent as readonly Sent[],
    shown: shown as readonly Shown[],
    /** Resolves once the last change is made. */
    stop: async () => {
      isOver = true;
      await Promise.all(chores);
    },
  };
}

function send(watch: Watch, sent: Sent[], lane: string, turn: number): void {
  const names = Object.keys(targets);
  const actuator = names[turn % names.length] ?? "";
  const { address, commands } = targets[actuator] ?? { address: "", commands: [] };
  const [command, value] = commands[Math.floor(turn / names.length) % commands.length] ?? ["", ""];
  const id = `${lane}-${turn}`;
  const one: Sent = { id, at: Date.now(), actuator, command, value, address, acknowledged: false };
  sent.push(one);
  // Every third command contains its time of sending, so that the clock matters to it.
  const at = turn % 3 === 0 ? { at: new Date(one.at).toISOString(), max_age: `${maxAgeMs / 1_000}s` } : {};
  const payload = JSON.stringify({ command, id, by: "campaign", ...at });
  const sentAt = performance.now();
  const taken = () => {
    one.acknowledged = performance.now() - sentAt < takenWithinMs;
  };
  void watch.publish(`${topicOf(commanded, actuator)}/set`, payload).then(taken, () => undefined);
}
