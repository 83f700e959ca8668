import { ignored, nullIfFailed } from "../runtime/failures.js";
import { join } from "node:path";
import type { Clock } from "../runtime/clock.js";
import type { FileSystem } from "../runtime/file-system.js";
import type { StreamStore } from "./stream-store.js";

/**
 * Small files of an account that its next owner needs too. `at_once`: a change counts as written only once the stream
 * has it. `slow`: these change with every reading, so the stream gets them each minute, and once more at the end.
 */
const paces: Readonly<Record<string, "at_once" | "slow">> = {
  "platform-session.json": "at_once",
  "homeassistant-withdrawn.json": "at_once",
  "absent-controllers.json": "at_once",
  "addresses-seen.json": "at_once",
  "notified.json": "at_once",
  "readings-pending.json": "slow",
  "guards-told.json": "at_once",
  "sparkplug.json": "at_once",
  "page-users.json": "at_once",
  "sessions.json": "at_once",
  "run-times.json": "slow",
  "daily.json": "slow",
};

export const stateFiles: readonly string[] = Object.keys(paces);

export const isKeptAtOnce = (name: string): boolean => paces[name] === "at_once";

const lookEveryMs = 5_000;
const looksBetweenSlow = 12;

interface Noting {
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly dataDir: string;
  readonly store: Pick<StreamStore, "keepNoteFile" | "keepCopy">;
}

/**
 * Brings changed files into the stream, and notes how far the copy here goes; until the signal aborts, and once more
 * after that.
 */
export async function keepStateFiles(noting: Noting, signal: AbortSignal): Promise<void> {
  const kept = new Map<string, string>();
  await lookAt(noting, kept, stateFiles, false);
  for (let look = 1; !signal.aborted; look += 1) {
    await noting.clock.wait(lookEveryMs, signal).catch(ignored);
    const isForAll = look % looksBetweenSlow === 0;
    await lookAt(noting, kept, isForAll ? stateFiles : stateFiles.filter(isKeptAtOnce), true);
  }
  await lookAt(noting, kept, stateFiles, true);
}

/** `isKept` is false at the start, when the files are what the stream has. */
async function lookAt(
  { files, dataDir, store }: Noting,
  kept: Map<string, string>,
  names: readonly string[],
  isKept: boolean,
): Promise<void> {
  for (const name of names) {
    const path = join(dataDir, name);
    const facts = await files.facts(path).catch(nullIfFailed);
    if (facts === null) continue;
    const version = `${facts.modifiedAt} ${facts.bytes}`;
    if (kept.get(name) === version) continue;
    try {
      if (isKept) await store.keepNoteFile(name);
      kept.set(name, version);
    } catch {
      // The stream does not take it now; the next look tries again.
    }
  }
  // Without this a loss is noticed later, or not at all.
  await store.keepCopy().catch(ignored);
}
