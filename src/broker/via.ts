import { type UserProperties, viaProperty } from "../runtime/user-properties.js";

/*
 * Who sent a command. The broker knows the client and the user behind every message, the bridge does not; so the broker
 * writes them into an MQTT 5 user property of each command and request it lets through, `greenhouse2mqtt-via`, in place
 * of any property of that name the sender wrote. Only the bridge gets to see it. On a foreign broker nobody stamps, so
 * there the property proves nothing and must not be read.
 */

/** `user` is null for an anonymous client. */
export interface Via {
  readonly client: string;
  readonly user: string | null;
}

const maxClientId = 128;

/** The stamp as a property. */
export const stamp = (via: Via): Record<string, string> => ({
  [viaProperty]: JSON.stringify({ client: via.client.slice(0, maxClientId), user: via.user }),
});

/** What the embedded broker stamped; null when there is no stamp. */
export function readVia(properties: UserProperties | undefined): Via | null {
  const text = properties?.[viaProperty];
  if (typeof text !== "string") return null;
  try {
    const via: unknown = JSON.parse(text);
    if (typeof via !== "object" || via === null || !("client" in via) || !("user" in via)) return null;
    const { client, user } = via;
    return typeof client === "string" && (typeof user === "string" || user === null)
      ? { client, user }
      : null;
  } catch {
    return null;
  }
}
