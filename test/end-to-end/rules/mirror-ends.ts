import { describe, expect, it } from "vitest";
import type { MirrorScene } from "../support/mirror-scene.js";
import { fields, untilEvent, untilNew } from "../support/watch.js";

/** A platform that is gone for a while. */
export function survivesAnOutage(scene: () => MirrorScene): void {
  describe("survives an outage", { timeout: 120_000, concurrent: false }, () =>
    it("says unreachable and stale when the platform is gone, and recovers within 60 s without a restart", async () => {
      const { platform, watch, allAre, promptMs } = scene();
      const mark = watch.mark();
      await platform.tell("host_down", { host: "both", how: "refuse" });
      const lost = await untilNew(watch, mark, "greenhouse/bridge/platform", "unreachable", 35_000);
      const all = ["gh-0001", "fm-0002", "gh-0003", "gh-0004", "gh-0005", "ws-0001"];
      const stale = all.map((id) => allAre(id, "stale"));
      await watch.untilTrue(() => stale.every((one) => one()), "everything is stale", promptMs + 1_000);
      const marked = watch.seen.filter(({ index, topic }) => index >= mark && topic.endsWith("/quality"));
      expect(Math.max(...marked.map(({ atMs }) => atMs)) - lost.atMs).toBeLessThan(promptMs);
      const roof = () => fields(watch.latest("greenhouse/gh-0001/actuator/left_skylight/json"))["quality"];
      await watch.untilTrue(() => roof() === "stale", "the skylight is stale", promptMs);
      expect(watch.latest("greenhouse/bridge/state")).toBe("online");
      await untilEvent(watch, mark, "platform_lost");

      const back = watch.mark();
      await platform.tell("host_up", { host: "both" });
      await untilNew(watch, back, "greenhouse/bridge/platform", "online", 60_000);
      await untilEvent(watch, back, "platform_back");
      const good = all.map((id) => allAre(id, "good"));
      await watch.untilTrue(() => good.every((one) => one()), "everything is good again", 30_000);
    }),
  );
}

/** The last rules of a scene: they stop its bridge. */
export function endsCleanly(scene: () => MirrorScene): void {
  describe("ends", { concurrent: false }, () => {
    it("publishes offline and exits with 0 within ten seconds of SIGTERM", async () => {
      const { watch, bridge, promptMs } = scene();
      const mark = watch.mark();
      const start = performance.now();
      bridge.signal("SIGTERM");
      await untilNew(watch, mark, "greenhouse/bridge/state", "offline");
      expect(await bridge.ended).toMatchObject({ code: 0, signal: null });
      expect(performance.now() - start).toBeLessThan(2 * promptMs);
    });

    it("never showed a secret in any topic or log line", async () => {
      const { stage, bridge } = scene();
      expect(bridge.stderr.length).toBeGreaterThan(1_000);
      expect(await stage.leaks()).toEqual([]);
    });
  });
}
