import { msg, type Text } from "../language/text.js";
import { resolve } from "node:path";
import { isLoopback } from "../runtime/sockets.js";
import type { LoadedConfiguration } from "./load.js";
import {
  atKey,
  atValue,
  type Finding,
  inOrder,
  type Path,
  placeOf,
  type Problem,
  repeats,
} from "../settings/problem.js";
import { listeners } from "./rules/rules.js";
import { allFeatures, type Configuration } from "./schema.js";
import { urlOf } from "../settings/values.js";

/**
 * What two configurations both claim although each needs its own: client id and base topic at one broker, data
 * directory, ports. A problem is reported in the later file and names the place in the earlier one.
 */
export const clashes = (loaded: readonly LoadedConfiguration[]): Problem[] => claimedTwice(loaded, claimsOf);

/** Controllers of one platform that two bridges would both command. */
export const sharedControllers = (loaded: readonly LoadedConfiguration[]): Problem[] =>
  claimedTwice(loaded, ({ controllers, platform }) =>
    mirroredNames(controllers).map((code) =>
      claim(atKey(["controllers", code], msg`the same controller`), code, platformOf(platform)),
    ),
  );

/**
 * Whether one of two configurations may run only after the other has ended: they claim the same, or share a login of
 * one platform.
 */
export function exclude(one: LoadedConfiguration, other: LoadedConfiguration): boolean {
  const others = heldAlone(other.configuration);
  for (const key of heldAlone(one.configuration)) if (others.has(key)) return true;
  return false;
}

/** Cached, as each account of a fleet is compared with each when all end at once. */
const keysHeld = new WeakMap<Configuration, ReadonlySet<string>>();

function heldAlone(configuration: Configuration): ReadonlySet<string> {
  const known = keysHeld.get(configuration);
  if (known !== undefined) return known;
  const keys = new Set([loginOf(configuration), ...claimsOf(configuration).map(({ key }) => key)]);
  keysHeld.set(configuration, keys);
  return keys;
}

const loginOf = ({
  platform: { business_url, realtime_url, token, token_file, sign_in },
}: Configuration): string => JSON.stringify([business_url, realtime_url, token, token_file, sign_in?.body]);

/**
 * Controllers of two platforms with one code. Home Assistant tells devices apart by their codes, so it shows only the
 * one announced last.
 */
export function sharedAnnouncements(loaded: readonly LoadedConfiguration[]): Problem[] {
  const what = msg`Home Assistant shows only one of two devices of one code, unless discovery_prefix differs: the same`;
  const shared = new Set(sharedControllers(loaded).map(({ file, path }) => `${file} ${path}`));
  return claimedTwice(loaded, (configuration) => {
    const { controllers, homeassistant } = configuration;
    if (!homeassistant.enabled) return [];
    const at = [brokerOf(configuration), homeassistant.discovery_prefix];
    return mirroredNames(controllers).map((code) => claim(atKey(["controllers", code], what), code, ...at));
  }).filter(({ file, path }) => !shared.has(`${file} ${path}`));
}

interface Claim {
  readonly key: string;
  readonly finding: Finding;
}

function claimedTwice(
  loaded: readonly LoadedConfiguration[],
  claimed: (configuration: Configuration) => readonly Claim[],
): Problem[] {
  if (loaded.length < 2) return [];
  const claims = loaded.flatMap((file) => claimed(file.configuration).map((one) => ({ ...one, file })));
  const found = repeats(claims, ({ key }) => key).filter(([again, first]) => again.file !== first.file);
  return inOrder(
    found.map(([{ file, finding }, first]) => {
      const place = file.problemAt(finding);
      return { ...place, message: msg`${place.message} as ${placeOf(first.file.problemAt(first.finding))}` };
    }),
  );
}

const claim = (finding: Finding, ...key: readonly (string | number)[]): Claim => ({
  finding,
  key: [String(finding.message), ...key].join("\u0000"),
});

const mirroredNames = (controllers: Configuration["controllers"]): readonly string[] =>
  Object.entries(controllers).flatMap(([code, { ignore }]) => (ignore ? [] : [code]));

const platformOf = ({ business_url: url }: Configuration["platform"]): string =>
  urlOf(url)?.host.toLowerCase() ?? url;

/** What only one running bridge can have. */
function claimsOf(configuration: Configuration): readonly Claim[] {
  const { mqtt } = configuration;
  const broker = brokerOf(configuration);
  const value = (what: Text, path: Path, ...key: readonly (string | number)[]) =>
    claim(atValue(path, what), ...key);
  return [
    value(msg`the same client_id at the same broker`, ["mqtt", "client_id"], broker, mqtt.client_id),
    value(msg`the same base_topic at the same broker`, ["mqtt", "base_topic"], broker, mqtt.base_topic),
    ...allFeatures.flatMap(({ claims }) =>
      (claims?.(configuration, broker) ?? []).map(({ what, path, key }) => value(what, path, ...key)),
    ),
    value(msg`the same data_dir`, ["data_dir"], resolve(configuration.data_dir)),
    // Addresses do not matter: two bridges on one port are a mistake.
    ...listeners(configuration).map(({ path, port }) => value(msg`the same port`, path, port)),
  ];
}

const defaultPorts: Readonly<Record<string, number>> = {
  "mqtt:": 1883,
  "mqtts:": 8883,
  "ws:": 80,
  "wss:": 443,
};

/** Host and port of the broker in use; all spellings of this computer count as one. */
function brokerOf({ mqtt, broker }: Configuration): string {
  const url = mqtt.url === undefined ? null : urlOf(mqtt.url);
  if (url === null) return `this computer:${broker.port}`;
  const host = isLoopback(url.hostname) ? "this computer" : url.hostname.toLowerCase();
  return `${host}:${url.port === "" ? (defaultPorts[url.protocol] ?? 0) : url.port}`;
}
