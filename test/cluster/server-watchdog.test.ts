import { expect, it } from "vitest";
import { ServerWatchdog } from "../../src/cluster/server-watchdog.js";
import { VirtualClock } from "../support/virtual-clock.js";

function server() {
  const clock = new VirtualClock();
  const made = { left: 0 };
  const watchdog = new ServerWatchdog(clock, () => (made.left += 1));
  /** Answered after that many ms; never without it. */
  const ask = (ms?: number, kind: "kept" | "told" = "told") => {
    const answer =
      ms === undefined ? clock.wait(60_000).then(() => Promise.reject(new Error("timeout"))) : clock.wait(ms);
    return watchdog.of(answer, kind).catch(() => undefined);
  };
  return { clock, made, watchdog, ask };
}

it("a server that answers nothing of what is asked for is left, also where its link stands", async () => {
  const { clock, made, ask } = server();
  void ask();
  await clock.advance(2_900);
  expect(made.left).toBe(0);
  await clock.advance(200);
  expect(made.left).toBe(1);
  // Nothing was asked of the next one yet.
  await clock.advance(10_000);
  expect(made.left).toBe(1);
  void ask();
  await clock.advance(3_100);
  expect(made.left).toBe(2);
});

it("one that answers to anything stays, however long other questions take", async () => {
  const { clock, made, ask } = server();
  void ask();
  for (let n = 0; n < 10; n += 1) {
    await clock.advance(1_000);
    void ask(500);
  }
  expect(made.left).toBe(0);
});

it("one that tells what it has and keeps nothing is left; one that keeps something stays", async () => {
  const { clock, made, ask } = server();
  void ask(undefined, "kept");
  for (let n = 0; n < 2; n += 1) {
    await clock.advance(1_000);
    void ask(500);
  }
  expect(made.left).toBe(0);
  await clock.advance(1_000);
  expect(made.left).toBe(1);
  void ask();
  for (let n = 0; n < 10; n += 1) {
    await clock.advance(1_000);
    void ask(500, "kept");
  }
  expect(made.left).toBe(1);
});

it("nothing is left once the link was closed", async () => {
  const { clock, made, watchdog, ask } = server();
  void ask();
  watchdog.close();
  void ask();
  await clock.advance(10_000);
  expect(made.left).toBe(0);
});
