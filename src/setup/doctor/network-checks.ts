import { additions, statements } from "../../language/lists.js";
import { msg, row, type Text } from "../../language/text.js";
import { isIP, type Socket } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { allFeatures, type Configuration } from "../../config/schema.js";
import type { PlatformHost } from "../../greenhouse/ports.js";
import { troubleCode, troubleOf } from "../../platform/answer.js";
import { endpointOf, openSocket, startTls } from "../../runtime/connecting.js";
import type { Names } from "../../runtime/host-names.js";
import { isLoopback } from "../../runtime/sockets.js";
import { failed, notTried, ok, type Verdict, warning, within } from "./finding.js";
import type { Check, DoctorContext } from "./context.js";

const dayMs = 86_400_000;

const dayOf = (written: string): string => {
  const at = Date.parse(written);
  return Number.isFinite(at) ? new Date(at).toISOString().slice(0, 10) : "?";
};

/** Everything wrong with a refused certificate, and what to do; `key`: the configuration's key of the address. */
export function troublesOf(
  certificate: PeerCertificate,
  host: string,
  now: number,
  key: string,
): readonly (readonly [what: Text, remedy: Text])[] {
  const { subject, issuer, subjectaltname, valid_from: from, valid_to: until } = certificate;
  const names = subjectaltname ?? [subject.CN].flat().join(", ");
  const all: readonly (readonly [isSo: boolean, what: Text, remedy: Text])[] = [
    [
      Date.parse(until) < now,
      msg`the certificate expired on ${dayOf(until)}`,
      msg`ask its operator to renew it; if that day is still ahead, set this computer's clock`,
    ],
    [
      Date.parse(from) > now,
      msg`the certificate is not valid before ${dayOf(from)}`,
      msg`set this computer's clock`,
    ],
    [
      checkServerIdentity(host, certificate) !== undefined,
      msg`the certificate is for another name (${names}) than ${host}`,
      msg`check the host name in ${key}`,
    ],
    [
      JSON.stringify(subject) === JSON.stringify(issuer),
      msg`the certificate is self-signed`,
      msg`if this is the right host, trust its certificate with the environment variable NODE_EXTRA_CA_CERTS; else its operator must get one from an authority`,
    ],
  ];
  return all.flatMap(([isSo, what, remedy]) => (isSo ? [[what, remedy] as const] : []));
}

type Endpoint = ReturnType<typeof endpointOf>;

interface Connected {
  /** Why the connection must not be used; null if it may. */
  readonly error: unknown;
  readonly certificate: PeerCertificate | null;
  readonly protocol: string | null;
}

/** Opens one connection and closes it. Nothing is sent, so even a refused certificate can be examined. */
async function tryConnection(
  { host, port, secure }: Endpoint,
  way: { readonly names: Names; readonly connectMs: number; readonly signal: AbortSignal },
): Promise<Connected> {
  let connection: Socket;
  try {
    connection = await openSocket({ host, port, ...way });
  } catch (error) {
    return { error, certificate: null, protocol: null };
  }
  if (secure) return tlsOver(connection, host, way.signal);
  connection.destroy();
  return { error: null, certificate: null, protocol: null };
}

function tlsOver(connection: Socket, host: string, signal: AbortSignal): Promise<Connected> {
  return new Promise((resolve) => {
    const socket = startTls(connection, host, { rejectUnauthorized: false });
    const end = (error: unknown) => {
      signal.removeEventListener("abort", stop);
      // Empty once the socket is gone, whatever the types say.
      const certificate = { ...socket.getPeerCertificate() };
      const shown = Object.keys(certificate).length === 0 ? null : certificate;
      resolve({ error, certificate: shown, protocol: socket.getProtocol() });
      socket.destroy();
    };
    const stop = () => end({ code: "ETIMEDOUT" });
    signal.addEventListener("abort", stop, { once: true });
    socket.on("error", end);
    // Node gives only the code.
    socket.once("secureConnect", () => end(socket.authorized ? null : { code: socket.authorizationError }));
    if (signal.aborted) stop();
  });
}

/** Checks the name and connection of one of the platform's hosts. */
export function networkChecks(host: PlatformHost): readonly Check[] {
  const key = `${host}_url` as const;
  const at = `platform.${key}`;
  const endpoint = ({ configuration }: DoctorContext) => endpointOf(configuration.platform[key]);
  return [
    {
      id: `${host}.dns`,
      needs: [],
      run: (context, signal) => nameVerdict(endpoint(context).host, at, context, signal),
    },
    {
      id: `${host}.tls`,
      needs: [`${host}.dns`],
      run: (context, signal) => connectionVerdict(endpoint(context), at, context, signal),
    },
  ];
}

const slowMs = 1_000;

/** Looks a host up, says how long that took, and names name servers that do not answer. */
export async function nameVerdict(
  host: string,
  key: Text,
  { names, ports: { clock } }: Pick<DoctorContext, "names" | "ports">,
  signal: AbortSignal,
): Promise<Verdict> {
  if (isIP(host) !== 0) return ok(msg`${host} is an address, no name has to be looked up`);
  const begunAt = clock.monotonic();
  try {
    const found = await names.addresses(host);
    const tookMs = Math.round(clock.monotonic() - begunAt);
    const what = msg`${host} has the address ${found.join(", ")}, looked up in ${tookMs} ms`;
    const silent = names.originOf(host) === "servers" ? await names.silentServers(host, signal) : [];
    if (silent.length > 0) return warning(msg`${what}, but ${silenceOf(silent)}`, serverRemedy);
    return tookMs < slowMs ? ok(what) : warning(msg`${what}, which is slow`, serverRemedy);
  } catch (error) {
    const { what, remedy } = troubleOf(troubleCode(error), false);
    const silent = await names.silentServers(host, signal);
    return silent.length > 0
      ? failed(statements([row`${host}: ${what}`, silenceOf(silent)]), serverRemedy)
      : failed(row`${host}: ${what}`, remedy(key));
  }
}

