import type { BrokerTopics, BrokerUser } from "./settings.js";
import { filterCovers, topicMatches } from "./topic-filter.js";

/** What one connection may do. */
export interface Rights {
  readonly mayPublish: (topic: string, payloadBytes: number) => boolean;
  readonly maySubscribe: (filter: string) => boolean;
}

interface PublishRule {
  readonly filter: string;
  /** Only to clear a retained message, as Home Assistant does when a device is deleted there. */
  readonly emptyOnly: boolean;
}

/** Where commands and requests for the bridge arrive. */
export function commandFilters(base: string): readonly string[] {
  return [
    `${base}/+/actuator/+/set`,
    `${base}/+/parameter/+/set`,
    `${base}/+/address/+/set`,
    `${base}/bridge/request/+`,
  ];
}

function defaultPublishRules({ base, status, discoveryPrefix }: BrokerTopics): readonly PublishRule[] {
  return [
    ...[...commandFilters(base), status].map((filter) => ({ filter, emptyOnly: false })),
    { filter: `${discoveryPrefix}/device/+/config`, emptyOnly: true },
  ];
}

/** Rights of a user; of an anonymous client with null. A list in the configuration replaces the default of its kind. */
export function rightsOf(
  user: Pick<BrokerUser, "publish" | "subscribe"> | null,
  topics: BrokerTopics,
): Rights {
  const publish =
    user?.publish?.map((filter) => ({ filter, emptyOnly: false })) ?? defaultPublishRules(topics);
  const subscribe = user?.subscribe ?? ["#"];
  return {
    mayPublish: (topic, payloadBytes) =>
      isOrdinary(topic) &&
      publish.some(
        ({ filter, emptyOnly }) => (!emptyOnly || payloadBytes === 0) && topicMatches(filter, topic),
      ),
    maySubscribe: (filter) => subscribe.some((allowed) => filterCovers(allowed, filter)),
  };
}

/** The bridge itself. */
export const bridgeRights: Rights = { mayPublish: isOrdinary, maySubscribe: () => true };

/** Not the server's own tree, and no topic that would cut subscribers off; wills reach this check unchecked. */
function isOrdinary(topic: string): boolean {
  return topic !== "" && !topic.startsWith("$") && !/[#+\0]/.test(topic);
}
