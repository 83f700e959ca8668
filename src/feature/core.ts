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

/** What every bridge has, from which features are made. */
export interface Core {
  readonly configuration: CoreConfiguration;
  readonly version: string;
  readonly clock: Clock;
  readonly gaps: Gaps;
  readonly random: Random;
  readonly log: Logger;
  /** Aborts when the bridge has to end. */
  readonly signal: AbortSignal;
  /** A small file of the data directory. */
  readonly file: (name: string) => TextFile;
  /** Rejects if another folder is mounted over the data directory, so that nothing is written there. */
  readonly inPlace: () => Promise<void>;
  readonly journal: Journal;
  /** Null where another broker is configured. */
  readonly broker: (Embedded & { readonly port: number }) | null;
  readonly topics: Topics;
  readonly connection: Connection;
  readonly onEvent: (event: BridgeEvent) => void;
  /** Registers a listener for all events. */
  readonly listenToEvents: (listener: (event: BridgeEvent) => void) => void;
  readonly platform: PlatformClient;
  readonly mirror: Mirror;
  /** The bridge's retained topics. */
  readonly retained: RetainedTopics;
  readonly outputs: Outputs;
  readonly commands: CommandService;
  /** The rules for commands now in force. */
  readonly rules: () => CommandRules;
  /** Groups and scenes now in force; the same object until the configuration is read again. */
  readonly groupsAndScenes: () => GroupsAndScenes;
  /** All secrets of the configuration. */
  readonly secrets: () => readonly string[];
  /** The page's address for other machines, and the kinds of sensors that people see first. */
  readonly page: { readonly url: string | undefined; readonly kinds: readonly SensorKind[] };
  /** Null where no other machine may run the bridge. */
  readonly ownership: Ownership | null;
  /** Whether the process runs further accounts, whose bridges use the same broker. */
  readonly isOneOfMany: boolean;
}

/** A cluster member's right to act for the account, and what it has to learn. */
export interface Ownership {
  /** The name of this member. */
  readonly member: string;
  /** The longest time that a POST may take, in ms. */
  readonly controlMs: number;
  /** Whether a POST may be sent now. */
  readonly mayPost: () => boolean;
  /**
   * Called when the first byte of a POST leaves, with whether the journal has it. The returned function is called when
   * the platform has answered.
   */
  readonly postBegins: (isRecorded: boolean) => () => void;
  /** A sentence about why commands are not accepted, for one target or at all; null where they are. */
  readonly commandsProblem: (lane?: string) => string | null;
  /** Called after the journal was read, with the targets for which the former owner's POST may be under way. */
  readonly foundUnderWay: (lanes: ReadonlySet<string>) => void;
  /** A sentence while nobody confirms that this member runs the account; null otherwise. */
  readonly alarm: () => string | null;
  /** Ms since the lease was last confirmed. */
  readonly leaseAgeMs: () => number;
  /** Aborts when another member has the account: links have to end at once and stay closed. */
  readonly cut: AbortSignal;
  /** Called with what the account cannot reach now. */
  readonly lack: (lacked: readonly ("broker" | "platform")[]) => void;
  /** Called when the link to the broker is lost. Without a lease another member may have taken it over. */
  readonly linkLost: () => void;
  readonly metrics: () => Registry;
  /** A platform client that sends control values only under the lease. */
  readonly underLease: <Platform extends PlatformWriter>(platform: Platform) => Platform;
}

/** A request on `bridge/request/<name>`: its name, its fields, and its handler. */
export type RequestRow = readonly [
  name: (typeof bridgeRequests)[number],
  fields: string,
  handler: RequestHandler,
];

/** A feature that was made. */
export interface Running {
  /** Hears of each link and is offered messages, in the order of the list in bridge.ts. */
  readonly part?: Part;
  /** A further link to the broker, which ends with the bridge's own. */
  readonly link?: Part;
  /** Restores what earlier runs left, before any part runs. */
  readonly restore?: () => Promise<void>;
  /** Takes over settings that count at once, after the configuration was read again. */
  readonly reload?: () => void;
  /** Facts for health, under the name of the feature. */
  readonly facts?: () => object | null;
  /** Metrics of the feature for `/metrics`. */
  readonly metrics?: () => Registry;
  readonly requests?: readonly RequestRow[];
}