const serverRemedy = msg`correct the name servers of this computer (/etc/resolv.conf, or where its network is set up)`;

const silenceOf = (servers: readonly string[]): Text =>
  servers.length === 1
    ? msg`the name server ${servers.join("")} does not answer`
    : msg`the name servers ${servers.join(", ")} do not answer`;

const hostOf = (place: string): string => (URL.canParse(place) ? endpointOf(place).host : place);

/** Hosts other than the platform's that have to be looked up. */
function otherHosts(configuration: Configuration): readonly string[] {
  const { url } = configuration.mqtt;
  const ofFeatures = allFeatures.flatMap(({ hosts }) => hosts?.(configuration) ?? []);
  const all = [...(url === undefined ? [] : [url]), ...ofFeatures].map(hostOf);
  return [...new Set(all)].filter((host) => isIP(host) === 0 && !isLoopback(host));
}

/**
 * The names of broker, messengers and NATS servers. Slow or silent name servers delay nothing else there, but should be
 * known.
 */
export const otherNamesCheck: Check = {
  id: "names",
  needs: [],
  run: async (context, signal) => {
    const hosts = otherHosts(context.configuration);
    if (hosts.length === 0) return notTried(msg`the configuration names no other host`);
    const verdicts = await Promise.all(
      hosts.map((host) => nameVerdict(host, msg`the configuration`, context, signal)),
    );
    const [worst] = verdicts.filter(({ status }) => status !== "ok");
    return worst?.remedy === undefined
      ? ok(statements(verdicts.map(({ summary }) => summary)))
      : warning(worst.summary, worst.remedy);
  },
};

async function connectionVerdict(
  endpoint: Endpoint,
  key: string,
  context: DoctorContext,
  stop: AbortSignal,
): Promise<Verdict> {
  const { host, port } = endpoint;
  const place = `${host}:${port}`;
  const { connect } = context.configuration.platform.timeouts;
  const now = context.ports.clock.now();
  // The address is known already; the rest of the time is for TLS.
  const { error, certificate, protocol } = await within(context.ports.clock, 2 * connect, stop, (signal) =>
    tryConnection(endpoint, { names: context.names, connectMs: connect, signal }),
  );
  if (error !== null) {
    // The error names only the first fault of a certificate.
    const { what, remedy } = troubleOf(troubleCode(error), false);
    const found = certificate === null ? [] : troublesOf(certificate, host, now, key);
    const troubles = found.length > 0 ? found : [[what, remedy(key)] as const];
    return failed(
      row`${place}: ${additions(troubles.map(([trouble]) => trouble))}`,
      statements(troubles.map(([, way]) => way)),
    );
  }
  if (certificate !== null) return secureVerdict(certificate.valid_to, place, protocol ?? "TLS", now);
  return isLoopback(host)
    ? ok(msg`${place} is connected, unencrypted to this computer itself`)
    : warning(
        msg`${place} is connected, but unencrypted: the token can be read on the way`,
        msg`use https:// in ${key}`,
      );
}

/** `until`: as the certificate spells it. */
export function secureVerdict(until: string, place: string, protocol: string, now: number): Verdict {
  const days = Math.max(0, Math.floor((Date.parse(until) - now) / dayMs));
  return days < 14
    ? warning(
        msg`${place} is connected, but its certificate ends in ${days} days (${dayOf(until)})`,
        msg`tell its operator to renew it`,
      )
    : ok(msg`${place} is connected with ${protocol}, certificate valid until ${dayOf(until)}`);
}

/** The bridge's own limit: beyond this the clock is not trusted. */
const trustedMs = 120_000;
const exactMs = 30_000;

export const clockCheck: Check = {
  id: "clock",
  needs: [],
  run: ({ platform }) => Promise.resolve(clockVerdict(platform.clockSkewMs())),
};

/** `skewMs`: how far the platform's clock is ahead of ours; null if no answer carried a date. */
export function clockVerdict(skewMs: number | null): Verdict {
  if (skewMs === null) return notTried(msg`no answer of the platform carries a time`);
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const time = durationText(seconds);
  const off =
    skewMs > 0
      ? msg`this computer's clock is ${time} behind the platform's`
      : msg`this computer's clock is ${time} ahead of the platform's`;
  if (Math.abs(skewMs) <= exactMs) return ok(msg`this computer's clock agrees with the platform's`);
  const remedy = msg`switch on network time (\`timedatectl set-ntp true\`) and check this computer's clock`;
  return Math.abs(skewMs) <= trustedMs
    ? warning(off, remedy)
    : failed(msg`${off}: readings get a wrong age, and commands that carry a time are refused`, remedy);
}

/** `45 s`, `12 min`, `8.0 h`, `3 days`. */
export function durationText(seconds: number): Text {
  if (seconds < 120) return msg`${seconds} s`;
  if (seconds < 7_200) return msg`${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return msg`${(seconds / 3600).toFixed(1)} h`;
  return msg`${Math.round(seconds / 86_400)} days`;
}
