export interface JournalLimits {
  /** A file this large is closed and a new one begun. */
  readonly fileBytes: number;
  readonly totalBytes: number;
  readonly ageMs: number;
  /** Files written to within this time are kept although the total is passed, up to twice the total. */
  readonly youngMs: number;
  /** While the disk cannot be written, how often to try. */
  readonly retryMs: number;
  /** A record waiting longer than this for the disk makes the journal unavailable. */
  readonly stallMs: number;
  /** Records waiting for the disk at once; more are refused. */
  readonly waiting: number;
}

const day = 86_400_000;

export const journalLimits: JournalLimits = {
  fileBytes: 5 * 1024 * 1024,
  totalBytes: 50 * 1024 * 1024,
  ageMs: 90 * day,
  youngMs: day,
  retryMs: 15_000,
  stallMs: 10_000,
  waiting: 20_000,
};
