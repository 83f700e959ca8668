import { lookup } from "node:dns/promises";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { checkServerIdentity, connect as connectTls, type PeerCertificate, type TLSSocket } from "node:tls";
import type { PlatformHost } from "../../greenhouse/ports.js";
import { troubleCode, troubleOf } from "../../platform/answer.js";
import { isLoopback } from "../../runtime/sockets.js";
import { failed, notTried, ok, type Verdict, warning, within } from "./finding.js";
import type { Check, Scene } from "./scene.js";

const dayMs = 86_400_000;
const soonMs = 14 * dayMs;

export interface CertificateFacts {
  /** Epoch ms; NaN where the certificate's text cannot be read. */
  readonly fromAt: number;
  readonly untilAt: number;
  /** Names it was made for, as a sentence shows them. */
  readonly names: string;
  readonly isForHost: boolean;
  readonly isSelfSigned: boolean;
}

function factsOf(certificate: PeerCertificate, host: string): CertificateFacts {
  const { subject, issuer, subjectaltname, valid_from, valid_to } = certificate;
  return {
    fromAt: Date.parse(valid_from),
    untilAt: Date.parse(valid_to),
    names: subjectaltname ?? [subject.CN].flat().join(", "),
    isForHost: checkServerIdentity(host, certificate) === undefined,
    isSelfSigned: JSON.stringify(subject) === JSON.stringify(issuer),
  };
}

/** Everything that is wrong with a certificate that was refused; `key` is the configuration's key of the address. */
export function troublesOf(
  facts: CertificateFacts,
  host: string,
  now: number,
  key: string,
): readonly { readonly what: string; readonly remedy: string }[] {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  const trouble = (isSo: boolean, what: () => string, remedy: string) =>
    isSo ? [{ what: what(), remedy }] : [];
  return [
    ...trouble(
      facts.untilAt < now,
      () => `the certificate expired on ${day(facts.untilAt)}`,
      "its operator must renew it (if that day is not over yet, set this computer's clock)",
    ),
    ...trouble(
      facts.fromAt > now,
      () => `the certificate is not valid before ${day(facts.fromAt)}`,
      "set this computer's clock",
    ),
    ...trouble(
      !facts.isForHost,
      () => `the certificate is for another name (${facts.names}) than ${host}`,
      `check the host name in ${key}`,
    ),
    ...trouble(
      facts.isSelfSigned,
      () => "the certificate is self-signed",
      "if this is the right host, trust its certificate with the environment variable NODE_EXTRA_CA_CERTS; else its operator must get one from an authority",
    ),
  ];
}

/** Days until a good certificate ends, when that is soon; else null. */
export function endsSoon({ untilAt }: CertificateFacts, now: number): number | null {
  const left = untilAt - now;
  return left < soonMs ? Math.max(0, Math.floor(left / dayMs)) : null;
}

interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

function endpointOf(address: string): Endpoint {
  const { protocol, hostname, port } = new URL(address);
  const secure = protocol === "https:" || protocol === "wss:" || protocol === "mqtts:";
  const host = hostname.replace(/^\[|\]$/g, "");
  return { host, port: port === "" ? (secure ? 443 : 80) : Number(port), secure };
}

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

const hostKey = (host: PlatformHost): "platform.business_url" | "platform.realtime_url" =>
  host === "business" ? "platform.business_url" : "platform.realtime_url";

const addressOf = ({ configuration }: Scene, host: PlatformHost): string =>
  host === "business" ? configuration.platform.business_url : configuration.platform.realtime_url;

/** Name and connection of one of the platform's hosts. */
export const networkChecks = (host: PlatformHost): readonly Check[] => [
  {
    id: `${host}.dns`,
    needs: [],
    run: (scene) => nameVerdict(endpointOf(addressOf(scene, host)), hostKey(host)),
  },
  {
    id: `${host}.tls`,
    needs: [`${host}.dns`],
    run: (scene, signal) =>
      connectionVerdict(endpointOf(addressOf(scene, host)), hostKey(host), scene, signal),
  },
];

async function nameVerdict({ host }: Endpoint, key: string): Promise<Verdict> {
  if (isIP(host) !== 0) return ok(`${host} is an address, no name has to be looked up`);
  try {
    const found = await lookup(host, { all: true });
    return ok(`${host} is ${found.map(({ address }) => address).join(", ")}`);
  } catch (error) {
    const { what, remedy } = troubleOf(troubleCode(error), false);
    return failed(`${host}: ${what}`, remedy.replace("{key}", key));
  }
}

async function connectionVerdict(
  endpoint: Endpoint,
  key: string,
  scene: Scene,
  stop: AbortSignal,
): Promise<Verdict> {
  const { host, port } = endpoint;
  const place = `${host}:${port}`;
  const { connect } = scene.configuration.platform.timeouts;
  const now = scene.ports.clock.now();
  const { error, certificate, protocol } = await within(scene.ports.clock, connect, stop, (signal) =>
    tryConnection(endpoint, signal),
  );
  const facts = certificate && factsOf(certificate, host);
  if (error !== null) {
    // The error names only the first thing that is wrong with a certificate.
    const { what, remedy } = troubleOf(troubleCode(error), false);
    const found = facts === null ? [] : troublesOf(facts, host, now, key);
    const troubles = found.length > 0 ? found : [{ what, remedy: remedy.replace("{key}", key) }];
    return failed(
      `${place}: ${troubles.map((trouble) => trouble.what).join(", and ")}`,
      troubles.map((trouble) => trouble.remedy).join("; "),
    );
  }
  if (facts !== null) return secureVerdict(facts, place, protocol ?? "TLS", now);
  return isLoopback(host)
    ? ok(`${place} is connected, unencrypted to this computer itself`)
    : warning(
        `${place} is connected, but unencrypted: the token can be read on the way`,
        `use https:// in ${key}`,
      );
}

function secureVerdict(facts: CertificateFacts, place: string, protocol: string, now: number): Verdict {
  const days = endsSoon(facts, now);
  const until = Number.isFinite(facts.untilAt) ? new Date(facts.untilAt).toISOString().slice(0, 10) : "?";
  return days === null
    ? ok(`${place} is connected with ${protocol}, certificate valid until ${until}`)
    : warning(
        `${place} is connected, but its certificate ends in ${days} days (${until})`,
        "tell its operator to renew it",
      );
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
  const off = `this computer's clock is ${spoken(seconds)} ${skewMs > 0 ? "behind" : "ahead of"} the platform's`;
  if (Math.abs(skewMs) <= exactMs) return ok("this computer's clock agrees with the platform's");
  const remedy = "switch on network time (`timedatectl set-ntp true`) and check this computer's clock";
  return Math.abs(skewMs) <= trustedMs
    ? warning(off, remedy)
    : failed(`${off}: readings get a wrong age, and commands that carry a time are refused`, remedy);
}

/** `45 s`, `12 min`, `8.0 h`, `3 days`. */
export function spoken(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
