import { expect, it } from "vitest";
import { endProcess } from "../../src/runtime/ending.js";
import { VirtualClock } from "../support/virtual-clock.js";

/** A process in which something goes on for so long. */
function processWith(kinds: readonly string[], forMs: number, isNew: boolean) {
  const clock = new VirtualClock();
  const story: string[] = [];
  const process = {
    execPath: "/usr/bin/node",
    pid: 7,
    getActiveResourcesInfo: () => (clock.monotonic() < forMs ? kinds : []),
    exit: (code: number) => story.push(`exit ${code}`),
    removeAllListeners: (signal: string) => story.push(`deaf to ${signal}`),
    kill: (pid: number, signal: string) => story.push(`kill ${pid} ${signal}`),
    ...(isNew && { execve: (_file: string, words: readonly string[]) => void story.push(words.join(" ")) }),
  };
  return { clock, story, process };
}

it.each([
  ["nothing hangs", ["Timeout", "TCPSocketWrap"], Infinity, true, ["exit 3"]],
  ["what was under way is over soon", ["FSReqPromise"], 200, true, ["exit 3"]],
  [
    "a file system hangs",
    ["FSReqCallback"],
    Infinity,
    true,
    ["/usr/bin/node -e process.exit(3)", "deaf to SIGTERM", "kill 7 SIGTERM"],
  ],
  [
    "a file system hangs, and Node is older",
    ["FSReqCallback"],
    Infinity,
    false,
    ["deaf to SIGTERM", "kill 7 SIGTERM"],
  ],
  [
    "the system's look-up hangs",
    ["GetAddrInfoReqWrap"],
    Infinity,
    false,
    ["deaf to SIGTERM", "kill 7 SIGTERM"],
  ],
] as const)(
  "a program that has said its last word ends where %s",
  async (_, kinds, forMs, isNew, expected) => {
    const { clock, story, process } = processWith(kinds, forMs, isNew);
    const ended = endProcess(process, 3, clock);
    await clock.advance(2_000);
    await ended;
    expect(story).toEqual(expected);
  },
);
