import { type Clock, within } from "../../runtime/clock.js";
import { BrokerLink, type LinkOptions, openLink } from "./link.js";
import { noFilter, type RetainedFound, scanOn } from "./session.js";
import { type BrokerFacts, clientIdBeside, type IncomingMessage } from "./settings.js";

interface Beside {
  readonly options: Omit<LinkOptions, "message" | "settings"> & {
    readonly settings: LinkOptions["settings"];
  };
  readonly markTopic: string | null;
  readonly clock: Clock;
  /** The link that it is beside has ended. */
  readonly signal: AbortSignal;
}

/**
 * Shows what the broker holds over a connection of its own: a command that comes meanwhile would stand behind all of it in the
 * stream of the other. Resolves with whether that was all; with null where the broker gives no further connection.
 */
export async function scanBeside(
  { options, markTopic, clock, signal }: Beside,
  filters: readonly string[],
  look: RetainedFound,
): Promise<boolean | null> {
  const takers = new Set<(message: IncomingMessage) => boolean>();
  const message = (one: IncomingMessage) => {
    for (const takes of takers) takes(one);
  };
  const { clientId, ...login } = options.settings;
  const settings = { ...login, clientId: clientIdBeside(clientId) };
  const link = await openLink({ ...options, settings, message, isPatient: true });
  if (!(link instanceof BrokerLink)) return null;
  const abandon = () => link.destroy(null);
  signal.addEventListener("abort", abandon);
  if (signal.aborted) abandon();
  try {
    const facts = await link.accepted;
    if (facts === null) return null;
    // Of a broker that acknowledges nothing, nothing is known.
    const { ackTimeoutMs } = options.limits;
    const prove = () => within(clock, ackTimeoutMs, () => proof(link, facts, markTopic));
    return await scanOn({ link, clock, prove, look, takers }, filters);
  } finally {
    signal.removeEventListener("abort", abandon);
    link.end();
  }
}

/** A broker that acknowledges no publish answers in order to the other all the same. */
function proof(link: BrokerLink, { maximumQos }: BrokerFacts, topic: string | null): Promise<void> {
  if (topic === null || maximumQos === 0) return link.unsubscribe([topic ?? noFilter]);
  return new Promise((resolve) => {
    link.publish({ topic, payload: "mark", options: { qos: 1 } }, () => resolve());
  });
}
