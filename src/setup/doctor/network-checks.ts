import { lookup } from "node:dns/promises";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls, type PeerCertificate, type TLSSocket } from "node:tls";
import type { PlatformHost } from "../../greenhouse/ports.js";
import { troubleCode, troubleOf } from "../../platform/answer.js";
import { isLoopback } from "../../runtime/sockets.js";
import { failed, notTried, ok, type Verdict, warning, within } from "./finding.js";
import type { Check, DoctorContext } from "./context.js";

const dayMs = 86_400_000;

const dayOf = (written: string): string => {
  const at = Date.parse(written);
  return Number.isFinite(at) ? new Date(at).toISOString().slice(0, 10) : "?";
};

/** Everything that is wrong with a certificate that was refused, and what to do; `key` is the configuration's key of the address. */
export function troublesOf(
  certificate: PeerCertificate,
  host: string,
  now: number,
  key: string,
): readonly (readonly [what: string, remedy: string])[] {
  const { subject, issuer, subjectaltname, valid_from: from, valid_to: until } = certificate;
  const names = subjectaltname ?? [subject.CN].flat().join(", ");
  const all: readonly (readonly [isSo: boolean, what: string, remedy: string])[] = [
    [
      Date.parse(until) < now,
      `the certificate expired on ${dayOf(until)}`,
      "its operator must renew it (if that day is not over yet, set this computer's clock)",
    ],
    [
      Date.parse(from) > now,
      `the certificate is not valid before ${dayOf(from)}`,
      "set this computer's clock",
    ],
    [
      checkServerIdentity(host, certificate) !== undefined,
      `the certificate is for another name (${names}) than ${host}`,
      `check the host name in ${key}`,
    ],
    [
      JSON.stringify(subject) === JSON.stringify(issuer),
      "the certificate is self-signed",
      "if this is the right host, trust its certificate with the environment variable NODE_EXTRA_CA_CERTS; else its operator must get one from an authority",
    ],
  ];
  return all.flatMap(([isSo, what, remedy]) => (isSo ? [[what, remedy] as const] : []));
}

const endpointOf = (address: string) => {
  const { protocol, hostname, port } = new URL(address);
  const secure = protocol === "https:";
  const host = hostname.replace(/^\[|\]$/g, "");
  return { host, port: port === "" ? (secure ? 443 : 80) : Number(port), secure };
};

type Endpoint = ReturnType<typeof endpointOf>;

interface Connected {
  /** Why it must not be used; null where it may. */
  readonly error: unknown;
  readonly certificate: PeerCertificate | null;
  readonly protocol: string | null;
}

/** Opens one connection and closes it; nothing is sent over it, so that a certificate that is refused can be looked at. */
function tryConnection({ host, port, secure }: Endpoint, signal: AbortSignal): Promise<Connected> {
  return new Promise((resolve) => {
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket: Socket | TLSSocket = secure
      ? connectTls({ host, port, rejectUnauthorized: false, ...name })
      : connectTcp({ host, port });
    const end = (error: unknown) => {
      signal.removeEventListener("abort", stop);
      const tls = "getPeerCertificate" in socket ? socket : null;
      const certificate = tls?.getPeerCertificate() ?? null;
      const shown = certificate === null || Object.keys(certificate).length === 0 ? null : certificate;
      resolve({ error, certificate: shown, protocol: tls?.getProtocol() ?? null });
      socket.destroy();
    };
    const stop = () => end({ code: "ETIMEDOUT" });
    signal.addEventListener("abort", stop, { once: true });
    socket.on("error", end);
    socket.once(secure ? "secureConnect" : "connect", () => {
      const why = "authorizationError" in socket ? socket.authorizationError : null;
      // Node gives the code alone.
      end(typeof why === "string" ? { code: why } : (why ?? null));
    });
    if (signal.aborted) stop();
  });
}

/** Name and connection of one of the platform's hosts. */
export function networkChecks(host: PlatformHost): readonly Check[] {
  const key = `${host}_url` as const;
  const at = `platform.${key}`;
  const endpoint = ({ configuration }: DoctorContext) => endpointOf(configuration.platform[key]);
  return [
    { id: `${host}.dns`, needs: [], run: (context) => nameVerdict(endpoint(context), at) },
    {
      id: `${host}.tls`,
      needs: [`${host}.dns`],
      run: (context, signal) => connectionVerdict(endpoint(context), at, context, signal),
    },
  ];
}

async function nameVerdict({ host }: Endpoint, key: string): Promise<Verdict> {
  if (isIP(host) !== 0) return ok(`${host} is an address, no name has to be looked up`);
  try {
    const found = await lookup(host, { all: true });
    return ok(`${host} has the address ${found.map(({ address }) => address).join(", ")}`);
  } catch (error) {
    const { what, remedy } = troubleOf(troubleCode(error), false);
    return failed(`${host}: ${what}`, remedy.replace("{key}", key));
  }
}

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
  const { error, certificate, protocol } = await within(context.ports.clock, connect, stop, (signal) =>
    tryConnection(endpoint, signal),
  );
  if (error !== null) {
    // The error names only the first thing that is wrong with a certificate.
    const { what, remedy } = troubleOf(troubleCode(error), false);
    const found = certificate === null ? [] : troublesOf(certificate, host, now, key);
    const troubles = found.length > 0 ? found : [[what, remedy.replace("{key}", key)] as const];
    return failed(
      `${place}: ${troubles.map(([trouble]) => trouble).join(", and ")}`,
      troubles.map(([, way]) => way).join("; "),
    );
  }
  if (certificate !== null) return secureVerdict(certificate.valid_to, place, protocol ?? "TLS", now);
  return isLoopback(host)
    ? ok(`${place} is connected, unencrypted to this computer itself`)
    : warning(
        `${place} is connected, but unencrypted: the token can be read on the way`,
        `use https:// in ${key}`,
      );
}

/** `until`: as the certificate says it. */
export function secureVerdict(until: string, place: string, protocol: string, now: number): Verdict {
  const days = Math.max(0, Math.floor((Date.parse(until) - now) / dayMs));
  return days < 14
    ? warning(
        `${place} is connected, but its certificate ends in ${days} days (${dayOf(until)})`,
        "tell its operator to renew it",
      )
    : ok(`${place} is connected with ${protocol}, certificate valid until ${dayOf(until)}`);
}

/** As the bridge itself judges: beyond this the clock is not trusted. */
const trustedMs = 120_000;
const exactMs = 30_000;

export const clockCheck: Check = {
  id: "clock",
  needs: [],
  run: ({ platform }) => Promise.resolve(clockVerdict(platform.clockSkewMs())),
};

/** `skewMs`: how far the platform's clock is ahead of ours; null while no answer carried a date. */
export function clockVerdict(skewMs: number | null): Verdict {
  if (skewMs === null) return notTried("no answer of the platform told its time");
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const off = `this computer's clock is ${durationText(seconds)} ${skewMs > 0 ? "behind" : "ahead of"} the platform's`;
  if (Math.abs(skewMs) <= exactMs) return ok("this computer's clock agrees with the platform's");
  const remedy = "switch on network time (`timedatectl set-ntp true`) and check this computer's clock";
  return Math.abs(skewMs) <= trustedMs
    ? warning(off, remedy)
    : failed(`${off}: readings get a wrong age, and commands that carry a time are refused`, remedy);
}

/** `45 s`, `12 min`, `8.0 h`, `3 days`. */
export function durationText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
