import type { Socket } from "node:net";
import { inspect } from "node:util";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { PlatformError, type PlatformErrorFacts } from "../../../src/greenhouse/ports.js";
import type { HostLink } from "../../../src/platform/links.js";
import { createPlatform, type PlatformClient, type PlatformPorts } from "../../../src/platform/client.js";
import type { PlatformSettings } from "../../../src/platform/settings.js";
import { systemClock } from "../../../src/runtime/clock.js";
import { type Answerer, type FakeHost, type RawHost, startFakeHost, startRawHost } from "./hosts.js";

export { tempFolder as folder } from "../../mqtt-connection/support.js";

export interface ClientUnderTest {
  readonly client: PlatformClient;
  readonly links: readonly HostLink[];
  /** Log lines as JSON text. */
  readonly lines: readonly string[];
}

export const settingsFor = (url: string, over: Partial<PlatformSettings> = {}): PlatformSettings => ({
  business_url: url,
  realtime_url: url,
  time_zone: "Asia/Shanghai",
  timeouts: { connect: 1_000, read: 5_000, control: 5_000 },
  concurrency: 4,
  requests_per_minute: 0,
  shapes: {},
  push: { enabled: true, credential: "header", subscribe: {}, query_name: "token" },
  ...(over.token_file === undefined && over.sign_in === undefined ? { token: "test-token" } : {}),
  ...over,
});

/** Closed when the test is over. */
export function makeClient(settings: PlatformSettings, ports: Partial<PlatformPorts> = {}): ClientUnderTest {
  const links: HostLink[] = [];
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  const client = createPlatform(settings, {
    clock: systemClock,
    random: () => 0,
    log,
    dataDir: "/nonexistent/never-written",
    onLink: (link) => links.push(link),
    ...ports,
  });
  onTestFinished(() => client.close());
  return { client, links, lines };
}

/** A host that answers like this, and a client of it. */
export async function hosted(
  answerer?: Answerer,
  over?: Partial<PlatformSettings>,
  ports?: Partial<PlatformPorts>,
): Promise<ClientUnderTest & { readonly host: FakeHost }> {
  const host = await startFakeHost(answerer);
  return { host, ...makeClient(settingsFor(host.url, over), ports) };
}

/** The same with a host below HTTP. */
export async function rawHosted(
  converse: (socket: Socket, text: string) => void,
  over?: Partial<PlatformSettings>,
  ports?: Partial<PlatformPorts>,
): Promise<ClientUnderTest & { readonly host: RawHost }> {
  const host = await startRawHost(converse);
  return { host, ...makeClient(settingsFor(host.url, over), ports) };
}

export const never = new AbortController().signal;

/** The PlatformError a call ends with; fails the test when it does not. */
export async function failureOf(call: Promise<unknown>): Promise<PlatformError> {
  try {
    const value = await call;
    throw new Error(`expected a PlatformError, got ${inspect(value)}`);
  } catch (error) {
    if (error instanceof PlatformError) return error;
    throw error;
  }
}

export const factsOf = async (call: Promise<unknown>): Promise<PlatformErrorFacts> =>
  (await failureOf(call)).facts;

/** A promise and its ends, for tests that hold an answer back. */
export function gate<T = void>(): { readonly opened: Promise<T>; readonly open: (value: T) => void } {
  let open: (value: T) => void = () => undefined;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
