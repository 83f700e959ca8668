import { createHash, randomBytes, scrypt, type ScryptOptions, timingSafeEqual } from "node:crypto";
import { isPasswordHash, memoryOf, parsePasswordHash, type ScryptHash } from "../runtime/passwords.js";

// scrypt runs on Node's thread pool; `PasswordChecks` bounds how many at once, for each takes 32 MiB and a thread that files and DNS
// need too.

const prefix = "scrypt:";
const made = { logN: 15, r: 8, p: 1 };
const saltBytes = 16;
const keyBytes = 32;
/** A new hash with a random salt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const key = await derive(password, { ...made, salt, key: Buffer.alloc(keyBytes) });
  return `${prefix}${made.logN}:${made.r}:${made.p}:${salt.toString("base64url")}:${key.toString("base64url")}`;
}

/** Whether `password` is the one that `stored` (a hash, or plain text) stands for; the time taken does not tell. */
export async function verifyPassword(password: string | Buffer, stored: string): Promise<boolean> {
  const hash = parsePasswordHash(stored);
  if (hash !== null) return timingSafeEqual(await derive(password, hash), hash.key);
  return !isPasswordHash(stored) && sameSecret(password, stored);
}

/** Compares secrets of any length in a time that depends on neither. */
export function sameSecret(given: string | Buffer, expected: string | Buffer): boolean {
  const digest = (secret: string | Buffer) => createHash("sha256").update(secret).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function derive(password: string | Buffer, hash: ScryptHash): Promise<Buffer> {
  const options: ScryptOptions = {
    N: 2 ** hash.logN,
    r: hash.r,
    p: hash.p,
    maxmem: 2 * memoryOf(hash) + 1024 * 1024,
  };
  return new Promise((resolve, reject) => {
    scrypt(password, hash.salt, hash.key.length, options, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

/** Checks passwords, two at a time; the others wait in a line of bounded length. */
export class PasswordChecks {
  readonly #parallel: number;
  readonly #maxWaiting: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(parallel = 2, maxWaiting = 64) {
    this.#parallel = parallel;
    this.#maxWaiting = maxWaiting;
  }

  /** `busy` when the line is full, `off` when `isOff` holds once it is this one's turn: then nothing was checked. */
  async verify(
    password: string | Buffer,
    stored: string,
    isOff: () => boolean = () => false,
  ): Promise<boolean | "busy" | "off"> {
    if (this.#running >= this.#parallel) {
      if (this.#waiting.length >= this.#maxWaiting) return "busy";
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return isOff() ? "off" : await verifyPassword(password, stored);
    } finally {
      // The place goes straight to the next in line, so nobody can slip in between.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
