import type { PlatformHost } from "../../greenhouse/ports.js";
import { placeholder } from "../../runtime/redaction.js";

/** A token in use. A later one has a higher generation. */
export interface Credential {
  readonly token: string;
  readonly generation: number;
  /** Names and values alternating, ready to send; the same array for the life of the token. */
  readonly headers: string[];
}

/** Marks a redirect, page, text or empty answer without a code; the HTTP status follows it. */
export const codeless = "HTTP ";
export const isCodeless = (doubt: string): boolean => doubt.startsWith(codeless);

/** The source of the token, and what happens when it is refused. */
export interface CredentialSource {
  /** The configuration key to look at after a refusal. */
  readonly key: "platform.token" | "platform.token_file" | "platform.sign_in";
  /** The token at hand, without any work; null for none, or where it has to be read or renewed first. */
  current(): Credential | null;
  /** A usable token without asking the platform; null for none. */
  atHand(): Promise<Credential | null>;
  /** A usable token, signing in if needed. Rejects with a PlatformError where there is none now. */
  obtain(signal: AbortSignal): Promise<Credential>;
  /**
   * After 401 or 403: resolves to whether there is another credential to try once. One sign-in serves any number of
   * waiting calls. `doubt`: the unknown code of a refusal that may mean the same.
   */
  renew(
    refused: Credential,
    host: PlatformHost,
    operation: string,
    signal: AbortSignal,
    doubt?: string,
  ): Promise<boolean>;
  /** Whether it was read from disk, so that it counts as accepted before. */
  hasWorked?(credential: Credential): boolean;
  /** Whether another credential recently did not help against this code; `isAlone`: the host accepts nothing now. */
  isVain?(code: string, host: PlatformHost, isAlone: boolean): boolean;
  /** Notes that another credential did not help, so the code means something else. */
  doubtedInVain?(code: string, host: PlatformHost): void;
  /** Notes that a credential was accepted; only a sign-in uses this. */
  onAccepted?(credential: Credential, host: PlatformHost): void;
  /** Notes that a call was refused again with a credential just renewed for it; only a sign-in uses this. */
  refusedAgain?(credential: Credential, host: PlatformHost, operation: string): void;
  /** All secrets, which must never be shown. */
  secrets(): readonly string[];
  /** The secrets that requests carry or carried. */
  tokens(): readonly string[];
  close(): Promise<void>;
}

/** Removes our tokens from an answer or frame, as a platform may repeat them anywhere, even as a device's name. */
export type Blank = (bytes: Buffer) => Buffer;

/** Shorter tokens could equal a value, an address or a code by chance. */
const shortestBlanked = 16;

/** Returns the same buffer where no token is in it. `source` is asked each time, as tokens change. */
export function blanker(source: Pick<CredentialSource, "tokens">): Blank {
  return (bytes) => {
    const found: string[] = [];
    for (const token of source.tokens())
      if (token.length >= shortestBlanked && bytes.includes(token)) found.push(token);
    if (found.length === 0) return bytes;
    return Buffer.from(
      found.reduce((text, token) => text.replaceAll(token, placeholder), bytes.toString("utf8")),
    );
  };
}

/** Headers of every request; only gzip is accepted, which bounds the memory for unpacking. */
export const plainHeaders: readonly string[] = [
  ...["accept", "application/json"],
  ...["accept-encoding", "gzip"],
  ...["user-agent", "greenhouse2mqtt"],
];

export function credential(token: string, generation: number): Credential {
  return { token, generation, headers: ["authorization", `Bearer ${token}`, ...plainHeaders] };
}

/** Whether a text can be a bearer token: visible ASCII of a sane length. */
export const isToken = (text: string): boolean => /^[\x21-\x7e]{1,8192}$/.test(text);
