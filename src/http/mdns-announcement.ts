import { once } from "node:events";
import { hostname } from "node:os";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { isAnnounced, type Listener, mdnsName } from "./access.js";
import { ownAddresses } from "./page-address.js";
import type { MdnsRecord, Question } from "./mdns.js";

/*
 * Announces the page in its own network by multicast DNS: as `greenhouse2mqtt.local`, and as a service of the type
 * `_http._tcp`. Without it the page still works at its address.
 */

const service = "_http._tcp.local";
const listOfServices = "_services._dns-sd._udp.local";
const ttl = 120;

interface Announced {
  /** The bridge's name in lists of services. */
  readonly name: string;
  readonly port: number;
  readonly addresses: readonly string[];
}

/** All records about the page; with 0 for `lasts` they say that it is gone. */
export function recordsOf({ name, port, addresses }: Announced, lasts = ttl): readonly MdnsRecord[] {
  const instance = `${name}.${service}`;
  const target = mdnsName;
  return [
    { name: listOfServices, type: "PTR", ttl: lasts, data: service },
    { name: service, type: "PTR", ttl: lasts, data: instance },
    { name: instance, type: "SRV", ttl: lasts, data: { target, port } },
    { name: instance, type: "TXT", ttl: lasts, data: "path=/" },
    ...addresses.map((data): MdnsRecord => ({ name: mdnsName, type: "A", ttl: lasts, data })),
  ];
}

/** The records that answer these questions; names are compared without case. */
export function answersTo(
  questions: readonly Question[],
  records: readonly MdnsRecord[],
): readonly MdnsRecord[] {
  return records.filter(({ name, type }) =>
    questions.some(
      (asked) => asked.name.toLowerCase() === name.toLowerCase() && [type, "ANY"].includes(asked.type),
    ),
  );
}

/** A dot would split the name into two labels. */
const shownName = () => `greenhouse2mqtt on ${hostname().split(".")[0] ?? ""}`.slice(0, 63);

/** Announces the page until the signal aborts. The first failure is logged; none is thrown. */
export async function announce(
  {
    listener,
    port,
    clock,
    log,
  }: { readonly listener: Listener; readonly port: number; readonly clock: Clock; readonly log: Logger },
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
  const records = (lasts?: number) =>
    recordsOf({ name: shownName(), port, addresses: ownAddresses() }, lasts);
  try {
    const { MdnsSocket } = await import("./mdns.js");
    const socket = new MdnsSocket(
      clock,
      (questions) => socket.say(answersTo(questions, records())),
      onFailure,
    );
    await socket.open();
    socket.say(records());
    if (!signal.aborted) await once(signal, "abort");
    socket.say(records(0), true);
    await socket.close();
  } catch (error) {
    onFailure(error);
  }
}
