import { describe } from "vitest";
import { rulesOfTheMirror } from "./rules/all.js";
import { brokers } from "./support/brokers.js";

/*
 * The reading half of the product, as anybody at the broker sees it: the built program against the simulated platform,
 * over a real Mosquitto with both protocol versions and over the embedded broker.
 */

// The brokers side by side, the rules of each one after the other: an outage is not for the others to see.
describe.concurrent.each(brokers)("the mirror over $name", (broker) => {
  describe("as anybody sees it", { concurrent: false }, () => rulesOfTheMirror(broker));
});
