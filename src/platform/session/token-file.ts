import { msg, type Text } from "../../language/text.js";
import { PlatformError } from "../../greenhouse/ports.js";
import { cameWithin } from "../../runtime/clock.js";
import type { PlatformInside } from "../inside.js";
import { type Credential, credential, type CredentialSource, isToken } from "./credential.js";

/** A token from the configuration, which never changes. */
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
/** A file on a lost network disk may never be readable; the last token then stays in use. */
const longestLookMs = 2_000;

type Inside = Pick<PlatformInside, "files" | "clock" | "log" | "links">;

/** A token that another program writes into a file; checked every few seconds of use, and read after each refusal. */
export class TokenFile implements CredentialSource {
  readonly key = "platform.token_file";
  readonly #path: string;
  readonly #parts: Inside;
  #credential: Credential | null = null;
  #previous: string | null = null;
  #version: string | null = null;
  #lookedAt: number | null = null;
  #looking: Promise<void> | null = null;
  /** A read that took too long; nobody waits for it again. */
  #late: Promise<void> | null = null;

  constructor(path: string, inside: Inside) {
    this.#path = path;
    this.#parts = inside;
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
    // An empty file means that it is being written: the old token stays until there is another.
    if (!isToken(token) || token === this.#credential?.token) return;
    this.#previous = this.#credential?.token ?? null;
    this.#credential = credential(token, (this.#credential?.generation ?? 0) + 1);
    this.#parts.links.credentialRenewed();
  }
}
