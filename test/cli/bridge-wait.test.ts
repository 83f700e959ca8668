import { describe, expect, it } from "vitest";
import { BridgeWait } from "../../src/cli/set.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { manualClock } from "../mqtt-connection/support.js";

const never = new AbortController().signal;
const sent = () => Promise.resolve();
const result = { outcome: "confirmed" } as unknown as CommandResult;

function online(): BridgeWait {
  const wait = new BridgeWait(manualClock());
  wait.said("online");
  return wait;
}

describe("the wait of `set` for the running bridge", () => {
  it("ends with the bridge's result", async () => {
    const wait = online();
    expect(await wait.isOnline()).toBe(true);
    const ended = wait.resultOf(sent, never);
    wait.answered(result);
    expect(await ended).toBe(result);
  });

  it("takes a silent or an offline bridge for none", async () => {
    const clock = manualClock();
    const silent = new BridgeWait(clock).isOnline();
    await clock.advance(1_000);
    expect(await silent).toBe(false);
    const offline = new BridgeWait(manualClock());
    offline.said("offline");
    expect(await offline.isOnline()).toBe(false);
  });

  it("ends at a signal, saying that the command was sent and where its result will be", async () => {
    const stop = new AbortController();
    const ended = online().resultOf(sent, stop.signal);
    stop.abort();
    await expect(ended).rejects.toMatchObject({
      exitCode: 1,
      message: "stopped; the command was sent, and `greenhouse2mqtt journal` shows what became of it",
    });
  });

  it("sends nothing after a signal", async () => {
    let sends = 0;
    const send = () => {
      sends += 1;
      return Promise.resolve();
    };
    await expect(online().resultOf(send, AbortSignal.abort())).rejects.toMatchObject({
      exitCode: 1,
      message: "stopped; the command was not sent",
    });
    expect(sends).toBe(0);
  });

  it("ends when the bridge goes offline, even where the broker never took the command", async () => {
    const wait = online();
    const ended = wait.resultOf(() => new Promise(() => undefined), never);
    wait.said("offline");
    await expect(ended).rejects.toMatchObject({
      exitCode: 1,
      message:
        "the command was sent, but the bridge has gone offline; once it runs again `greenhouse2mqtt journal` shows what became of it",
    });
  });

  it("ends with the result where both come", async () => {
    const wait = online();
    const ended = wait.resultOf(sent, never);
    wait.answered(result);
    wait.said("offline");
    expect(await ended).toBe(result);
  });

  it("does not last longer than any command", async () => {
    const clock = manualClock();
    const wait = new BridgeWait(clock);
    wait.said("online");
    const ended = wait.resultOf(sent, never);
    const refused = expect(ended).rejects.toMatchObject({ exitCode: 1 });
    await clock.advance(15 * 60_000);
    await refused;
  });
});
