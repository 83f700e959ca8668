import { randomInt } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { Logger } from "../runtime/log.js";
import { hashPassword, isPasswordHash, passwordWeakness, sameSecret } from "../runtime/passwords.js";
import { isLoopback } from "../runtime/sockets.js";
import { isOfThisComputer, type Listener, servesPage } from "./access.js";
import { type Answer, badRequest, failure } from "./answer.js";

/* Who may command at a page of which the configuration names no users: made there once, by whoever has the code that `run` printed. */

const kept = z.array(
  z.object({
    username: z.string(),
    password: z.string().refine(isPasswordHash),
    role: z.enum(["viewer", "operator"]),
  }),
);

/** Without letters and digits that look alike. */
const alphabet = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
/** Two times four of them are 39 bits, of which ten may be tried. */
const mostTries = 10;

/** A code that a person copies from a terminal. */
export function oneTimeCode(): string {
  const four = () => Array.from({ length: 4 }, () => alphabet[randomInt(alphabet.length)]).join("");
  return `${four()}-${four()}`;
}

/** A code that is known to whoever sees the terminal, compared in constant time, for so many tries. */
export class OneTimeCode {
  readonly text = oneTimeCode();
  #tries = 0;

  isSpent(): boolean {
    return this.#tries >= mostTries;
  }

  /** Small letters and a missing dash are no other code. */
  fits(given: string): boolean {
    if (this.isSpent()) return false;
    const isRight = sameSecret(plain(given), plain(this.text));
    if (!isRight) this.#tries += 1;
    return isRight;
  }
}

const plain = (code: string): string => code.toUpperCase().replace(/[^A-Z0-9]/g, "");

interface FirstOperatorPorts {
  /** A file that only the bridge's user reads. */
  readonly file: { read(): Promise<string | null>; write(text: string): Promise<void> };
  readonly log: Pick<Logger, "info" | "warn">;
}

const spent = failure(429, "code_spent", "Too many wrong codes. Restart the bridge: it prints another code.");
const wrongCode = failure(401, "wrong_code", "This is not the code that the bridge printed at its start.");
const notHere = failure(
  403,
  "not_here",
  "The first operator is made at the bridge's own computer, and only while there are no users.",
);

/** The users of the page that the configuration does not name; they count only while it names none. */
export class FirstOperator {
  readonly #ports: FirstOperatorPorts;
  #users: Listener["users"] = [];
  #code: OneTimeCode | null = null;
  #isMaking = false;

  constructor(ports: FirstOperatorPorts) {
    this.#ports = ports;
  }

  /** As an earlier run left them. Without any, a code is made where the page may be opened by this computer alone. */
  async load(listener: Listener): Promise<void> {
    const { file, log } = this.#ports;
    try {
      const text = await file.read();
      this.#users = text === null ? [] : kept.parse(JSON.parse(text));
    } catch (error) {
      // Nobody may become the first operator because the file of the present ones cannot be read.
      log.warn({ reason: String(error) }, "page-users.json cannot be read, so its users cannot log in");
      return;
    }
    const isFree =
      servesPage(listener) && this.complete(listener).users.length === 0 && !listener.ingress.enabled;
    this.#code = isFree && isLoopback(listener.host) ? new OneTimeCode() : null;
  }

  /** To be printed; null where nobody is to be made. */
  get code(): string | null {
    return this.#code?.text ?? null;
  }

  complete(listener: Listener): Listener {
    return listener.users.length > 0 ? listener : { ...listener, users: this.#users };
  }

  /** Whether somebody at this computer may become the first operator. */
  isOffered(request: IncomingMessage): boolean {
    return this.#code !== null && !this.#code.isSpent() && isOfThisComputer(request);
  }

  /** Null once the operator is there; else why not. */
  async make(
    request: IncomingMessage,
    given: { readonly code: string; readonly username: string; readonly password: string },
  ): Promise<Answer | null> {
    const code = this.#code;
    if (code === null || this.#isMaking || !isOfThisComputer(request)) return notHere;
    if (code.isSpent()) return spent;
    if (!code.fits(given.code)) return code.isSpent() ? spent : wrongCode;
    const username = given.username.trim();
    if (!/^[^\p{C}]{1,64}$/u.test(username)) return badRequest("username: expected a name of one line.");
    const weakness = passwordWeakness(given.password);
    if (weakness !== null) return failure(400, "weak_password", `This password will not do: ${weakness}.`);
    this.#isMaking = true;
    try {
      const password = await hashPassword(given.password);
      const users = [{ username, password, role: "operator" as const }];
      await this.#ports.file.write(JSON.stringify(users));
      this.#users = users;
      this.#code = null;
      this.#ports.log.info({ user: username }, "the first operator was made at the page");
      return null;
    } finally {
      this.#isMaking = false;
    }
  }
}

/** The users of an earlier run, for whoever asks beside it. */
export const storedUsers = (text: string | null): Listener["users"] => {
  try {
    return text === null ? [] : kept.parse(JSON.parse(text));
  } catch {
    return [];
  }
};
