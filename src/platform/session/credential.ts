import { msg, type Text } from "../../language/text.js";
import { PlatformError, type PlatformHost } from "../../greenhouse/ports.js";
import { cameWithin, type Clock } from "../../runtime/clock.js";
import type { Files } from "../../runtime/file-system.js";
import type { Logger } from "../../runtime/log.js";
import { placeholder } from "../../runtime/redaction.js";
import type { HostLinks } from "../links.js";

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

/** A token of the configuration: there is never another one. */
export function staticToken(token: string): CredentialSource {
  const only: Credential | null = isToken(token) ? credential(token, 1) : null;
  return {
    key: "platform.token",
    current: () => only,
    atHand: () => Promise.resolve(only),
    obtain: () => (only ? Promise.resolve(only) : Promise.reject(notSent(unusable))),
    renew: () => Promise.resolve(false),
    secrets: () => [token],
    tokens: () => [token],
    close: () => Promise.resolve(),
  };
}

const unusable = msg`platform.token is empty or holds characters that cannot be sent (a line break, a blank?)`;

const notSent = (why: Text): PlatformError =>
  new PlatformError(msg`not sent; ${why}`, {
    kind: "unauthorized",
    host: "business",
    operation: "credential",
    sent: false,
  });

const lookEveryMs = 5_000;
/** A file on a network disk that has gone need never be read; the last token stays in use then. */
const longestLookMs = 2_000;

interface TokenFileParts {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Logger;
  readonly links: HostLinks;
}

/** A token that something else writes into a file; looked at every few seconds and after each refusal. */
export class TokenFile implements CredentialSource {
  readonly key = "platform.token_file";
  readonly #path: string;
  readonly #parts: TokenFileParts;
  #credential: Credential | null = null;
  #previous: string | null = null;
  #version: string | null = null;
  #lookedAt: number | null = null;
  #looking: Promise<void> | null = null;
  /** The look that was not waited for to its end: nobody waits for it again. */
  #late: Promise<void> | null = null;

  constructor(path: string, parts: TokenFileParts) {
    this.#path = path;
    this.#parts = parts;
  }

  current(): Credential | null {
    const isFresh = this.#lookedAt !== null && this.#parts.clock.monotonic() - this.#lookedAt < lookEveryMs;
    return isFresh ? this.#credential : null;
  }

  async atHand(): Promise<Credential | null> {
    if (this.current() === null) await this.#looked(false);
    return this.#credential;
  }

  async obtain(): Promise<Credential> {
    const found = await this.atHand();
    if (found !== null) return found;
    this.#parts.links.credentialMissing();
    throw notSent(
      msg`platform.token_file ${this.#path} is missing, unreadable or does not hold a token alone`,
    );
  }

  async renew(refused: Credential): Promise<boolean> {
    const isNewer = () => (this.#credential?.generation ?? 0) > refused.generation;
    if (!isNewer()) await this.#looked(true);
    return isNewer();
  }

  secrets(): readonly string[] {
    return this.tokens();
  }

  tokens(): readonly string[] {
    return [this.#credential?.token, this.#previous].filter((token) => typeof token === "string");
  }

  close(): Promise<void> {
    return this.#looking ?? Promise.resolve();
  }

  async #looked(always: boolean): Promise<void> {
    const look = this.#look(always);
    if (look === this.#late || (await cameWithin(this.#parts.clock, longestLookMs, look))) return;
    this.#late = look;
    this.#parts.log.warn(`platform.token_file ${this.#path} cannot be read: its disk does not answer`);
  }

  #look(always: boolean): Promise<void> {
    this.#looking ??= this.#read(always).finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #read(always: boolean): Promise<void> {
    const { files, clock, log } = this.#parts;
    try {
      const version = await files.version(this.#path);
      if (always || version === null || version !== this.#version) await this.#take(version);
    } catch (error) {
      log.warn({ reason: String(error) }, "platform.token_file cannot be read; the last token stays in use");
    }
    this.#lookedAt = clock.monotonic();
  }

  async #take(version: string | null): Promise<void> {
    const token = (await this.#parts.files.read(this.#path))?.trim() ?? "";
    this.#version = version;
    // An empty file is a writer at work: the old token is worth keeping until there is another.
    if (!isToken(token) || token === this.#credential?.token) return;
    this.#previous = this.#credential?.token ?? null;
    this.#credential = credential(token, (this.#credential?.generation ?? 0) + 1);
    this.#parts.links.credentialRenewed();
  }
}
