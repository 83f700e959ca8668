import { afterAll, beforeAll, describe } from "vitest";
import { endsCleanly, survivesAnOutage } from "./rules/mirror-ends.js";
import { followsThePlatform } from "./rules/mirror-follows.js";
import { staysTrue } from "./rules/mirror-stays-true.js";
import { brokers } from "./support/brokers.js";
import { createMirrorScene, type MirrorScene } from "./support/mirror-scene.js";

/*
 * The reading half of the product, as anybody at the broker sees it: the built program against the simulated platform,
 * over a real Mosquitto with both protocol versions and over the embedded broker. dialects-mirror.test.ts keeps the same
 * rules for platforms that write everything another way.
 */

// The brokers side by side, the rules of each one after the other: an outage is not for the others to see.
describe.concurrent.each(brokers)("the mirror over $name", (broker) => {
  let scene: MirrorScene;
  beforeAll(async () => {
    scene = await createMirrorScene(broker);
  });
  afterAll(() => (scene as MirrorScene | undefined)?.stage.clear());

  describe("as anybody sees it", { concurrent: false }, () => {
    followsThePlatform(() => scene);
    staysTrue(() => scene);
    survivesAnOutage(() => scene);
    endsCleanly(() => scene);
  });
});
