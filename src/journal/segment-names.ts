import { join } from "node:path";
import type { FileSystem } from "./file-system.js";

/** A file of the journal, named after the first sequence number it may hold. */
export interface SegmentName {
  readonly path: string;
  readonly first: number;
}

const pattern = /^journal-(\d{1,16})\.jsonl$/;
const corruptPattern = /^journal-\d{1,16}\.jsonl\.corrupt-\d+$/;

/** Padded so that a shell's `cat journal-*.jsonl` keeps the order. */
export const segmentPath = (directory: string, first: number): string =>
  join(directory, `journal-${String(first).padStart(12, "0")}.jsonl`);

export async function listSegments(files: FileSystem, directory: string): Promise<readonly SegmentName[]> {
  const found: SegmentName[] = [];
  for (const name of await files.list(directory)) {
    const first = Number(pattern.exec(name)?.[1] ?? Number.NaN);
    if (Number.isSafeInteger(first)) found.push({ path: join(directory, name), first });
  }
  return found.sort((a, b) => a.first - b.first);
}

/** Files set aside as wholly corrupt, oldest first. */
export async function listCorrupt(files: FileSystem, directory: string): Promise<readonly string[]> {
  const names = (await files.list(directory)).filter((name) => corruptPattern.test(name));
  return names.sort().map((name) => join(directory, name));
}
