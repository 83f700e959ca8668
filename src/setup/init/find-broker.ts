import type { Clock } from "../../runtime/clock.js";
import { BrokerProbe, openProbe, probeId } from "../doctor/broker-probe.js";
import { cameWithin } from "../doctor/within.js";

/** Where a broker is usually found: on this computer, at Home Assistant, beside us as its add-on. */
export const usualBrokers: readonly string[] = [
  "mqtt://127.0.0.1:1883",
  "mqtt://homeassistant.local:1883",
  "mqtt://core-mosquitto:1883",
];

export interface FoundBroker {
  readonly url: string;
  /** It refuses clients without a user name and password. */
  readonly isLocked: boolean;
}

const lookMs = 2_000;

/** The brokers that answer, in the order given. All are asked at the same time. */
export async function findBrokers(urls: readonly string[], clock: Clock): Promise<readonly FoundBroker[]> {
  const found = await Promise.all(urls.map((url) => look(url, clock)));
  return found.filter((one) => one !== null);
}

async function look(url: string, clock: Clock): Promise<FoundBroker | null> {
  let found: FoundBroker | null = null;
  const asked = openProbe(
    { url, clientId: probeId("greenhouse2mqtt"), protocolVersion: 5 },
    clock,
    lookMs,
  ).then(async (probe) => {
    if (probe instanceof BrokerProbe) {
      found = { url, isLocked: false };
      await probe.close();
    } else if (probe.kind === "refused") found = { url, isLocked: true };
  });
  // A name that cannot be looked up may take far longer than a connection.
  await cameWithin(clock, lookMs + 500, asked);
  return found;
}
