import { PassThrough } from "node:stream";
import type { Aedes, Client, PublishPacket, SubscribePacket, UnsubscribePacket } from "aedes";
import type { Store } from "./bounded-store.js";
import type { Drainable } from "./slow-subscriber.js";
import { BrokerStartError } from "./start-error.js";

/* What is used of the insides of aedes. They may change with any version of it, so package.json names one exactly. */

const knownVersion = "2.0.0-beta.1";

export type FilterPacket = SubscribePacket | UnsubscribePacket | PublishPacket;

interface Parser {
  prependListener(event: "packet", listener: (packet: FilterPacket) => void): unknown;
}

interface BrokerInsides {
  readonly clients: Readonly<Record<string, Client>>;
  readonly persistence: Store;
  clampSessionExpiry: (interval: unknown) => number;
}

interface ClientInsides extends Drainable {
  readonly _parser: Parser;
  readonly subscriptions: object;
}

export const insidesOf = (aedes: Aedes): BrokerInsides => aedes as unknown as BrokerInsides;
export const clientInsidesOf = (client: Client): ClientInsides => client as unknown as ClientInsides;

const storeMethods: readonly (keyof Store)[] = [
  "storeRetained",
  "createRetainedStreamCombi",
  "outgoingEnqueue",
  "outgoingEnqueueCombi",
  "outgoingUpdate",
  "outgoingClearMessageId",
  "outgoingStream",
  "incomingStorePacket",
  "incomingDelPacket",
  "addSubscriptions",
  "removeSubscriptions",
  "cleanSubscriptions",
];

/** Throws a BrokerStartError where a part is missing on which the limits and rights of the broker stand. */
export function demandInsides(aedes: Aedes): void {
  const missing = missingOf(aedes);
  if (missing.length === 0) return;
  throw new BrokerStartError(
    "broker",
    `the package aedes that is installed lacks ${missing.join(", ")}, on which limits and rights stand: this program knows aedes ${knownVersion}; install the versions of package-lock.json (npm ci), or name another broker in mqtt.url`,
  );
}

function missingOf(aedes: Aedes): string[] {
  const broker: Partial<BrokerInsides> = insidesOf(aedes);
  const store: Partial<Store> = broker.persistence ?? {};
  const stream = new PassThrough();
  const client: Partial<ClientInsides> = clientInsidesOf(aedes.handle(stream));
  stream.destroy();
  const parser: Partial<Parser> = client._parser ?? {};
  const expected: readonly (readonly [string, unknown, "function" | "object"])[] = [
    ["clients", broker.clients, "object"],
    ["clampSessionExpiry", broker.clampSessionExpiry, "function"],
    ...storeMethods.map((name) => [`persistence.${name}`, store[name], "function"] as const),
    ["client.subscriptions", client.subscriptions, "object"],
    ["client.waitForDrain", client.waitForDrain, "function"],
    ["client._parser", parser.prependListener, "function"],
  ];
  return expected.filter(([, part, type]) => typeof part !== type).map(([name]) => name);
}
