import type { CommandRules } from "../commands/command.js";
import type { CommandService } from "../commands/service.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { PlatformWriter } from "../greenhouse/ports.js";
import type { GroupsAndScenes } from "../greenhouse/groups.js";
import type { SensorKind } from "../greenhouse/sensors.js";
import type { Journal } from "../journal/journal.js";
import type { Connection, Part } from "../mqtt/connection.js";
import type { Embedded } from "../mqtt/connection/settings.js";
import type { Outputs } from "../mqtt/outputs.js";
import type { RequestHandler } from "../mqtt/requests.js";
import type { RetainedTopics } from "../mqtt/retained-topics.js";
import type { bridgeRequests, Topics } from "../mqtt/topics.js";
import type { PlatformClient } from "../platform/client.js";
import type { TextFile } from "../runtime/file-system.js";
import type { Clock, Random } from "../runtime/clock.js";
import type { Gaps } from "../runtime/gaps.js";
import type { Logger } from "../runtime/log.js";
import type { Registry } from "../runtime/metrics.js";
import type { CoreConfiguration } from "../settings/sections/core.js";
import type { Mirror } from "../sync/mirror.js";

/** What every bridge has, and what features are made from. */
export interface Core {
  readonly configuration: CoreConfiguration;
  readonly version: string;
  readonly clock: Clock;
  readonly gaps: Gaps;
  readonly random: Random;
  readonly log: Logger;
  /** Aborts when the bridge is to end. */
  readonly signal: AbortSignal;
  /** A small file of the data directory. */
  readonly file: (name: string) => TextFile;
  /** Rejects where another folder shows in the place of the data directory, so that nothing is written there. */
  readonly inPlace: () => Promise<void>;
  readonly journal: Journal;
  /** Null where another broker is configured. */
  readonly broker: (Embedded & { readonly port: number }) | null;
  readonly topics: Topics;
  readonly connection: Connection;
  readonly onEvent: (event: BridgeEvent) => void;
  /** Has a listener told of each event. */
  readonly listenToEvents: (listener: (event: BridgeEvent) => void) => void;
  readonly platform: PlatformClient;
  readonly mirror: Mirror;
  /** The keeper of everything retained. */
  readonly retained: RetainedTopics;
  readonly outputs: Outputs;
  readonly commands: CommandService;
  /** What rules commands now. */
  readonly rules: () => CommandRules;
  /** As they are now; the same object until the configuration is read again. */
  readonly groupsAndScenes: () => GroupsAndScenes;
  /** All that the configuration calls secret. */
  readonly secrets: () => readonly string[];
  /** Where the page is for other machines, and the kinds of sensors that people see first. */
  readonly page: { readonly url: string | undefined; readonly kinds: readonly SensorKind[] };
  /** Null where no other machine may run the bridge. */
  readonly ownership: Ownership | null;
  /** Other accounts run in this process, and their bridges at the same broker. */
  readonly isOneOfMany: boolean;
}

/** What a member of a cluster may do while it owns the account, and what it is told. */
export interface Ownership {
  /** The member that this is. */
  readonly member: string;
  /** For so long a POST may be under way. */
  readonly controlMs: number;
  /** Whether a POST may leave at this moment. */
  readonly mayPost: () => boolean;
  /**
   * To be called as the first byte of a POST leaves, with whether the journal has it; what it returns, once the platform has answered.
   */
  readonly postBegins: (isRecorded: boolean) => () => void;
  /** A sentence, why no commands are taken, of that target or of any; null where they are. */
  readonly commandsProblem: (lane?: string) => string | null;
  /** The journal was read: to these targets alone a POST of the owner before may be under way. */
  readonly foundUnderWay: (lanes: ReadonlySet<string>) => void;
  /** A sentence while nobody confirms that the account is run here; null otherwise. */
  readonly alarm: () => string | null;
  /** Ms since the lease was confirmed. */
  readonly leaseAgeMs: () => number;
  /** Aborts when links are to end at once, and not to be made again: another member has the account. */
  readonly cut: AbortSignal;
  /** What the account does not reach now. */
  readonly lack: (lacked: readonly ("broker" | "platform")[]) => void;
  /** The link to the broker is lost. Without a lease it may be another member that is connected now. */
  readonly linkLost: () => void;
  readonly metrics: () => Registry;
  /** The platform, to which control values are sent under the lease alone. */
  readonly underLease: <Platform extends PlatformWriter>(platform: Platform) => Platform;
}

/** A request on `bridge/request/<name>`: its name, the fields it knows and what answers it. */
export type RequestRow = readonly [
  name: (typeof bridgeRequests)[number],
  fields: string,
  handler: RequestHandler,
];

/** A feature that was made. */
export interface Running {
  /** Hears of each link, and is asked whether a message is its own, at its place of the list in bridge.ts. */
  readonly part?: Part;
  /** A further link to the broker, which ends with the bridge's own. */
  readonly link?: Part;
  /** Takes up what earlier runs left, before any part runs. */
  readonly restore?: () => Promise<void>;
  /** The configuration was read again: takes up what of it counts at once. */
  readonly reload?: () => void;
  /** What health tells under the name of the feature. */
  readonly facts?: () => object | null;
  /** What `/metrics` shows of it. */
  readonly metrics?: () => Registry;
  readonly requests?: readonly RequestRow[];
}
