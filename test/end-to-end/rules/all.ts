import { afterAll, expect } from "vitest";
import type { BrokerUnderTest } from "../support/brokers.js";
import { createCommandRig } from "../support/command-rig.js";
import { createMirrorScene } from "../support/mirror-scene.js";
import { brokenRules } from "../support/recording.js";
import type { Spoken } from "../support/spoken.js";
import { staged } from "../support/staged.js";
import { commandsEnd, housesForOutcomes } from "./command-outcomes.js";
import { commandsAreRefused, housesForRefusals } from "./command-refusals.js";
import { endsCleanly, survivesAnOutage } from "./mirror-ends.js";
import { followsThePlatform } from "./mirror-follows.js";
import { staysTrue } from "./mirror-stays-true.js";
import { followsPushes, housesForPushes } from "./pushed-news.js";

/** All rules of commands, at one broker; without a dialect the platform is the plainest one. */
export function rulesOfCommands(broker: BrokerUnderTest, dialect?: Spoken): void {
  const houses = housesForOutcomes + housesForRefusals + housesForPushes;
  const rig = staged((stage) => createCommandRig(stage, broker, { houses, ...(dialect && { dialect }) }));

  afterAll(async () => {
    const showsTravel = dialect?.dialect.positionReads === "travelling";
    expect(await brokenRules(rig(), { showsTravel }), "of all commands together").toEqual([]);
  });
  commandsEnd(rig);
  commandsAreRefused(rig, broker);
  followsPushes(rig);
}

/** All rules of the reading half. An outage is not for dialects: no shape takes part in it. */
export function rulesOfTheMirror(broker: BrokerUnderTest, dialect?: Spoken): void {
  const scene = staged((stage) => createMirrorScene(stage, broker, dialect));

  followsThePlatform(scene);
  staysTrue(scene);
  if (dialect === undefined) survivesAnOutage(scene);
  endsCleanly(scene);
}
