import type { BrokerConnection } from "../../mqtt/connection.js";

/**
 * Two bridges with one client id never stand at the broker together, so they cannot hear each other. But each finds that its
 * last link was taken over, or that `bridge/info` has become another's meanwhile. Returns what to call for every new link,
 * before `bridge/info` is published on it; `exchanged` is told the link's number.
 */
export function linkExchange(
  connection: Pick<BrokerConnection, "counters" | "scan">,
  infoTopic: string,
  instance: string,
  exchanged: (link: number) => void,
): () => void {
  let link = 0;
  let takenOver = 0;
  return () => {
    link += 1;
    const current = link;
    const before = takenOver;
    takenOver = connection.counters().takenOver;
    if (takenOver > before) exchanged(current);
    // At the first link of this run it is what an earlier run left there.
    if (current === 1) return;
    void connection.scan([infoTopic], (_, payload) => {
      const writer = instanceIn(payload);
      if (writer !== null && writer !== instance) exchanged(current);
    });
  };
}

/** Who wrote a `bridge/info`; null where it does not say. */
export function instanceIn(payload: Uint8Array): string | null {
  try {
    const info: unknown = JSON.parse(new TextDecoder().decode(payload));
    if (typeof info !== "object" || info === null || !("instance" in info)) return null;
    return typeof info.instance === "string" ? info.instance : null;
  } catch {
    return null;
  }
}
