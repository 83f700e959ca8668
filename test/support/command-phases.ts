import type { Command, Phase } from "../../src/commands/command.js";
import { CommandPhases } from "../../src/commands/phases.js";
import { actuator } from "./builders.js";

export const command = (id: string, over: Partial<Command> = {}): Command => ({
  id,
  ownId: true,
  code: "GH-0001",
  controllerId: "east",
  target: "actuator",
  targetId: "fan",
  settings: actuator({ id: "fan" }),
  wanted: { type: "word", word: "on", value: "1010" },
  payloadKey: id,
  by: null,
  via: null,
  response: null,
  force: false,
  dryRun: false,
  ...{ term: null, rule: null },
  receivedAt: 0,
  receivedMono: 0,
  deadlineMono: 0,
  ...over,
});

/** What a broker would be sent, as `target id:phase`. */
export function phases(later?: (tell: () => void) => void) {
  const sent: string[] = [];
  const removed = new Set<string>();
  const line = { ready: () => Promise.resolve() };
  const made = new CommandPhases({
    base: "greenhouse",
    send: (topic, payload) => {
      const { id, phase } = JSON.parse(payload) as { readonly id: string; readonly phase: Phase };
      sent.push(`${topic.split("/").slice(1, 4).join("/")} ${id}:${phase}`);
    },
    ready: () => line.ready(),
    isMirrored: (id) => !removed.has(id),
    later,
  });
  /** What was sent since the last look, once everything that can be sent by itself is. */
  const news = async () => {
    await settled();
    return sent.splice(0);
  };
  return { made, sent, removed, line, news };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

export const fan = (text: string) => `east/actuator/fan ${text}`;
