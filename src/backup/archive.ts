import { Decrypter, Encrypter } from "age-encryption";
import { msg, TextError } from "../language/text.js";
import { nullIfFailed } from "../runtime/failures.js";
import { gunzip, gzip } from "node:zlib";
import { promisify } from "node:util";

/* Packs files into one: a POSIX tar (ustar) in gzip, which every computer can open. */

export interface Packed {
  /** Path below the packed folder, with `/` as separator. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Bounds for an uploaded archive. */
export const mostBytes = 512 * 1024 * 1024;
const mostFiles = 100_000;

const blockBytes = 512;

/** An archive that is no backup; the message is a sentence. */
export class BadArchive extends TextError {
  override name = "BadArchive" as const;
}

export function pack(files: readonly Packed[], now: number): Promise<Buffer> {
  const parts = files.flatMap(({ name, bytes }) => [
    header(name, bytes.length, now),
    bytes,
    Buffer.alloc(-bytes.length & (blockBytes - 1)),
  ]);
  return promisify(gzip)(Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)]));
}

function header(name: string, bytes: number, now: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  const [own, prefix] = nameParts(name);
  const put = (text: string, at: number) => block.write(text, at, "utf8");
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  put(own, 0);
  put(`${octal(0o600, 7)}\0`, 100);
  put(`${octal(0, 7)}\0${octal(0, 7)}\0`, 108);
  put(`${octal(bytes, 11)}\0${octal(Math.floor(now / 1_000), 11)}\0`, 124);
  put(`${" ".repeat(8)}0`, 148);
  put("ustar\u000000", 257);
  put(prefix, 345);
  put(`${octal(sumOf(block), 6)}\0 `, 148);
  return block;
}

/** Splits a name for the two fields of ustar: over 100 bytes at one of its slashes. */
function nameParts(name: string): readonly [own: string, prefix: string] {
  if (Buffer.byteLength(name) <= 100) return [name, ""];
  for (let at = name.indexOf("/"); at > 0; at = name.indexOf("/", at + 1)) {
    const [prefix, own] = [name.slice(0, at), name.slice(at + 1)];
    if (Buffer.byteLength(own) <= 100 && Buffer.byteLength(prefix) <= 155) return [own, prefix];
  }
  throw new BadArchive(msg`${name}: the name is too long`);
}

const sumOf = (block: Uint8Array): number =>
  block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);

/** Unpacks an archive. Rejects with BadArchive if it is damaged, too large, or leads out of its folder. */
export async function unpack(archive: Uint8Array): Promise<readonly Packed[]> {
  const tar = await promisify(gunzip)(archive, { maxOutputLength: mostBytes }).catch((error: unknown) => {
    throw new BadArchive(msg`this is no backup, or a damaged one`, { cause: error });
  });
  const files: Packed[] = [];
  for (let at = 0; at + blockBytes <= tar.length;) {
    const block = tar.subarray(at, at + blockBytes);
    if (block.every((byte) => byte === 0)) return files;
    const { name, bytes, isFile } = read(block);
    const end = at + blockBytes + bytes;
    if (end > tar.length || files.length >= mostFiles) break;
    if (isFile) files.push({ name, bytes: tar.subarray(at + blockBytes, end) });
    at = end + (-bytes & (blockBytes - 1));
  }
  throw new BadArchive(msg`the backup ends in the middle, or is damaged`);
}

function read(block: Buffer): { readonly name: string; readonly bytes: number; readonly isFile: boolean } {
  const text = (from: number, to: number) => block.toString("utf8", from, to).replace(/\0.*$/s, "");
  const number = (from: number, to: number) => parseInt(text(from, to).trim(), 8);
  if (number(148, 156) !== sumOf(block)) throw new BadArchive(msg`the backup is damaged`);
  const prefix = text(345, 500);
  const name = prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`;
  const kind = text(156, 157);
  const isSafe = name
    .split("/")
    .every((part) => part !== "" && part !== "." && part !== ".." && !/[\\:]|\p{Cc}/u.test(part));
  if (kind === "5") return { name, bytes: 0, isFile: false };
  if ((kind !== "0" && kind !== "") || !isSafe)
    throw new BadArchive(msg`the backup holds "${name.slice(0, 100)}", which no backup has`);
  return { name, bytes: number(124, 136), isFile: true };
}

/* Encryption with a password: the format of age (age-encryption.org), which `age -d` opens too. */

/** 64 MiB and about a second; more would not fit beside a bridge on a small computer. */
const workFactor = 16;
const begin = Buffer.from("age-encryption.org/v1\n");

export const isSealed = (bytes: Uint8Array): boolean => begin.equals(bytes.subarray(0, begin.length));

export async function seal(bytes: Uint8Array, password: string): Promise<Uint8Array> {
  const encrypter = new Encrypter();
  encrypter.setScryptWorkFactor(workFactor);
  encrypter.setPassphrase(password);
  return encrypter.encrypt(bytes);
}

/** Decrypts; null for a wrong password or changed bytes. */
export async function unseal(bytes: Uint8Array, password: string): Promise<Uint8Array | null> {
  const decrypter = new Decrypter();
  decrypter.addPassphrase(password);
  return decrypter.decrypt(bytes).catch(nullIfFailed);
}
