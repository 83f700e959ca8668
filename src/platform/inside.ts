import type { PlatformHost } from "../greenhouse/ports.js";
import type { Clock, Random } from "../runtime/clock.js";
import type { Files } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { Names } from "../runtime/host-names.js";
import type { Redact } from "../runtime/redaction.js";
import type { RequestBudget } from "../runtime/schedule.js";
import type { ZoneOffset } from "../runtime/zone.js";
import type { PushTally, ShapeReports, Tally } from "./counters.js";
import type { HostWay } from "./http.js";
import type { HostLinks } from "./links.js";
import type { Blank, CredentialSource } from "./session/credential.js";
import type { ClockSkew, ReadTime } from "./time.js";

/** Called with a request and device whose answer may belong to another request. */
export type OnMixedUp = (request: string, device: string | undefined) => void;

/** What the parts of a client share; each part names what it uses. */
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
  /** Hides secrets in other people's words. */
  readonly redact: Redact;
  /** Hides secrets in our own sentences. */
  readonly redactLine: Redact;
  readonly blank: Blank;
  readonly tally: Tally;
  readonly pushTally: PushTally;
  readonly reports: ShapeReports;
  readonly frameReports: ShapeReports;
}
