import { type KindRow, kindRows, valueTable } from "../../greenhouse/actuator-kinds.js";
import type { Refusal } from "../../greenhouse/command/outcomes.js";
import { canonical, type Wanted } from "../../greenhouse/command/words.js";
import type { ActuatorSettings } from "../../greenhouse/settings.js";
import { formatDuration } from "../../runtime/duration.js";
import type { Attempts } from "./attempts.js";

/* For how long a command counts: a lease ends by itself, a hold keeps others off. */

/** The times of a command, in ms from its arrival. */
export interface Term {
  readonly lease: {
    readonly ms: number;
    readonly endsWith: string;
    /** The command named it; one of the configuration does not renew a lease that is running. */
    readonly isGiven: boolean;
  } | null;
  readonly holdMs: number | null;
}

/** Until when a command with this term may be sent, monotonic ms: a lease counts from the arrival, so none begins after its end. */
export const deadlineWith = (
  term: Term | null,
  { receivedMono, deadlineMono }: { readonly receivedMono: number; readonly deadlineMono: number },
): number => Math.min(deadlineMono, receivedMono + (term?.lease?.ms ?? Infinity));

/** What a payload says of them. */
export interface GivenTerm {
  readonly forMs: number | null;
  readonly holdMs: number | null;
}

/** The word that a lease ends with: `off` or `close`; null for kinds whose words the configuration makes, unless it names one. */
function endsWithOf({ kind, values, limits }: Pick<ActuatorSettings, "kind" | "values" | "limits">) {
  if (limits?.endsWith) return limits.endsWith;
  const row: KindRow = kindRows[kind];
  if (row.configured) return null;
  const words = valueTable({ kind, values });
  return "off" in words ? "off" : "close" in words ? "close" : null;
}

const bad = (message: string): Refusal => ({ reason: "bad_payload", message });

/** The term of a command; null for none. */
export function termOf(
  wanted: Wanted,
  target: "actuator" | "parameter" | "address",
  settings: ActuatorSettings,
  { forMs, holdMs }: GivenTerm,
): Term | Refusal | null {
  const isGiven = forMs !== null || holdMs !== null;
  if (target !== "actuator")
    return isGiven ? bad('"for" and "hold" are for commands to actuators alone.') : null;
  const { limits } = settings;
  if (!isGiven && (limits === undefined || (limits.forMs ?? limits.atMostMs) === null)) return null;
  const endsWith = endsWithOf(settings);
  const word = canonical(wanted);
  if (wanted.type === "stop" || word === endsWith)
    return isGiven ? bad(`"${word}" ends something and takes no "for" and no "hold".`) : null;
  const leaseMs = forMs ?? (word === "auto" ? null : (limits?.forMs ?? limits?.atMostMs ?? null));
  if (leaseMs === null) return holdMs === null ? null : { lease: null, holdMs };
  if (endsWith === null)
    return bad(
      '"for" needs a word that ends it: name it under limits.ends_with of this actuator in the configuration.',
    );
  const most = limits?.atMostMs ?? Infinity;
  if (leaseMs > most)
    return {
      reason: "out_of_range",
      message: `"for" is longer than limits.at_most of this actuator, ${formatDuration(most)}.`,
    };
  return { lease: { ms: leaseMs, endsWith, isGiven: forMs !== null }, holdMs };
}

/** A command that ends by itself. Instants are monotonic ms. */
export interface Lease {
  readonly id: string;
  readonly by: string | null;
  readonly command: string;
  readonly endsWith: string;
  readonly until: number;
  /** What is sent once it is over. */
  readonly end: Attempts;
  /** Begun by an earlier run: how long ago, the clock may not have known at the start. */
  readonly isKept?: true;
}

export type Hold = Pick<Lease, "id" | "by" | "until" | "isKept">;
