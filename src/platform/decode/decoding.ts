import type { ReadTime } from "../platform-time.js";
import type { ReportShape } from "../shape-reports.js";

/** What every decoder is given beside the answer. The operation's shape is known before, once. */
export interface Decoding {
  readonly report: ReportShape;
  readonly readTime: ReadTime;
  /** Epoch ms. */
  readonly receivedAt: number;
}

/** An answer as a whole is not what the operation returns. */
export class UnreadableShape extends Error {
  override name = "UnreadableShape" as const;
}
