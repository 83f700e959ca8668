import { afterAll, beforeAll, describe, vi } from "vitest";
import { endsCleanly } from "./rules/mirror-ends.js";
import { followsThePlatform } from "./rules/mirror-follows.js";
import { staysTrue } from "./rules/mirror-stays-true.js";
import { brokerFor } from "./support/brokers.js";
import { createMirrorScene, type MirrorScene } from "./support/mirror-scene.js";
import { dialectsUnderTest, spokenBy } from "./support/spoken.js";

/*
 * The rules of mirror.test.ts once more, for every way in which the simulated platform fills in what its interface
 * document leaves open: signed in, and told nothing else. Only `odd`, which has names nobody would guess, is told what
 * `doctor` would say. An outage is not here: no shape takes part in it.
 */

vi.setConfig({ maxConcurrency: 200 });

describe.concurrent.each(dialectsUnderTest)("the mirror of a platform that speaks %s", (profile) => {
  let scene: MirrorScene;
  beforeAll(async () => {
    scene = await createMirrorScene(brokerFor(profile), spokenBy(profile));
  }, 120_000);
  afterAll(() => (scene as MirrorScene | undefined)?.stage.clear());

  followsThePlatform(() => scene);
  staysTrue(() => scene);
  endsCleanly(() => scene);
});
