import type { Availability, ClientFacts, Controller } from "./model.js";
import type { ClientStatus } from "./ports.js";

/** What is shown of a controller's connection, who said so last, and what a list says against it. */
export type Connection = Pick<Controller, "availability" | "availabilityBy" | "doubted">;

const settled = (availability: Availability, by: "list" | "status"): Connection => ({
  availability,
  availabilityBy: by,
  doubted: null,
});

/**
 * A list's flag. It may be minutes old, so one against what is shown only raises a doubt, which the single-device status settles; where
 * that could not be read before the next list, that one decides. Only an online that contradicts no status counts at once.
 */
export function foldFlag(
  { availability, availabilityBy, doubted }: Connection,
  flag: Availability,
): Connection {
  const isSame = flag === availability || (flag === "unknown" && availabilityBy === "status");
  if (isSame) return settled(availability, availabilityBy);
  const isHarmless = flag === "unknown" || (flag === "online" && availabilityBy !== "status");
  if (isHarmless || doubted === flag) return settled(flag, "list");
  return { availability, availabilityBy, doubted: flag };
}

/**
 * The single-device status wins over any list. An offline answer is also what a device without an MQTT client gets, so it counts only for
 * one that a list gives a flag, or that was seen with a client.
 */
export function foldStatus(
  shown: Connection & Pick<Controller, "absentSince" | "info">,
  state: ClientStatus["state"],
): Connection {
  const { availability, availabilityBy, doubted } = shown;
  const isFlagged = (shown.info.record?.online ?? null) !== null;
  const isClient = isFlagged || availability !== "unknown";
  const tells = state === "online" || (state === "offline" && isClient);
  if (!tells || shown.absentSince !== null) return { availability, availabilityBy, doubted };
  return settled(state, "status");
}

/** No list holds it any more. */
export const foldAbsence = (): Connection => settled("offline", "list");

/** Its own list does not give it a flag any more, though another list may still hold it. */
export const foldUnflagged = (): Connection => settled("unknown", "list");

/** What an online device tells of itself; the same reference when it is nothing new. */
export function foldFacts(known: ClientFacts | null, status: ClientStatus): ClientFacts | null {
  if (status.state !== "online") return known;
  const { version, description, lastOnlineAt } = status;
  const isSame =
    known?.version === version && known.description === description && known.lastOnlineAt === lastOnlineAt;
  return isSame ? known : { version, description, lastOnlineAt };
}

/** Whether only the single-device status tells about it, so that it has to be asked again and again. */
export const hasOwnClient = ({ info, availability, absentSince }: Controller): boolean =>
  info.record?.online === null && availability !== "unknown" && absentSince === null;
