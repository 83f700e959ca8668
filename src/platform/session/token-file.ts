import { PlatformError } from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/log.js";
import type { Files } from "../files.js";
import { credential, type Credential, type CredentialSource, isToken } from "./credential.js";

export interface TokenFilePorts {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told when a new token is in use. */
  readonly onRenewed: () => void;
  /** Told when there is none. */
  readonly onMissing: () => void;
}

const lookEveryMs = 5_000;

/** A token that something else writes into a file; looked at every few seconds and after each refusal. */
export class TokenFile implements CredentialSource {
  readonly key = "platform.token_file";
  readonly #path: string;
  readonly #ports: TokenFilePorts;
  #credential: Credential | null = null;
  #previous: string | null = null;
  #version: string | null = null;
  #lookedAt: number | null = null;
  #looking: Promise<void> | null = null;

  constructor(path: string, ports: TokenFilePorts) {
    this.#path = path;
    this.#ports = ports;
  }

  current(): Credential | null {
    const isFresh = this.#lookedAt !== null && this.#ports.clock.monotonic() - this.#lookedAt < lookEveryMs;
    return isFresh ? this.#credential : null;
  }

  async atHand(): Promise<Credential | null> {
    if (this.current() === null) await this.#look(false);
    return this.#credential;
  }

  async obtain(): Promise<Credential> {
    const found = await this.atHand();
    if (found !== null) return found;
    this.#ports.onMissing();
    throw new PlatformError(
      `not sent; platform.token_file ${this.#path} is missing, unreadable or does not hold a token alone`,
      { kind: "unauthorized", host: "business", operation: "credential", sent: false },
    );
  }

  async renew(refused: Credential): Promise<boolean> {
    if (this.#credential !== null && this.#credential.generation > refused.generation) return true;
    await this.#look(true);
    return this.#credential !== null && this.#credential.generation > refused.generation;
  }

  accepted(): void {
    // Nothing to learn: the file's writer decides which token is right.
  }

  refusedAgain(): void {
    // As above.
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

  #look(always: boolean): Promise<void> {
    this.#looking ??= this.#read(always).finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #read(always: boolean): Promise<void> {
    const { files, clock, log } = this.#ports;
    try {
      const version = await files.version(this.#path);
      if (always || version === null || version !== this.#version) await this.#take(version);
    } catch (error) {
      log.warn({ err: error }, "platform.token_file cannot be read; the last token stays in use");
    }
    this.#lookedAt = clock.monotonic();
  }

  async #take(version: string | null): Promise<void> {
    const token = (await this.#ports.files.read(this.#path))?.trim() ?? "";
    this.#version = version;
    if (!isToken(token)) {
      // An empty file is a writer at work: the old token is worth keeping until there is another.
      return;
    }
    if (token === this.#credential?.token) return;
    this.#previous = this.#credential?.token ?? null;
    this.#credential = credential(token, (this.#credential?.generation ?? 0) + 1);
    this.#ports.onRenewed();
  }
}
