import type { PlatformHost } from "../greenhouse/ports.js";
import type { Clock, Random } from "../runtime/clock.js";
import type { Files } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { Names } from "../runtime/names.js";
import type { Redact } from "../runtime/redaction.js";
import type { RequestBudget } from "../runtime/schedule.js";
import type { ZoneOffset } from "../runtime/zone.js";
import type { PushTally, ShapeReports, Tally } from "./counters.js";
import type { HostWay } from "./http.js";
import type { HostLinks } from "./links.js";
import type { Blank, CredentialSource } from "./session/credential.js";
import type { ClockSkew, ReadTime } from "./time.js";

/** What this request was answered, about this device, may be the answer to another one. */
export type OnMixedUp = (request: string, device: string | undefined) => void;

/** What the parts of one client share; each names what it needs of it. */
export interface PlatformInside {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly files: Files;
  readonly names: Names;
  readonly hosts: Readonly<Record<PlatformHost, HostWay>>;
  readonly links: HostLinks;
  readonly budget: RequestBudget;
  readonly source: CredentialSource;
  readonly refusedCodes: ReadonlySet<string>;
  readonly onMixedUp: OnMixedUp | undefined;
  readonly skew: ClockSkew;
  readonly readTime: ReadTime;
  readonly offset: ZoneOffset;
  /** For what others say. */
  readonly redact: Redact;
  /** For sentences of our own. */
  readonly redactLine: Redact;
  readonly blank: Blank;
  readonly tally: Tally;
  readonly pushTally: PushTally;
  readonly reports: ShapeReports;
  readonly frameReports: ShapeReports;
}
