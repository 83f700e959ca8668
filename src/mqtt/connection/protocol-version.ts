import type { LinkEnd, ProtocolVersion } from "./settings.js";

/** Which MQTT version to speak next, learnt from how links ended. Instants are monotonic ms. */
export interface VersionMemory {
  readonly preferred: ProtocolVersion;
  readonly current: ProtocolVersion;
  /** Sockets closed in a row before any CONNACK came. */
  readonly closedEarly: number;
  readonly fellBackAt: number | null;
}

const unsupportedVersion = new Set([1, 0x84]);
/** Brokers that do not know MQTT 5 may just close the socket; one close alone can be a restart. */
const closesUntilOtherVersion = 2;

export const startWith = (preferred: ProtocolVersion): VersionMemory => ({
  preferred,
  current: preferred,
  closedEarly: 0,
  fellBackAt: null,
});

/** Before an attempt: the preferred version again once the fall back is `retryAfterMs` old. */
export function beforeAttempt(memory: VersionMemory, now: number, retryAfterMs: number): VersionMemory {
  if (memory.fellBackAt === null || now - memory.fellBackAt < retryAfterMs) return memory;
  return startWith(memory.preferred);
}

/** After an attempt: 5 falls back to 4 on a refusal of the version or on sockets closed without a word. */
export function afterAttempt(memory: VersionMemory, end: LinkEnd, now: number): VersionMemory {
  if (end.connected) return { ...memory, closedEarly: 0 };
  if (end.kind === "refused" && end.code !== null && unsupportedVersion.has(end.code))
    return otherVersion(memory, now);
  if (end.kind !== "closed_early") return { ...memory, closedEarly: 0 };
  const closedEarly = memory.closedEarly + 1;
  return closedEarly < closesUntilOtherVersion ? { ...memory, closedEarly } : otherVersion(memory, now);
}

/** 4 leads back to 5 only where 5 was wanted: then the closes were no answer to the version after all. */
function otherVersion(memory: VersionMemory, now: number): VersionMemory {
  if (memory.current === 5) return { ...memory, current: 4, closedEarly: 0, fellBackAt: now };
  return startWith(memory.preferred);
}
