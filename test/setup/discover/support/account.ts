import { createServer } from "node:http";
import type { Configuration } from "../../../../src/config/schema.js";
import type { Simulator } from "../../../../src/simulator/simulator.js";
import { type Ended, fileWith, greenhouse2mqtt as inProcess } from "../../../cli/in-process.js";
import { loaded } from "../../../config/loading.js";
import { passer, portOf } from "../../doctor/support/front.js";

export const token = { GREENHOUSE_TOKEN: "token-of-the-account" };

/** The command against a simulated platform over real HTTP, with the account's token. */
export const greenhouse2mqtt = (
  argv: readonly string[],
  call: Parameters<typeof inProcess>[1] = {},
): Promise<Ended> => inProcess(argv, { env: token, ...call });

/** A configuration that leads to a simulator and says nothing else, unless told; returns its path. */
export const configuration = (
  { businessUrl, realtimeUrl }: Simulator | WatchedPlatform,
  { platform = "  requests_per_minute: 0", more = "" } = {},
): Promise<string> =>
  fileWith(
    `platform:\n  business_url: ${businessUrl}\n  realtime_url: ${realtimeUrl}\n  token: !env GREENHOUSE_TOKEN\n${platform}\n${more}`,
  );

/** What the program makes of a text; throws with every problem where it makes nothing of it. */
export const loadedText = async (
  text: string,
  env: Readonly<Record<string, string>> = token,
): Promise<Configuration> => (await loaded(text, { env })).configuration;

/** Flushes the platform was asked for. */
export const flushes = (simulator: Simulator): number => simulator.control.requests()["set-value/flush"] ?? 0;

/** Operations that are no reads. */
export function writes(simulator: Simulator): readonly string[] {
  const counts = simulator.control.requests();
  return (["set-value", "GET set-value", "unknown"] as const).filter((name) => (counts[name] ?? 0) > 0);
}

interface SeenRequest {
  /** Path and query. */
  readonly target: string;
}

export interface WatchedPlatform {
  readonly businessUrl: string;
  readonly realtimeUrl: string;
  readonly seen: readonly SeenRequest[];
  /** Called for each request, before it is passed on. */
  onRequest: (seen: SeenRequest) => void;
}

/** A way to a simulated platform on which every request can be seen, whatever the platform makes of it. */
export async function watched(simulator: Simulator): Promise<WatchedPlatform> {
  const seen: SeenRequest[] = [];
  const pass = passer(simulator.businessUrl);
  const server = createServer((incoming, outgoing) => {
    const one = { target: incoming.url ?? "" };
    seen.push(one);
    platform.onRequest(one);
    pass(incoming, outgoing);
  });
  const url = `http://127.0.0.1:${await portOf(server)}`;
  const platform: WatchedPlatform = { businessUrl: url, realtimeUrl: url, seen, onRequest: () => undefined };
  return platform;
}

export const isFlush = ({ target }: SeenRequest): boolean => target.startsWith("/api/set-value/flush");
