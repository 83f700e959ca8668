import { describe, expect, it } from "vitest";
import { PlatformError, type PlatformErrorKind } from "../../src/greenhouse/ports.js";
import { capturedLog } from "../journal/support/captured-log.js";
import { minute } from "../support/folding.js";
import { devices, hour, polledMirror } from "../support/polled-mirror.js";

type World = ReturnType<typeof polledMirror>;

const failing = (kind: PlatformErrorKind = "rejected") =>
  new PlatformError('the platform refused: code 500, "the table is broken"', {
    kind,
    host: "realtime",
    operation: "sensor-data",
    code: "500",
    platformMessage: "the table is broken",
    sent: true,
  });

/** The lines above debug that a running poller wrote. */
async function toldWhile(story: (world: World) => Promise<void>): Promise<readonly string[]> {
  const { log, lines } = capturedLog();
  const world = polledMirror({ log });
  const run = world.poller.run(world.abort.signal);
  await story(world);
  world.abort.abort();
  await world.clock.advance(0);
  await run;
  return lines.filter((line) => !line.startsWith("debug"));
}

/** Every request whose name begins so fails; returns what ends that. */
function breakAll({ platform }: World, beginning: string, kind: PlatformErrorKind = "rejected") {
  platform.fate = ({ name }) => {
    if (name.startsWith(beginning)) throw failing(kind);
  };
  return () => {
    platform.fate = () => undefined;
  };
}

describe("a poll that fails though its host answers", () => {
  it.each([
    ["controllers", "the list of controllers"],
    ["devices", "the list of other devices"],
    ["sensors", "sensors"],
    ["running_status", "running statuses"],
  ])("is told once with the platform's words, and once when it works again: %s", async (name, subject) => {
    const lines = await toldWhile(async (world) => {
      world.platform.list = devices(3);
      await world.clock.advance(10 * minute);
      const mend = breakAll(world, name);
      await world.clock.advance(5 * hour);
      mend();
      await world.clock.advance(2 * hour);
    });
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^warn polling ${subject} fails.*code 500, "the table is broken"`)),
      `info polling ${subject} works again`,
    ]);
  });

  it("for 500 controllers is one line that names the first of them", async () => {
    const lines = await toldWhile(async (world) => {
      breakAll(world, "sensors");
      world.platform.list = devices(500);
      await world.clock.advance(5 * minute);
    });
    expect(lines).toEqual([expect.stringContaining("(GH-0 was the first)")]);
  });

  it("is over only when it works for every controller", async () => {
    const lines = await toldWhile(async (world) => {
      world.platform.list = devices(3);
      await world.clock.advance(10 * minute);
      breakAll(world, "sensors");
      await world.clock.advance(10 * minute);
      breakAll(world, "sensors GH-1");
      await world.clock.advance(10 * minute);
    });
    expect(lines).toHaveLength(1);
  });

  it("every other time is not told every time", async () => {
    const lines = await toldWhile(async (world) => {
      world.platform.list = devices(1);
      let calls = 0;
      world.platform.fate = ({ name }) => {
        if (name.startsWith("sensors") && ++calls % 2 === 1) throw failing();
      };
      await world.clock.advance(hour);
    });
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.length).toBeLessThanOrEqual(12);
  });

  it("of a controller that went away no longer counts", async () => {
    const lines = await toldWhile(async (world) => {
      world.platform.list = devices(2);
      await world.clock.advance(10 * minute);
      breakAll(world, "sensors GH-1");
      await world.clock.advance(5 * minute);
      world.platform.list = devices(1);
      world.store.remove("GH-1");
      world.poller.forget("GH-1");
      await world.clock.advance(10 * minute);
      const mend = breakAll(world, "sensors GH-0");
      await world.clock.advance(5 * minute);
      mend();
      await world.clock.advance(5 * minute);
    });
    expect(lines.map((line) => line.split(":")[0])).toEqual([
      expect.stringContaining("GH-1 was the first"),
      expect.stringContaining("GH-0 was the first"),
      "info polling sensors works again",
    ]);
  });
});

describe("what is not told of a single kind of poll", () => {
  it.each(["unreachable", "paused", "unauthorized"] as const)(
    "%s: it is the host's, and told there",
    async (kind) => {
      const lines = await toldWhile(async (world) => {
        breakAll(world, "", kind);
        await world.clock.advance(hour);
      });
      expect(lines).toEqual([]);
    },
  );

  it("anything while its host is gone", async () => {
    const lines = await toldWhile(async (world) => {
      world.platform.list = devices(2);
      await world.clock.advance(10 * minute);
      world.poller.hostReachable("realtime", false);
      breakAll(world, "sensors", "timeout");
      await world.clock.advance(hour);
    });
    expect(lines).toEqual([]);
  });

  it("one time-out; two in a row are", async () => {
    const linesOf = (failures: number) =>
      toldWhile(async (world) => {
        world.platform.list = devices(1);
        await world.clock.advance(10 * minute);
        let left = failures;
        world.platform.fate = ({ name }) => {
          if (name.startsWith("sensors") && left-- > 0) throw failing("timeout");
        };
        await world.clock.advance(10 * minute);
      });
    expect(await linesOf(1)).toEqual([]);
    expect(await linesOf(2)).toHaveLength(2);
  });
});
