/*
 * Password hashes of the embedded broker: `scrypt:<log2 N>:<r>:<p>:<salt>:<key>`, salt and key in base64url. Whoever reads a
 * configuration and whoever checks a login must mean the same by one.
 */

export interface ScryptHash {
  readonly logN: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly key: Buffer;
}

// A configured hash must not be able to eat the machine.
const maxMemory = 256 * 1024 * 1024;

/** Meant as a hash, not as the password itself; `$scrypt$` is how other programs begin theirs. */
export const isPasswordHash = (stored: string): boolean => /^(?:scrypt:|\$scrypt\$)/.test(stored);

/** Null when the text is no hash that could be checked. */
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

/** Bytes that a check of one takes. */
export function memoryOf({ logN, r }: Pick<ScryptHash, "logN" | "r">): number {
  return 128 * 2 ** logN * r;
}
