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

/*
 * Who reads a configuration and who starts the broker must judge a password alike, or `check` passes what does not start.
 */

export const shortestPassword = 12;
export const fewestCharacters = 5;

/** Of the commonest thousand, those that are long enough to pass the length rule, and the likely ones of this product. */
const common = new Set([
  "123456789012",
  "1234567890123",
  "1q2w3e4r5t6y",
  "1qaz2wsx3edc",
  "abcdefghijkl",
  "administrator",
  "adminadminadmin",
  "changemechangeme",
  "greenhouse123",
  "greenhouse1234",
  "greenhouse2mqtt",
  "homeassistant",
  "homeassistant1",
  "iloveyou1234",
  "letmeinletmein",
  "mosquitto123",
  "passwordpassword",
  "password1234",
  "password12345",
  "password123456",
  "q1w2e3r4t5y6",
  "qazwsxedcrfv",
  "qwerty123456",
  "qwertyuiop12",
  "qwertyuiop123",
  "qwertyuiop[]",
  "raspberrypi1",
  "unbelievable",
  "welcome12345",
  "zaq12wsxcde3",
]);

/** Why a password must not guard a broker that others can reach; null when nothing speaks against it. */
export function passwordWeakness(password: string): string | null {
  if (password.length < shortestPassword) return `it is shorter than ${shortestPassword} characters`;
  if (common.has(password.toLowerCase())) return "it is one of the commonest passwords";
  if (new Set(password).size < fewestCharacters)
    return `it has fewer than ${fewestCharacters} different characters`;
  return null;
}
