import { Decrypter, Encrypter } from "age-encryption";
import { nullIfFailed } from "../runtime/failures.js";

/* With a password: the format of age (age-encryption.org), which `age -d` opens too. */

/** 64 MiB and about a second: more would not fit beside a bridge on a small computer. */
const workFactor = 16;
const begin = Buffer.from("age-encryption.org/v1\n");

export const isSealed = (bytes: Uint8Array): boolean => begin.equals(bytes.subarray(0, begin.length));

export async function seal(bytes: Uint8Array, password: string): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.setScryptWorkFactor(workFactor);
  encrypter.setPassphrase(password);
  return encrypter.encrypt(bytes);
}

/** Null where it is another password, or the bytes were changed. */
export async function unseal(bytes: Uint8Array, password: string): Promise<Uint8Array | null> {
  const decrypter = new Decrypter();
  decrypter.addPassphrase(password);
  return decrypter.decrypt(bytes).catch(nullIfFailed);
}
