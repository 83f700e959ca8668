import { type ProfileName, profileNames } from "../../../src/simulator/dialects.js";

/* The brokers the bridge is meant for. */

export const brokers = [
  { name: "Mosquitto with MQTT 5", embedded: false, version: 5 },
  { name: "Mosquitto with MQTT 3.1.1", embedded: false, version: 4 },
  { name: "the embedded broker", embedded: true, version: 5 },
] as const;

export type BrokerUnderTest = (typeof brokers)[number];

/** Dialects and brokers have nothing to do with each other, so each dialect is tried over one of them. */
export function brokerFor(profile: ProfileName): BrokerUnderTest {
  const [first, ...others] = brokers;
  return [first, ...others][profileNames.indexOf(profile) % brokers.length] ?? first;
}
