import { afterAll, beforeAll } from "vitest";
import type { BrokerUnderTest } from "../support/brokers.js";
import { type CommandRig, createCommandRig } from "../support/command-rig.js";
import { createMirrorScene, type MirrorScene } from "../support/mirror-scene.js";
import type { Spoken } from "../support/spoken.js";
import { commandsEnd, housesForOutcomes } from "./command-outcomes.js";
import { commandsAreRefused, housesForRefusals } from "./command-refusals.js";
import { endsCleanly, survivesAnOutage } from "./mirror-ends.js";
import { followsThePlatform } from "./mirror-follows.js";
import { staysTrue } from "./mirror-stays-true.js";
import { followsPushes, housesForPushes } from "./pushed-news.js";

/** All rules of commands, at one broker; without a dialect the platform is the plainest one. */
export function rulesOfCommands(broker: BrokerUnderTest, dialect?: Spoken): void {
  let rig: CommandRig;
  beforeAll(async () => {
    const houses = housesForOutcomes + housesForRefusals + housesForPushes;
    rig = await createCommandRig(broker, { houses, ...(dialect && { dialect }) });
  }, 150_000);
  afterAll(() => (rig as CommandRig | undefined)?.stage.clear());

  commandsEnd(() => rig);
  commandsAreRefused(() => rig, broker);
  followsPushes(() => rig);
}

/** All rules of the reading half. An outage is not for dialects: no shape takes part in it. */
export function rulesOfTheMirror(broker: BrokerUnderTest, dialect?: Spoken): void {
  let scene: MirrorScene;
  beforeAll(async () => {
    scene = await createMirrorScene(broker, dialect);
  }, 150_000);
  afterAll(() => (scene as MirrorScene | undefined)?.stage.clear());

  followsThePlatform(() => scene);
  staysTrue(() => scene);
  if (dialect === undefined) survivesAnOutage(() => scene);
  endsCleanly(() => scene);
}
