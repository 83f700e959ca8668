import { once } from "node:events";
import { hostname, networkInterfaces } from "node:os";
import type { MulticastDNS } from "multicast-dns";
import type { Logger } from "../runtime/log.js";
import { isAnnounced, type Listener, mdnsName } from "./access.js";
import { ownAddresses } from "./entrance.js";

/*
 * The page under a name in its own network, by multicast DNS: `greenhouse2mqtt.local`, and in lists of what is there
 * (`_http._tcp`). Without it the page works all the same at its address.
 */

const service = "_http._tcp.local";
const listOfServices = "_services._dns-sd._udp.local";
const ttl = 120;

type Answer = Extract<Parameters<MulticastDNS["respond"]>[0], readonly unknown[]>[number];

interface Announced {
  /** Of the bridge, in lists. */
  readonly name: string;
  readonly port: number;
  readonly addresses: readonly string[];
}

/** Everything that is said of the page; with a `ttl` of 0 that it is gone. */
export function recordsOf({ name, port, addresses }: Announced, lasts = ttl): readonly Answer[] {
  const instance = `${name}.${service}`;
  const target = mdnsName;
  return [
    { name: listOfServices, type: "PTR", ttl: lasts, data: service },
    { name: service, type: "PTR", ttl: lasts, data: instance },
    { name: instance, type: "SRV", ttl: lasts, data: { target, port, priority: 0, weight: 0 } },
    { name: instance, type: "TXT", ttl: lasts, data: "path=/" },
    ...addresses.map((data): Answer => ({ name: mdnsName, type: "A", ttl: lasts, data })),
  ];
}

/** What of it answers these questions; names have no case. */
export function answersTo(
  questions: readonly { readonly name: string; readonly type: string }[],
  records: readonly Answer[],
): readonly Answer[] {
  return records.filter(({ name, type }) =>
    questions.some(
      (asked) => asked.name.toLowerCase() === name.toLowerCase() && [type, "ANY"].includes(asked.type),
    ),
  );
}

/** A dot would end a part of the name. */
const shownName = () => `greenhouse2mqtt on ${hostname().split(".")[0] ?? ""}`.slice(0, 63);

/** Until the signal aborts; what fails is told once and ends nothing. */
export async function announce(
  { listener, port, log }: { readonly listener: Listener; readonly port: number; readonly log: Logger },
  signal: AbortSignal,
): Promise<void> {
  if (!isAnnounced(listener)) return;
  let isTold = false;
  const onFailure = (error: unknown) => {
    if (!isTold)
      log.warn(
        { reason: String(error) },
        `the page has no name ${mdnsName} in the network; its address works`,
      );
    isTold = true;
  };
  try {
    // The library asks this from a timer, where nobody would catch that a sandbox forbids it.
    networkInterfaces();
    const { default: multicastDns } = await import("multicast-dns");
    const dns = multicastDns();
    dns.on("error", onFailure);
    dns.on("warning", onFailure);
    const records = (lasts?: number) =>
      recordsOf({ name: shownName(), port, addresses: ownAddresses() }, lasts);
    const respond = (answers: readonly Answer[]) => {
      if (answers.length > 0) dns.respond([...answers]);
    };
    dns.on("query", ({ questions }) => respond(answersTo(questions, records())));
    dns.on("ready", () => respond(records()));
    if (!signal.aborted) await once(signal, "abort");
    respond(records(0));
    dns.destroy();
  } catch (error) {
    onFailure(error);
  }
}
