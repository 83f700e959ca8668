import { msg } from "../language/text.js";
import type { TextFile } from "../runtime/file-system.js";
import { nullIfFailed } from "../runtime/failures.js";
import { randomInt } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { Logger } from "../runtime/log.js";
import { hashPassword, isPasswordHash, passwordWeakness, sameSecret } from "../runtime/passwords.js";
import { isLoopback } from "../runtime/sockets.js";
import { isUserName } from "../settings/users.js";
import { isOfThisComputer, isOpen, type Listener, servesPage } from "./access.js";
import { type Answer, badRequest, failure } from "./answer.js";
import { pageRoles } from "./section.js";

/*
 * Users of a page for which the configuration names none. Whoever has the code that `run` printed makes the first one
 * there.
 */

const kept = z.array(
  z.object({
    username: z.string(),
    password: z.string().refine(isPasswordHash),
    role: z.enum(pageRoles),
  }),
);

/** Letters and digits that do not look alike. */
const alphabet = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
/** Eight characters of this alphabet are 39 bits; ten guesses are allowed. */
const mostTries = 10;

/** A code that a person copies from a terminal. */
export function oneTimeCode(): string {
  const four = () => Array.from({ length: 4 }, () => alphabet[randomInt(alphabet.length)]).join("");
  return `${four()}-${four()}`;
}

/** A code for whoever sees the terminal, compared in constant time; wrong codes are limited to `mostTries`. */
export class OneTimeCode {
  readonly text = oneTimeCode();
  #tries = 0;

  isSpent(): boolean {
    return this.#tries >= mostTries;
  }

  /** Case and dashes do not matter. */
  fits(given: string): boolean {
    if (this.isSpent()) return false;
    const isRight = sameSecret(plain(given), plain(this.text));
    if (!isRight) this.#tries += 1;
    return isRight;
  }
}

const plain = (code: string): string => code.toUpperCase().replace(/[^A-Z0-9]/g, "");

const spent = failure(429, "code_spent", "Too many wrong codes. Restart the bridge: it prints another code.");
const wrongCode = failure(401, "wrong_code", "This is not the code that the bridge printed at its start.");
const notHere = failure(
  403,
  "not_here",
  "The first operator is made at the bridge's own computer, and only while there are no users.",
);

/** Users who were made at the page; they count only while the configuration names none. */
export class FirstOperator {
  readonly #file: TextFile;
  readonly #log: Pick<Logger, "info" | "warn" | "error">;
  readonly #isOnTrial: () => boolean;
  #users: Listener["users"] = [];
  /** The file cannot be read, so its users are unknown. */
  #isUnreadable = false;
  #code: OneTimeCode | null = null;
  #isMaking = false;

  /** `isOnTrial`: whether a configuration with users is only being tried and may be taken back in a moment. */
  constructor(
    file: TextFile,
    log: Pick<Logger, "info" | "warn" | "error">,
    isOnTrial: () => boolean = () => false,
  ) {
    this.#file = file;
    this.#log = log;
    this.#isOnTrial = isOnTrial;
  }

  /** Loads the users of an earlier run. Where there are none and only this computer reaches the page, makes a code. */
  async load(listener: Listener): Promise<void> {
    try {
      this.#users = usersIn(await this.#file.read());
    } catch (error) {
      this.#isUnreadable = true;
      if (listener.users.length === 0) this.#log.error({ reason: String(error) }, String(unreadableUsers));
    }
    const isFree = servesPage(listener) && !listener.ingress.enabled && isOpen(this.complete(listener));
    this.#code = isFree && isLoopback(listener.host) ? new OneTimeCode() : null;
  }

  /** Removes users made at the page once the configuration names some; otherwise they could return years later. */
  #retire(): void {
    if (this.#users.length === 0 && !this.#isUnreadable && this.#code === null) return;
    const names = this.#isUnreadable ? "unknown" : this.#users.map(({ username }) => username).join(", ");
    const isKept = this.#isUnreadable || this.#users.length > 0;
    this.#users = [];
    this.#isUnreadable = false;
    this.#code = null;
    if (!isKept) return;
    this.#file.write("[]").then(
      () =>
        this.#log.warn(
          { users: names },
          "http.users names users now, so those who were made at the page are removed for good",
        ),
      (error: unknown) =>
        this.#log.error(
          { reason: String(error) },
          "page-users.json cannot be emptied: remove it, or its users can log in again once http.users names nobody",
        ),
    );
  }

  /** Users who were made at the page; none where their file cannot be read. */
  get users(): Listener["users"] {
    return this.#users;
  }

  /** The code to print; null where no operator is to be made. */
  get code(): string | null {
    return this.#code?.text ?? null;
  }

  complete(listener: Listener): Listener {
    if (listener.users.length > 0 && !this.#isOnTrial()) this.#retire();
    return listener.users.length > 0
      ? listener
      : withUsers(listener, this.#isUnreadable ? null : this.#users);
  }

  /** Whether somebody at this computer may become the first operator. */
  isOffered(request: IncomingMessage): boolean {
    return this.#code !== null && !this.#code.isSpent() && isOfThisComputer(request);
  }

  /** Makes the first operator; null on success, else the answer that refuses. */
  async make(
    request: IncomingMessage,
    given: { readonly code: string; readonly username: string; readonly password: string },
  ): Promise<Answer | null> {
    const code = this.#code;
    if (code === null || this.#isMaking || !isOfThisComputer(request)) return notHere;
    if (code.isSpent()) return spent;
    if (!code.fits(given.code)) return code.isSpent() ? spent : wrongCode;
    const username = given.username.trim();
    if (!isUserName(username)) return badRequest("username: expected a name of one line.");
    const weakness = passwordWeakness(given.password);
    if (weakness !== null)
      return failure(400, "weak_password", `This password will not do: ${String(weakness)}.`);
    this.#isMaking = true;
    try {
      const password = await hashPassword(given.password);
      // The configuration may have named users meanwhile.
      if (this.#code !== code) return notHere;
      const users = [{ username, password, role: "admin" as const }];
      await this.#file.write(JSON.stringify(users));
      this.#users = users;
      this.#code = null;
      this.#log.info({ user: username }, "the first operator was made at the page");
      return null;
    } finally {
      this.#isMaking = false;
    }
  }
}

/** Says that the file of users cannot be read, so that nobody can log in, and what to do. */
export const unreadableUsers = msg`page-users.json in the data directory cannot be read, so nobody can log in to the page: put it back from a copy; or remove it and restart, and make the first operator anew with the code that the bridge then prints`;

/** Throws for a file that cannot be understood; a missing one means no users. */
function usersIn(text: string | null): Listener["users"] {
  // Users made before there was a role for settings become admins too, since they had the code.
  return text === null ? [] : kept.parse(JSON.parse(text)).map((user) => ({ ...user, role: "admin" }));
}

/** `users` null: they cannot be read. */
const withUsers = (listener: Listener, users: Listener["users"] | null): Listener =>
  users === null ? { ...listener, users: [], isClosed: true } : { ...listener, users };

/** Adds the users made at the page where the configuration names none. `read` returns the text of their file. */
export async function withStoredUsers(
  listener: Listener,
  read: () => Promise<string | null>,
): Promise<Listener> {
  if (listener.users.length > 0) return listener;
  const users = await read().then(usersIn).catch(nullIfFailed);
  return withUsers(listener, users);
}
