import type { Configuration } from "../../config/schema.js";
import type { Check as CheckOf } from "../../feature/doctor.js";
import type { DeviceRecord, Query } from "../../greenhouse/ports.js";
import type { PlatformClient, PlatformPorts } from "../../platform/client.js";
import type { Names } from "../../runtime/host-names.js";
import type { BrokerClient } from "../../beside/broker-client.js";
import type { Verdict } from "./finding.js";

export const defaultLimits = {
  checkMs: 25_000,
  totalMs: 180_000,
  /** How long to listen to a push channel. */
  frameMs: 5_000,
  /** How long a message of ours may take through the broker. */
  roundTripMs: 3_000,
  connectMs: 8_000,
};
export type DoctorLimits = Readonly<typeof defaultLimits>;

/** What earlier checks leave for later ones. */
interface Evidence {
  controllers: readonly DeviceRecord[];
  devices: readonly DeviceRecord[];
  swapped: Promise<boolean> | null;
  channels: readonly Promise<Verdict>[] | null;
  broker: BrokerClient | null;
  /** The link to the broker has the rights of any client, not the bridge's. */
  isGuest: boolean;
  /** Whether `bridge/state` at the broker says that a bridge is online; null while unknown. */
  bridgeOnline: boolean | null;
  endings: (() => Promise<void>)[];
}

export interface DoctorContext {
  readonly configuration: Configuration;
  /** The account's name in a fleet. */
  readonly account?: string | undefined;
  readonly ports: Pick<PlatformPorts, "clock" | "random" | "log" | "files">;
  readonly limits: DoctorLimits;
  readonly platform: PlatformClient;
  /** Shared, so that each host is looked up once. */
  readonly names: Names;
  /** Answers of the platform, by question. */
  readonly answers: Map<string, RawAnswer>;
  readonly evidence: Evidence;
}

export type Check = CheckOf<DoctorContext>;

/** A parsed answer of the platform, otherwise unchanged. */
export interface RawAnswer {
  /** `sensor-data`, `control/mqtt`, … */
  readonly operation: string;
  /** Named as in the interface document. */
  readonly query: Query;
  /** Epoch ms. */
  readonly receivedAt: number;
  readonly body: unknown;
}

/** Asks the platform each question once only. Rejects with a PlatformError. */
export async function ask(
  { platform, ports, answers }: DoctorContext,
  operation: string,
  query: Query,
  signal: AbortSignal,
): Promise<RawAnswer> {
  const key = JSON.stringify([operation, query]);
  const known = answers.get(key);
  if (known !== undefined) return known;
  const body = await platform.get(operation, query, signal);
  const answer = { operation, query, receivedAt: ports.clock.now(), body };
  answers.set(key, answer);
  return answer;
}
