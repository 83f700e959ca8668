import { PlatformError } from "../greenhouse/ports.js";
import type { GoodAnswer } from "./answer.js";
import type { Call, Caller } from "./caller.js";
import { operations } from "./operations.js";
import type { Credential, CredentialSource } from "./session/credential.js";

/** Puts the credential on every call and answers refusals: one renewal for all who wait, one replay for each read. */
export class Authorized {
  readonly #caller: Caller;
  readonly #source: CredentialSource;
  #refusedWrite: Credential | null = null;
  #renewedForWrite = 0;

  constructor(caller: Caller, source: CredentialSource) {
    this.#caller = caller;
    this.#source = source;
  }

  async read(call: Call): Promise<GoodAnswer> {
    const credential = this.#source.current() ?? (await this.#obtain(call));
    try {
      return await this.#readWith(call, credential);
    } catch (error) {
      if (!wasRefused(error)) throw error;
      if (!(await this.#renew(call, credential))) throw this.#final(call, error);
    }
    const renewed = this.#source.current() ?? (await this.#obtain(call));
    try {
      return await this.#readWith(call, renewed);
    } catch (error) {
      if (!wasRefused(error)) throw error;
      this.#source.refusedAgain(renewed, call.operation.host, call.operation.label);
      throw this.#final(call, error);
    }
  }

  /** One POST. Without a credential at hand nothing is sent, as signing in could take longer than the command may. */
  async write(call: Call): Promise<GoodAnswer> {
    const { host, label } = call.operation;
    const credential = this.#source.current() ?? (await this.#source.atHand());
    if (credential === null) {
      this.#refusedWrite = null;
      throw notSent(
        call,
        "unauthorized",
        "not sent; there is no credential at hand, it has to be renewed first",
      );
    }
    const wasJustRenewed = credential.generation === this.#renewedForWrite;
    try {
      const headers = [...credential.headers, "content-type", "application/json"];
      const answer = await this.#caller.once(call, headers);
      this.#source.accepted(credential, host);
      return answer;
    } catch (error) {
      if (!wasRefused(error)) throw error;
      this.#refusedWrite = credential;
      if (!wasJustRenewed) throw error;
      this.#source.refusedAgain(credential, host, label);
      throw this.#final(call, error);
    } finally {
      // One POST tries a renewed credential; a refusal after that is its end, which the next renewal is for.
      if (wasJustRenewed && credential.generation === this.#renewedForWrite) this.#renewedForWrite = 0;
    }
  }

  /** After a refused write: whether another credential is ready now. Never rejects but for the signal. */
  async renewForWrite(signal: AbortSignal): Promise<boolean> {
    const { host, label } = operations.setValue;
    const refused = this.#refusedWrite;
    try {
      const isReady =
        refused === null
          ? (await this.#source.obtain(signal)).token !== ""
          : await this.#source.renew(refused, host, label, signal);
      if (isReady) this.#renewedForWrite = this.#source.current()?.generation ?? 0;
      else this.#caller.refused(host);
      return isReady;
    } catch {
      return false;
    }
  }

  async #readWith(call: Call, credential: Credential): Promise<GoodAnswer> {
    const answer = await this.#caller.read(call, credential.headers);
    this.#source.accepted(credential, call.operation.host);
    this.#caller.accepted(call.operation.host);
    return answer;
  }

  async #renew(call: Call, refused: Credential): Promise<boolean> {
    const { host, label } = call.operation;
    try {
      return await this.#source.renew(refused, host, label, call.signal);
    } catch (error) {
      throw asPlatformError(call, error);
    }
  }

  async #obtain(call: Call): Promise<Credential> {
    try {
      return await this.#source.obtain(call.signal);
    } catch (error) {
      throw asPlatformError(call, error);
    }
  }

  #final(call: Call, error: unknown): unknown {
    this.#caller.refused(call.operation.host);
    return error;
  }
}

const wasRefused = (error: unknown): boolean =>
  error instanceof PlatformError && error.facts.kind === "unauthorized" && error.facts.sent;

/** Waiting for a credential ended otherwise than with one; this call itself was not sent. */
function asPlatformError(call: Call, error: unknown): PlatformError {
  if (error instanceof PlatformError)
    return new PlatformError(error.message, { ...error.facts, sent: false }, { cause: error.cause });
  return notSent(call, "interrupted", "given up by the caller");
}

const notSent = ({ operation }: Call, kind: "unauthorized" | "interrupted", why: string): PlatformError =>
  new PlatformError(`${operation.label}: ${why}`, {
    kind,
    host: operation.host,
    operation: operation.label,
    sent: false,
  });
