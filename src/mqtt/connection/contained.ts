import type { Logger } from "../../runtime/logger.js";

/**
 * Runs listeners of the connection so that nothing they throw gets into the MQTT library, which would stop reading from
 * the socket until the keepalive notices.
 */
export class Contained {
  readonly #log: Logger;
  #errors = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  get errors(): number {
    return this.#errors;
  }

  call(what: string, listener: () => void | Promise<void>): void {
    try {
      const result = listener();
      if (result instanceof Promise)
        result.catch((error: unknown) => {
          this.#report(what, error);
        });
    } catch (error) {
      this.#report(what, error);
    }
  }

  /** Like `call`, but waits for the end of it. Resolves with whether it ended well. */
  async settle(what: string, listener: () => Promise<void>): Promise<boolean> {
    try {
      await listener();
      return true;
    } catch (error) {
      this.#report(what, error);
      return false;
    }
  }

  #report(what: string, error: unknown): void {
    this.#errors += 1;
    this.#log.error(
      { err: error },
      `the ${what} listener of the broker connection failed; please report this`,
    );
  }
}
