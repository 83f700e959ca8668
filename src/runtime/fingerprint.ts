import { createHash } from "node:crypto";

/** Tells texts apart without keeping them. */
export const fingerprint = (text: string): string =>
  `sha256:${createHash("sha256").update(text).digest("hex")}`;

export const isFingerprint = (text: string): boolean => /^sha256:[0-9a-f]{64}$/.test(text);
