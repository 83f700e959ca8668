import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/logger.js";
import type { FileSystem } from "./file-system.js";
import type { JournalLimits } from "./limits.js";

export interface JournalOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits?: Partial<JournalLimits>;
  /** Random id of this run; made when absent. */
  readonly boot?: string;
  /** Whether the wall clock agrees with the platform's; null while unknown. Asked for every record. */
  readonly clockSynced?: () => boolean | null;
  readonly files?: FileSystem;
  /**
   * Asked before files are changed for the first time and after every failure; rejects while they may not be: with DirectoryInUse
   * where another process changes them.
   */
  readonly admit?: () => Promise<void>;
  /** Resolves when what was appended so far may be written; at the end of the current task when absent. */
  readonly turn?: () => Promise<void>;
}

export interface JournalState {
  readonly available: boolean;
  /** A sentence with the remedy, null while available. */
  readonly reason: string | null;
  /** Of the newest record. */
  readonly sequence: number;
  readonly bytes: number;
  /** Broken lines found when the files were last read. */
  readonly unreadable: number;
  /** The newest failure, also after it is over. */
  readonly lastError: { readonly code: string; readonly message: string; readonly at: string } | null;
}
