import { setMaxListeners } from "node:events";
import type { PlatformHost, PlatformReader, PlatformWriter } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { Random } from "../runtime/random.js";
import { blanker, withoutSecrets } from "../runtime/redaction.js";
import { Authorized } from "./authorized.js";
import { Caller } from "./caller.js";
import { newTally, type PlatformCounters } from "./counters.js";
import { type Files, nodeFiles } from "./files.js";
import { HostConnections } from "./http/connections.js";
import { type HostLink, LinkBook, type OnLink } from "./link.js";
import type { Operation } from "./operations.js";
import { createPush, type PushClient } from "./push/platform-push.js";
import { Reader, Writer } from "./reader.js";
import { credentialSource } from "./session/credential-source.js";
import type { CredentialSource } from "./session/credential.js";
import type { PlatformSettings } from "./settings.js";
import { type ShapeReport, ShapeReports } from "./shape-reports.js";
import { ClockSkew, timeReader, zoneOffset } from "./time.js";

/**
 * Callers pass one signal to any number of calls, and Node warns of a leak from the eleventh listener on. Returns the function
 * that tells it once per signal that this is meant.
 */
export function sharedSignals(): (signal: AbortSignal) => void {
  const known = new WeakSet<AbortSignal>();
  return (signal) => {
    if (known.has(signal)) return;
    known.add(signal);
    setMaxListeners(0, signal);
  };
}

export interface PlatformPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Where the signed-in token is kept; used with `sign_in` only. */
  readonly dataDir: string;
  /** Told when a host's link changes; plain success of a healthy link is no change. */
  readonly onLink: OnLink;
  readonly files?: Files;
}

/** The platform as the rest of the program uses it. Nothing is opened or read before the first call. */
export interface PlatformClient extends PlatformReader, PlatformWriter, Omit<PushClient, "frameReports"> {
  /** After a write was refused (401, 403, or no credential at hand): whether another credential is ready. Never rejects. */
  renewCredential(signal: AbortSignal): Promise<boolean>;
  link(host: PlatformHost): HostLink;
  /** When the host last answered something usable, monotonic ms; null while it has not. */
  lastContact(host: PlatformHost): number | null;
  /** Ms the platform's clock is ahead of ours, exact to a few seconds; null while no answer told. */
  clockSkewMs(): number | null;
  counters(): PlatformCounters;
  shapeReports(): readonly ShapeReport[];
  /** Everything that must never be shown, as far as it is known by now. */
  secrets(): readonly string[];
  /** Ends open requests and leaves no timer. */
  close(): Promise<void>;
}

/** Builds the client; throws only for URLs that are none. */
export function createPlatform(settings: PlatformSettings, ports: PlatformPorts): PlatformClient {
  const { clock, random, log, onLink } = ports;
  const parts = sharedParts(settings, ports);
  const { tally, hosts, skew, reports, readTime } = parts;
  const link = new LinkBook(clock, onLink);
  // The source asks through the caller, which must not show what the source knows.
  const known: { source: CredentialSource | null } = { source: null };
  const redact = withoutSecrets(() => known.source?.secrets() ?? []);
  const blank = blanker(() => known.source?.tokens() ?? []);
  const credentialKey = `platform.${settings.credential.type}`;
  const caller = new Caller({ hosts, link, skew, clock, random, tally, credentialKey, redact, blank });
  const source = credentialSource(settings, {
    ...{ caller, link, skew, readTime, reports, clock, log, tally },
    files: ports.files ?? nodeFiles,
    dataDir: ports.dataDir,
  });
  known.source = source;
  const authorized = new Authorized(caller, source);
  const scene = (operation: Operation) => ({ operation, url: hosts[operation.host].url, redact });
  const share = sharedSignals();
  const reader = new Reader({ authorized, reports, readTime, clock, scene, share }, settings.shapes);
  const writer = new Writer({ authorized, reports, scene, share });
  const push = createPush(settings, { source, readTime, clock, random, log, redact, blank });
  return {
    ...readsOf(reader),
    write: (code, address, value, signal, manner) => writer.write(code, address, value, signal, manner),
    renewCredential: (signal) => authorized.renewForWrite(signal),
    link: (host) => link.link(host),
    lastContact: (host) => link.link(host).contactAt,
    clockSkewMs: () => skew.skewMs(),
    counters: () => ({ ...tally }),
    shapeReports: () => [...reports.list(), ...push.frameReports()],
    listen: (channel, listener, signal) => push.listen(channel, listener, signal),
    pushCounters: () => push.pushCounters(),
    secrets: () => source.secrets(),
    close: async () => {
      await Promise.all([caller.close(), source.close()]);
    },
  };
}

function sharedParts(settings: PlatformSettings, { clock, log }: PlatformPorts) {
  const { timeouts, concurrency } = settings;
  const connections = (url: string) => new HostConnections({ url, timeouts, concurrency }, clock);
  return {
    tally: newTally(),
    hosts: { business: connections(settings.businessUrl), realtime: connections(settings.realtimeUrl) },
    skew: new ClockSkew(clock),
    reports: new ShapeReports(log, clock),
    readTime: timeReader(zoneOffset(settings.timeZone)),
  };
}

const readsOf = (reader: Reader): PlatformReader => ({
  controllers: (signal) => reader.controllers(signal),
  devices: (dataType, signal) => reader.devices(dataType, signal),
  stations: (signal) => reader.stations(signal),
  connection: (code, signal, pace) => reader.connection(code, signal, pace),
  sensors: (code, signal) => reader.sensors(code, signal),
  runningStatuses: (code, signal) => reader.runningStatuses(code, signal),
  value: (code, address, fresh, signal) => reader.value(code, address, fresh, signal),
  values: (code, group, signal) => reader.values(code, group, signal),
  get: (operation, query, signal) => reader.get(operation, query, signal),
});
