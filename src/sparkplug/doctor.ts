import { msg } from "../language/text.js";
import { type Check, failed, notTried, ok, type Scene, type Verdict, warning } from "../feature/doctor.js";
import type { SparkplugSettings } from "./section.js";
import { hostWord, sparkplugTopics } from "./topics.js";

type Looked = Scene<{ readonly sparkplug: SparkplugSettings }>;

export const sparkplugChecks: readonly Check<Looked>[] = [
  { id: "sparkplug", needs: ["broker"], run: sparkplugVerdict },
];

async function sparkplugVerdict({ configuration: { sparkplug }, evidence }: Looked): Promise<Verdict> {
  if (!sparkplug.enabled) return notTried(msg`sparkplug.enabled is false`);
  const { broker, isGuest } = evidence;
  if (broker === null) return notTried(msg`there is no link to the broker`);
  return isGuest
    ? notTried(msg`only the running bridge itself has these rights at its embedded broker`)
    : edgeNodeVerdict(broker, sparkplug);
}

/**
 * Checks the topics that the edge node has to receive. Nothing is published, as hosts would take it for the running
 * bridge.
 */
async function edgeNodeVerdict(
  probe: NonNullable<Looked["evidence"]["broker"]>,
  settings: SparkplugSettings,
): Promise<Verdict> {
  const { group, node, primary_host: primaryHost } = settings;
  const topics = sparkplugTopics(settings, primaryHost);
  const refused = await probe.subscribe(topics.subscriptions);
  await probe.unsubscribe(topics.subscriptions);
  if (refused.length > 0)
    return failed(
      msg`the broker does not let us subscribe to ${refused.join(", ")}: the edge node ${group}/${node} is not born without`,
      msg`allow the bridge to subscribe to these, and to publish ${topics.nodeBirth} and the like, in the broker's access list`,
    );
  const heard = msg`the broker grants what the edge node ${group}/${node} subscribes to`;
  if (primaryHost === undefined) return ok(heard);
  const { found } = await probe.readRetained(topics.states);
  const words = topics.states.flatMap((topic, place) => {
    const said = found.get(topic);
    return said === undefined ? [] : [hostWord(Buffer.from(said), place > 0)];
  });
  if (words.some((word) => word?.isOnline === true)) return ok(msg`${heard}; ${primaryHost} is online`);
  const state = words.length === 0 ? msg`has said nothing at this broker` : msg`is not online`;
  return warning(
    msg`${heard}, but the primary host ${primaryHost} ${state}: births wait for it`,
    msg`start it, correct sparkplug.primary_host, or leave that out`,
  );
}
