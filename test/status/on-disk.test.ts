import { describe, expect, it } from "vitest";
import { LiveSettings } from "../../src/config/live-settings.js";
import { configurationSchema } from "../../src/config/schema.js";
import type { Core } from "../../src/feature/core.js";
import { acknowledge, readOnly } from "../../src/status/requests.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { bench, skylight } from "../limits/bench.js";

/* What an answer promises is on disk before it. */

const configuration = (read_only: boolean) =>
  configurationSchema.parse({
    platform: { business_url: "https://b.example", realtime_url: "https://r.example", token: "canary-token" },
    http: false,
    commands: { read_only },
  });

async function scene() {
  const clock = new VirtualClock();
  const { store } = await bench({ actuators: [skylight()], registers: { "101": "10001" } });
  const appended: { readonly type: string; readonly durable: unknown; readonly resolve: () => void }[] = [];
  const append = ({ type }: { readonly type: string }, { durable }: { readonly durable: unknown }) =>
    new Promise<number>((resolve) => appended.push({ type, durable, resolve: () => resolve(1) }));
  const live = new LiveSettings(configuration(false));
  const chosen: boolean[] = [];
  live.onReadOnlyChosen(() => chosen.push(live.commandRules().read_only));
  const told: unknown[] = [];
  const core = {
    clock,
    mirror: { store },
    journal: { append, history: () => ({ lanes: [], open: [], starts: [], limits: [], alarms: [] }) },
    commands: {
      commander: { feed: () => null },
      limits: {
        alarms: {
          acknowledge: (id: string) => ({
            ids: [id],
            written: () => append({ type: "alarm_kept" }, { durable: true }),
          }),
        },
      },
    },
    onEvent: (event: { readonly facts?: unknown }) => void told.push(event.facts),
  } as unknown as Core;
  const ask = (answer: Promise<unknown>) => {
    const here = { answer: "none yet" };
    const say = (text: string) => void (here.answer = text);
    answer.then(
      () => say("done"),
      (error: unknown) => say(String(error)),
    );
    return here;
  };
  return { clock, core, live, appended, ask, chosen, told };
}

describe("is answered once the disk has it, and says where the disk does not take it", () => {
  type Scene = Awaited<ReturnType<typeof scene>>;
  it.each<[string, (of: Scene) => Promise<unknown>, record: string]>([
    [
      "that a problem was seen",
      ({ core }) => acknowledge(core, { controller: "GH-0001" }, null),
      "acknowledged",
    ],
    ["that an alarm was seen", ({ core }) => acknowledge(core, { alarm: "flood" }, null), "alarm_kept"],
    ["read-only", ({ core, live }) => readOnly(core, live, {}, null), "configuration_changed"],
    [
      "the end of read-only",
      ({ core, live }) => readOnly(core, live, { read_only: false }, "page:anna"),
      "configuration_changed",
    ],
  ])("%s", async (_, request, type) => {
    const of = await scene();
    const { appended, ask, clock } = of;
    const taken = ask(request(of));
    await clock.advance(5_000);
    expect(appended).toMatchObject([{ type, durable: true }]);
    expect(taken.answer).toBe("none yet");
    appended[0]?.resolve();
    await clock.advance(0);
    expect(taken.answer).toBe("done");
    const late = ask(request(of));
    await clock.advance(10_000);
    expect(late.answer).toContain("The disk has not answered for 10 s");
  });

  it("what forbids counts from the moment it is asked for, what allows from the disk on", async () => {
    const { core, live, appended, ask, clock, chosen } = await scene();
    ask(readOnly(core, live, {}, null));
    expect(chosen).toEqual([true]);
    ask(readOnly(core, live, { read_only: false }, "page:anna"));
    await clock.advance(20_000);
    expect(chosen).toEqual([true]);
    for (const { resolve } of appended) resolve();
    await clock.advance(0);
    expect(chosen).toEqual([true, false]);
  });

  it("an older wish to let commands pass undoes no newer read-only, and says so", async () => {
    const { core, live, appended, ask, clock, told } = await scene();
    const older = ask(readOnly(core, live, { read_only: false, by: "anna" }, "page:anna"));
    const newer = ask(readOnly(core, live, { by: "ben" }, null));
    for (const { resolve } of appended) resolve();
    await clock.advance(0);
    expect(live.commandRules().read_only).toBe(true);
    expect(told).toEqual([{ read_only: true, by: "ben" }]);
    expect(newer.answer).toBe("done");
    expect(older.answer).toContain("This did not let commands pass");

    const newest = ask(readOnly(core, live, { read_only: false }, "page:anna"));
    appended.at(-1)?.resolve();
    await clock.advance(0);
    expect(newest.answer).toBe("done");
    expect(live.commandRules().read_only).toBe(false);
  });

  it("nor a file that was read again, nor a new run", async () => {
    const { core, live, appended, ask, clock } = await scene();
    const before = ask(readOnly(core, live, { read_only: false }, "page:anna"));
    live.reload(configuration(true));
    appended[0]?.resolve();
    await clock.advance(0);
    expect(before.answer).toContain("This did not let commands pass");
    expect(live.commandRules().read_only).toBe(true);

    const ofTheFormer = ask(readOnly(core, live, { read_only: false }, "page:anna"));
    const next = live.follow(configuration(true));
    appended[1]?.resolve();
    await clock.advance(0);
    expect(ofTheFormer.answer).toContain("This did not let commands pass");
    expect(next.commandRules().read_only).toBe(true);
  });
});
