/*
 * Who sent a command. The broker knows the client and the user behind every message, the bridge does not; so the broker
 * writes them into an MQTT 5 user property of each command and request it lets through, `greenhouse2mqtt-via`, in place
 * of any property of that name the sender wrote. Only the bridge gets to see it. On a foreign broker nobody stamps, so
 * there the property proves nothing and must not be read.
 */

export const viaProperty = "greenhouse2mqtt-via";

/** `user` is null for an anonymous client. */
export interface Via {
  readonly client: string;
  readonly user: string | null;
}

type UserProperties = Record<string, string | string[]>;

const maxClientId = 128;

/** The same properties without the sender's claim; with the stamp unless `via` is null. Undefined when none are left. */
export function stamped(properties: UserProperties | undefined, via: Via | null): UserProperties | undefined {
  const kept = Object.entries(properties ?? {}).filter(([name]) => name !== viaProperty);
  const stamp = via && JSON.stringify({ client: via.client.slice(0, maxClientId), user: via.user });
  const all = stamp === null ? kept : [...kept, [viaProperty, stamp] as const];
  // The packet library silently sends nothing at all when it is given no user property to write.
  return all.length > 0 ? Object.fromEntries(all) : undefined;
}

/** What the embedded broker stamped; null when there is no stamp. */
export function readVia(
  properties: Readonly<Record<string, string | readonly string[]>> | undefined,
): Via | null {
  const stamp = properties?.[viaProperty];
  if (typeof stamp !== "string") return null;
  try {
    const via: unknown = JSON.parse(stamp);
    if (typeof via !== "object" || via === null || !("client" in via) || !("user" in via)) return null;
    const { client, user } = via;
    return typeof client === "string" && (typeof user === "string" || user === null)
      ? { client, user }
      : null;
  } catch {
    return null;
  }
}
