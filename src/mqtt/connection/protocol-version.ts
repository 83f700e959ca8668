import type { LinkEnd, ProtocolVersion } from "./settings.js";

/** Which MQTT version to speak next. */
export interface VersionMemory {
  readonly preferred: ProtocolVersion;
  readonly current: ProtocolVersion;
}

/** The protocol's own refusals: CONNACK of 3.1.1 with code 1, of MQTT 5 with 0x84. */
const unsupportedVersion = new Set([1, 0x84]);

export const startWith = (preferred: ProtocolVersion): VersionMemory => ({ preferred, current: preferred });

/**
 * After an attempt: 5 gives way to 4 only where the broker says that it does not speak 5, and for one attempt only. A socket
 * closed without a word says nothing of versions, and with 4 a live command with the retain flag is taken for an ordinary one.
 */
export function afterAttempt({ preferred, current }: VersionMemory, end: LinkEnd): VersionMemory {
  const isRefused = end.kind === "refused" && end.code !== null && unsupportedVersion.has(end.code);
  return isRefused && current === 5 ? { preferred, current: 4 } : startWith(preferred);
}

export const versionName = (version: ProtocolVersion): string => (version === 5 ? "MQTT 5" : "MQTT 3.1.1");

/** Why a link speaks the version that it speaks. */
export const versionReason = (preferred: ProtocolVersion, used: ProtocolVersion): string =>
  used === preferred ? `mqtt.protocol_version is ${used}` : `the broker refuses ${versionName(preferred)}`;
