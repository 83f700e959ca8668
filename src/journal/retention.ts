import type { JournalLimits } from "./limits.js";
import type { SegmentName } from "./segment-names.js";

export interface SegmentSize extends SegmentName {
  readonly bytes: number;
  readonly modifiedAt: number;
}

/** A flood fills these: what was sent before is kept as if they were always full. */
const newest = 2;

/**
 * The files to delete, oldest first. The last of `segments` is being written and never among them. Age alone deletes
 * only while the clock is trusted: a clock ten years ahead must not empty the journal. For their size none are deleted
 * while some may still be stripped.
 */
export function segmentsToDelete(
  segments: readonly SegmentSize[],
  clock: { readonly now: number; readonly trusted: boolean },
  limits: Pick<JournalLimits, "fileBytes" | "totalBytes" | "ageMs" | "youngMs">,
  isStripped: (path: string) => boolean = () => true,
): readonly SegmentSize[] {
  const older = segmentsToStrip(segments);
  const bySize = older.every(({ path }) => isStripped(path));
  let total = older.reduce((sum, segment) => sum + segment.bytes, newest * limits.fileBytes);
  const doomed: SegmentSize[] = [];
  for (const segment of segments.slice(0, -1)) {
    const age = clock.now - segment.modifiedAt;
    const isOver = total > limits.totalBytes && (age > limits.youngMs || total > 2 * limits.totalBytes);
    const tooOld = clock.trusted && age > limits.ageMs;
    if (!(bySize && isOver) && !tooOld) break;
    doomed.push(segment);
    total -= segment.bytes;
  }
  return doomed;
}

/** Those that no start has to read. */
export const segmentsToStrip = (segments: readonly SegmentSize[]): readonly SegmentSize[] =>
  segments.slice(0, -newest);
