import { msg, type Text } from "../language/text.js";
import { createHash, randomBytes, scrypt, type ScryptOptions, timingSafeEqual } from "node:crypto";

/*
 * Password hashes of the embedded broker: `scrypt:<log2 N>:<r>:<p>:<salt>:<key>`, salt and key in base64url. The
 * configuration's check and the login must read them alike.
 */

interface ScryptHash {
  readonly logN: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly key: Buffer;
}

// A configured hash must not be able to use up the machine's memory.
const maxMemory = 256 * 1024 * 1024;

/** Whether the text is meant as a hash; `$scrypt$` is how hashes of other programs begin. */
export const isPasswordHash = (stored: string): boolean => /^(?:scrypt:|\$scrypt\$)/.test(stored);

/** Parses a hash; null if it could not be checked. */
export function parsePasswordHash(stored: string): ScryptHash | null {
  const parts = /^scrypt:(\d{1,2}):(\d{1,2}):(\d{1,2}):([\w-]+):([\w-]+)$/.exec(stored);
  if (parts === null) return null;
  const [, logN, r, p, salt, key] = parts;
  const hash = {
    logN: Number(logN),
    r: Number(r),
    p: Number(p),
    salt: Buffer.from(salt ?? "", "base64url"),
    key: Buffer.from(key ?? "", "base64url"),
  };
  const fits = hash.logN >= 1 && hash.r >= 1 && hash.p >= 1 && hash.p <= 16 && memoryOf(hash) <= maxMemory;
  return fits && hash.salt.length >= 8 && hash.key.length >= 16 ? hash : null;
}

/** Memory in bytes that a check takes. */
function memoryOf({ logN, r }: Pick<ScryptHash, "logN" | "r">): number {
  return 128 * 2 ** logN * r;
}

const made = { logN: 15, r: 8, p: 1 };
const saltBytes = 16;
const keyBytes = 32;

/** A new hash with a random salt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const key = await derive(password, { ...made, salt, key: Buffer.alloc(keyBytes) });
  return `scrypt:${made.logN}:${made.r}:${made.p}:${salt.toString("base64url")}:${key.toString("base64url")}`;
}

/** Whether `password` is the one in `stored` (a hash or plain text), in constant time. */
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
  return new Promise((resolve, reject) =>
    scrypt(password, hash.salt, hash.key.length, options, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    }),
  );
}

/* Requirements for a password where others can reach the broker. */

export const shortestPassword = 12;
export const fewestCharacters = 5;

/** The thousand most common passwords, as far as the length rule lets them pass, and likely ones for this product. */
const common = new Set(
  `123456789012 1234567890123 1q2w3e4r5t6y 1qaz2wsx3edc abcdefghijkl administrator adminadminadmin
   changemechangeme greenhouse123 greenhouse1234 greenhouse2mqtt homeassistant homeassistant1
   iloveyou1234 letmeinletmein mosquitto123 passwordpassword password1234 password12345 password123456
   q1w2e3r4t5y6 qazwsxedcrfv qwerty123456 qwertyuiop12 qwertyuiop123 qwertyuiop[] raspberrypi1
   unbelievable welcome12345 zaq12wsxcde3`.split(/\s+/),
);

/** Why a password is too weak for a broker that others can reach; null if it is not. */
export function passwordWeakness(password: string): Text | null {
  if (password.length < shortestPassword) return msg`it is shorter than ${shortestPassword} characters`;
  if (common.has(password.toLowerCase())) return msg`it is one of the commonest passwords`;
  if (new Set(password).size < fewestCharacters)
    return msg`it has fewer than ${fewestCharacters} different characters`;
  return null;
}
