import { msg, type Text, TextError } from "../language/text.js";
import { z } from "zod";
import { BadArchive, isSealed, type Packed, unpack, unseal } from "./archive.js";
import { manifest, type Manifest, manifestName, newestFormat } from "./backup.js";

/* Reads a backup and checks whether this version can restore it. */

/** Why nothing was restored; the message is a sentence with a remedy. */
export class NotRestored extends TextError {
  override name = "NotRestored" as const;
}

export interface Opened {
  readonly facts: Manifest;
  readonly files: readonly Packed[];
}

/** Reads a backup; nothing is written. Rejects with NotRestored. */
export async function openBackup(bytes: Uint8Array, password: string | null): Promise<Opened> {
  if (isSealed(bytes) && (password === null || password === ""))
    throw new NotRestored(msg`this backup has a password; give it too`);
  const archive = isSealed(bytes) ? await unseal(bytes, password ?? "") : bytes;
  if (archive === null) throw new NotRestored(msg`this is another password, or the backup is damaged`);
  const files = await unpack(archive).catch((error: unknown) => {
    if (error instanceof BadArchive) throw new NotRestored(error.text);
    throw error;
  });
  const said = jsonIn(files.find(({ name }) => name === manifestName)?.bytes);
  const read = manifest.safeParse(said);
  if (!read.success) throw new NotRestored(notKnown(said));
  const facts = read.data;
  if (!files.some(({ name }) => name === mainFileOf(facts)) || /[^a-z0-9_-]/.test(facts.account ?? ""))
    throw new NotRestored(noBackup);
  return { facts, files };
}

/** The file to run after a restore. */
const mainFileOf = ({ of, account = "" }: Manifest): string =>
  of === "account" ? `accounts/${account}.yaml` : of === "fleet" ? "fleet.yaml" : "config.yaml";

const noBackup = msg`this is no backup of greenhouse2mqtt`;
const otherFormat = z.object({ format: z.number(), version: z.string() });

/** Each format states its version, so a newer one can be named. */
function notKnown(said: unknown): Text {
  const { data } = otherFormat.safeParse(said);
  if (data === undefined || (data.format >= 1 && data.format <= newestFormat)) return noBackup;
  const { format, version } = data;
  return format > newestFormat
    ? msg`this backup is of a newer version (${version}, format ${format}; this one knows up to ${newestFormat}): install that version or a newer one, and restore it there`
    : msg`this backup is of a version before the first release (${version}, format ${format}): restore it with that version`;
}

function jsonIn(bytes: Uint8Array | undefined): unknown {
  try {
    return JSON.parse(Buffer.from(bytes ?? []).toString("utf8"));
  } catch {
    return null;
  }
}

/** Rejects with NotRestored where this version cannot start with these data; its own format is `own`. */
export function refuseOtherData({ facts, files }: Opened, own: number): void {
  for (const { name, bytes } of files) {
    const text = /^data\/(?:[a-z0-9_-]+\/)?format$/.test(name) ? textOf(bytes).trim() : "";
    const format = /^\d{1,9}$/.test(text) ? Number(text) : own;
    if (format > own)
      throw new NotRestored(
        msg`the data in this backup are of a newer version (${facts.version}): install that version or a newer one, and restore it there`,
      );
    if (format < own)
      throw new NotRestored(
        msg`the data in this backup are of a version before the first release (${facts.version}), which this one does not read: restore it with that version`,
      );
  }
}

export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");

export const bytesIn = (files: readonly Packed[], wanted: string): Uint8Array | undefined =>
  files.find(({ name }) => name === wanted)?.bytes;

/** Names of the accounts, in the order of the backup. */
export const accountsIn = (files: readonly Packed[]): readonly string[] =>
  files.flatMap(({ name }) => {
    const [, account = ""] = /^accounts\/([a-z0-9_-]+)\.yaml$/.exec(name) ?? [];
    return account === "" || account === "secrets" ? [] : [account];
  });

/** The text of a file in the backup; empty where it is missing. */
export const textIn = ({ files }: Opened, name: string): string =>
  textOf(bytesIn(files, name) ?? new Uint8Array());
