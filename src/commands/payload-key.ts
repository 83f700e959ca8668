import { fingerprint, isFingerprint } from "../runtime/fingerprint.js";

/** Tells payloads apart for recognising repeats, without keeping them; white space around the text says nothing. */
export const payloadKey = (payload: Uint8Array): string =>
  fingerprint(new TextDecoder().decode(payload).trim());

/** The same of what the journal holds, where earlier versions kept the text itself. */
export const recordedKey = (recorded: string): string =>
  isFingerprint(recorded) ? recorded : fingerprint(recorded);
