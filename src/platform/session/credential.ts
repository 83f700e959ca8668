import type { PlatformHost } from "../../greenhouse/ports.js";
import { placeholder } from "../../runtime/redaction.js";

/** A token in use. A later one has a higher generation. */
export interface Credential {
  readonly token: string;
  readonly generation: number;
  /** Names and values in turn, ready to be sent; the same array for as long as the token is. */
  readonly headers: string[];
}

/** A redirect, a page, some words, or nothing, where another answer was expected: the HTTP status behind this stands for the code. */
export const codeless = "HTTP ";
export const isCodeless = (doubt: string): boolean => doubt.startsWith(codeless);

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
   * After 401 or 403: whether there is another credential to try once. One sign-in serves any number of waiting calls. `doubt` is the
   * unknown code of a refusal that may mean the same.
   */
  renew(
    refused: Credential,
    host: PlatformHost,
    operation: string,
    signal: AbortSignal,
    doubt?: string,
  ): Promise<boolean>;
  /** Whether it comes from an earlier run, where it was let in. */
  hasWorked?(credential: Credential): boolean;
  /** Whether another credential did not help lately against a refusal with this code; `isAlone`: the host lets nothing in any more. */
  isVain?(code: string, host: PlatformHost, isAlone: boolean): boolean;
  /** It did not help: the code means something else. */
  doubtedInVain?(code: string, host: PlatformHost): void;
  /** A call with this credential was let in; only signing in learns from it. */
  onAccepted?(credential: Credential, host: PlatformHost): void;
  /** A call was refused again with a credential that had just been renewed for it; as above. */
  refusedAgain?(credential: Credential, host: PlatformHost, operation: string): void;
  /** Everything that must never be shown. */
  secrets(): readonly string[];
  /** Those of them that requests carry or carried. */
  tokens(): readonly string[];
  close(): Promise<void>;
}

/** Bytes of an answer or frame without our own tokens, which a platform may repeat anywhere, even as a device's name. */
export type Blank = (bytes: Buffer) => Buffer;

/** Shorter tokens could be a value, an address or a code by chance. */
const shortestBlanked = 16;

/** The same buffer when no token is in it. `source` is asked each time, as they change. */
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

/** Headers every request carries; asking for gzip only keeps the memory that unpacking takes small. */
export const plainHeaders: readonly string[] = [
  ...["accept", "application/json"],
  ...["accept-encoding", "gzip"],
  ...["user-agent", "greenhouse2mqtt"],
];

export function credential(token: string, generation: number): Credential {
  return { token, generation, headers: ["authorization", `Bearer ${token}`, ...plainHeaders] };
}

/** Whether a text can be a bearer token in a header: visible ASCII of a sane length. */
export const isToken = (text: string): boolean => /^[\x21-\x7e]{1,8192}$/.test(text);
