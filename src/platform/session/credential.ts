import type { PlatformHost } from "../../greenhouse/ports.js";

/** A token in use. A later one has a higher generation. */
export interface Credential {
  readonly token: string;
  readonly generation: number;
  /** Names and values in turn, ready to be sent; the same array for as long as the token is. */
  readonly headers: string[];
}

/** Where the token comes from and what happens when it is refused. */
export interface CredentialSource {
  /** The configuration key to look at when the credential is refused. */
  readonly key: "platform.token" | "platform.token_file" | "platform.sign_in";
  /** The token at hand, without any work; null when there is none or it has to be looked after first. */
  current(): Credential | null;
  /** A usable token that can be had without asking the platform; null when there is none. */
  atHand(): Promise<Credential | null>;
  /** A usable token, signing in where needed. Rejects with a PlatformError when there is none now. */
  obtain(signal: AbortSignal): Promise<Credential>;
  /**
   * After 401 or 403: whether there is another credential to try once. One sign-in serves any number of waiting calls.
   */
  renew(refused: Credential, host: PlatformHost, operation: string, signal: AbortSignal): Promise<boolean>;
  /** A call with this credential was let in. */
  accepted(credential: Credential, host: PlatformHost): void;
  /** A call was refused again with a credential that had just been renewed for it. */
  refusedAgain(credential: Credential, host: PlatformHost, operation: string): void;
  /** Everything that must never be shown. */
  secrets(): readonly string[];
  /** Those of them that requests carry or carried. */
  tokens(): readonly string[];
  close(): Promise<void>;
}

const agent = "greenhouse2mqtt";

/** Headers every request carries; asking for gzip only keeps the memory that unpacking takes small. */
export const plainHeaders: readonly string[] = [
  "accept",
  "application/json",
  "accept-encoding",
  "gzip",
  "user-agent",
  agent,
];

export function credential(token: string, generation: number): Credential {
  return { token, generation, headers: ["authorization", `Bearer ${token}`, ...plainHeaders] };
}

/** Whether a text can be a bearer token in a header: visible ASCII of a sane length. */
export const isToken = (text: string): boolean => /^[\x21-\x7e]{1,8192}$/.test(text);
