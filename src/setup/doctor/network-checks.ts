import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { isLoopback } from "../../runtime/loopback.js";
import type { PlatformHost } from "../../greenhouse/platform-error.js";
import { troubleCode, troubleOf } from "../../platform/connection-trouble.js";
import { endsSoon, factsOf, troublesOf } from "./certificate.js";
import { failed, ok, warning, type Verdict } from "./finding.js";
import { endpointOf, tryConnection, type Connected, type Endpoint } from "./host-connection.js";
import { within } from "./within.js";
import type { Check, Scene } from "./scene.js";

export const hostKey = (host: PlatformHost): "platform.business_url" | "platform.realtime_url" =>
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
  const place = `${endpoint.host}:${endpoint.port}`;
  const { connect } = scene.configuration.platform.timeouts;
  const connected = await within(scene.ports.clock, connect, stop, (signal) =>
    tryConnection(endpoint, true, signal),
  );
  if (!connected.ok) return await refusalVerdict(endpoint, key, connected.error, scene, stop);
  return connected.certificate === null
    ? plainVerdict(endpoint, place, key)
    : secureVerdict(connected, endpoint, place, scene);
}

function plainVerdict({ host }: Endpoint, place: string, key: string): Verdict {
  return isLoopback(host)
    ? ok(`${place} is connected, unencrypted to this computer itself`)
    : warning(
        `${place} is connected, but unencrypted: the token can be read on the way`,
        `use https:// in ${key}`,
      );
}

function secureVerdict(
  connected: Extract<Connected, { ok: true }>,
  { host }: Endpoint,
  place: string,
  { ports }: Scene,
): Verdict {
  if (connected.certificate === null) return ok(`${place} is connected`);
  const facts = factsOf(connected.certificate, host);
  const days = endsSoon(facts, ports.clock.now());
  const until = Number.isFinite(facts.untilAt) ? new Date(facts.untilAt).toISOString().slice(0, 10) : "?";
  return days === null
    ? ok(`${place} is connected with ${connected.protocol ?? "TLS"}, certificate valid until ${until}`)
    : warning(
        `${place} is connected, but its certificate ends in ${days} days (${until})`,
        "tell its operator to renew it",
      );
}

/** Looks at the refused certificate itself, because the error names only the first thing that is wrong with it. */
async function refusalVerdict(
  endpoint: Endpoint,
  key: string,
  error: unknown,
  { ports }: Scene,
  signal: AbortSignal,
): Promise<Verdict> {
  const { host, port, secure } = endpoint;
  const { what, remedy } = troubleOf(troubleCode(error), false);
  const plain = failed(`${host}:${port}: ${what}`, remedy.replace("{key}", key));
  if (!secure) return plain;
  const looked = await tryConnection(endpoint, false, signal);
  if (!looked.ok || looked.certificate === null) return plain;
  const troubles = troublesOf(factsOf(looked.certificate, host), host, ports.clock.now(), key);
  return troubles.length === 0
    ? plain
    : failed(
        `${host}:${port}: ${troubles.map((trouble) => trouble.what).join(", and ")}`,
        troubles.map((trouble) => trouble.remedy).join("; "),
      );
}
