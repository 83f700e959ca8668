import { describe, expect, it } from "vitest";
import { SelfTest } from "../../src/status/self-test.js";
import { silentLog } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";

/** A link that delivers `perS` messages of others a second, and ours so late; null for never. */
async function linkThat(perS: number, oursAfterS: number | null, seconds: number) {
  const clock = new VirtualClock();
  const cuts: number[] = [];
  const link = { received: 0 };
  const began = clock.monotonic();
  const connection: SelfTestConnection = {
    state: "online",
    counters: () => ({ received: link.received }) as ReturnType<SelfTestConnection["counters"]>,
    reconnect: () => cuts.push((clock.monotonic() - began) / 1_000),
    publish: (_, nonce) => {
      if (oursAfterS !== null) clock.after(oursAfterS * 1_000, () => test.onMessage(String(nonce)));
      return Promise.resolve();
    },
  };
  const test: SelfTest = new SelfTest(
    { clock, log: silentLog, connection },
    "greenhouse/bridge/self_test",
    () => ({ nonce: "n", payload: "n" }),
    () => ({ withinMs: 10_000, everyMs: 3_600_000, againMs: 3_600_000 }),
  );
  test.onConnected();
  for (let second = 0; second < seconds; second += 1) {
    await clock.advance(1_000);
    link.received += perS;
    test.look();
  }
  return { cuts, heard: test.counters.heard };
}

type SelfTestConnection = ConstructorParameters<typeof SelfTest>[0]["connection"];

describe("a link that does not bring our own message back in time", () => {
  it("and nothing else is cut", async () => {
    expect((await linkThat(0, null, 30)).cuts).toEqual([10]);
  });

  it("but those of others is waited for, as ours may stand behind them", async () => {
    expect(await linkThat(100, 45, 70)).toEqual({ cuts: [], heard: 1 });
  });

  it("but those of others for a minute is cut all the same", async () => {
    expect((await linkThat(100, null, 90)).cuts).toEqual([60]);
  });
});
