import type { JournalLimits } from "./limits.js";
import type { SegmentName } from "./segment-names.js";

export interface SegmentSize extends SegmentName {
  readonly bytes: number;
  readonly modifiedAt: number;
}

/**
 * The files to delete, oldest first. The last of `segments` is being written and never among them. Age alone deletes
 * only while the clock is trusted: a clock ten years ahead must not empty the journal.
 */
export function segmentsToDelete(
  segments: readonly SegmentSize[],
  clock: { readonly now: number; readonly trusted: boolean },
  limits: Pick<JournalLimits, "totalBytes" | "ageMs" | "youngMs">,
): readonly SegmentSize[] {
  let total = segments.reduce((sum, segment) => sum + segment.bytes, 0);
  const doomed: SegmentSize[] = [];
  for (const segment of segments.slice(0, -1)) {
    const age = clock.now - segment.modifiedAt;
    const tooMuch = total > limits.totalBytes && (age > limits.youngMs || total > 2 * limits.totalBytes);
    const tooOld = clock.trusted && age > limits.ageMs;
    if (!tooMuch && !tooOld) break;
    doomed.push(segment);
    total -= segment.bytes;
  }
  return doomed;
}
