import { mkdir, writeFile } from "node:fs/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { join } from "node:path";
import { expect, onTestFinished, vi } from "vitest";
import { brokerAndClient, platform } from "../../bridge/support/bridge.js";
import { hashOf } from "../../../src/runtime/hash.js";
import { logged, startProcess } from "../../bridge/support/program.js";
import type { Program } from "../../end-to-end/support/program.js";
import { tempFolder, until } from "../../mqtt-connection/support.js";
import type { NatsCluster } from "../../support/nats.js";
import { freePort } from "../../support/mosquitto.js";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.js";

/* Members of a cluster as built programs, at real NATS servers, with one simulated platform and one broker. */

const topicOf = (actuator: string): string => `greenhouse/gh-0001/actuator/${actuator}`;
const resultTopic = `${topicOf("fan")}/result`;
export const journal = "test_greenhouse2mqtt";

export interface Member {
  readonly name: string;
  readonly folder: string;
  /** The port of its page. */
  readonly port: number;
  readonly proxies: readonly TcpProxy[];
  /** Its proxy to the broker. */
  readonly broker: TcpProxy;
  /** Its proxies to the platform, if `startMember` started the program. */
  readonly platform: readonly TcpProxy[];
  program: Program;
}

const portOf = (url: string): number => Number(new URL(url).port);

async function proxyTo(port: number, heardOf?: (bytes: Buffer) => void): Promise<TcpProxy> {
  const proxy = await startTcpProxy(port, heardOf);
  onTestFinished(() => proxy.close());
  return proxy;
}

interface HeardPost {
  /** The member that the token belongs to. */
  readonly member: number;
  readonly address: string;
  /** By `performance.now`. */
  readonly at: number;
}

/** Records who sends a value to the platform; each member has a token of its own. */
function heard(posts: HeardPost[], request: string): void {
  const [, member] = /^POST \/[^ ]*set-value[^]*member-(\d)/.exec(request) ?? [];
  const [, address = ""] = /"address":"?(\d+)/.exec(request) ?? [];
  if (member !== undefined) posts.push({ member: Number(member), address, at: performance.now() });
  else if (address !== "") {
    // The body came separately from its head.
    const head = posts.at(-1);
    if (head?.address === "") posts.splice(-1, 1, { ...head, address });
  }
}

/**
 * Redirects connections to some ports to other ports, like one computer's network, as members share one configuration.
 */
const throughPorts = (ports: Readonly<Record<number, number>>) => `
  import net from "node:net";
  const { connect } = net.Socket.prototype;
  const ports = ${JSON.stringify(ports)};
  net.Socket.prototype.connect = function (...given) {
    const normal = Array.isArray(given[0]) ? given[0] : given;
    const [options] = normal;
    if (ports[options?.port] !== undefined) normal[0] = { ...options, port: ports[options.port] };
    return connect.apply(this, given);
  };
`;

/** Starts a member whose lines to the platform can be cut separately. */
const startMember = (
  folder: string,
  platform: readonly TcpProxy[],
  toPlatform: readonly { readonly proxy: TcpProxy }[],
): Program =>
  startProcess({
    folder,
    before: throughPorts(
      Object.fromEntries(toPlatform.map(({ proxy }, n) => [proxy.port, platform[n]?.port ?? 0])),
    ),
  });

/**
 * Members with one configuration, at three NATS servers, each through lines of its own that can be cut. `control`: the
 * deadline of a POST; a short one makes a test faster.
 */
export async function clusterOf(count: number, nats: NatsCluster, control = "2s") {
  const broker = await brokerAndClient();
  const posts: HeardPost[] = [];
  const simulator = await platform();
  const toPlatform = await Promise.all(
    [simulator.businessUrl, simulator.realtimeUrl].map(async (url) => {
      const proxy = await proxyTo(portOf(url), (bytes) => heard(posts, bytes.toString("latin1")));
      return { proxy, url: `http://127.0.0.1:${proxy.port}` };
    }),
  );
  const made: Omit<Member, "program">[] = [];
  for (let n = 0; n < count; n += 1) {
    const folder = await tempFolder();
    const port = await freePort();
    const proxies = await Promise.all(nats.servers.map(({ port }) => proxyTo(port)));
    const toBroker = await proxyTo(portOf(broker.url));
    const own = await Promise.all(toPlatform.map(({ proxy }) => proxyTo(proxy.port)));
    simulator.control.acceptToken(`member-${n}`);
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, "config.yaml"),
      JSON.stringify({
        platform: {
          business_url: toPlatform[0]?.url,
          realtime_url: toPlatform[1]?.url,
          token: `member-${n}`,
          requests_per_minute: 0,
          timeouts: { control, read: "5s" },
        },
        mqtt: { url: `mqtt://127.0.0.1:${toBroker.port}` },
        http: { port },
        homeassistant: { enabled: false },
        polling: { sensors: "1s", actuators: "1s" },
        controllers: {
          "GH-0001": {
            actuators: {
              fan: { kind: "circulation_fan", address: "150", settle: "0s" },
              roller: {
                kind: "motor",
                address: "300",
                values: { open: "00000001", close: "00000010", stop: "00000100" },
              },
            },
          },
        },
        cluster: { nats: proxies.map(({ port }) => `nats://127.0.0.1:${port}`), name: "test" },
      }),
      { mode: 0o600 },
    );
    made.push({ name: `member ${n}`, folder, port, proxies, broker: toBroker, platform: own });
  }
  // All start at once: the account goes to the first in order, and is not handed back to it half a minute later.
  const members = made.map((one) => ({ ...one, program: startMember(one.folder, one.platform, toPlatform) }));
  return { ...broker, simulator, members, posts, toPlatform: toPlatform.map(({ proxy }) => proxy) };
}

export type Cluster = Awaited<ReturnType<typeof clusterOf>>;

export const claims = "this member has claimed the account";

/** Of the running members the one that claimed last. */
export async function ownerOf({ members }: Cluster, but: Member | null = null): Promise<Member> {
  const isOwner = ({ program }: Member) => {
    const { stderr } = program;
    return stderr.lastIndexOf(claims) > stderr.lastIndexOf("this member runs the account no more");
  };
  const find = () => members.find((one) => one !== but && !one.program.hasEnded && isOwner(one));
  await until(
    () => find() !== undefined,
    "claimed",
    members.map(({ program }) => program.stderr.slice(-2_000)),
  );
  return find() ?? Promise.reject(new Error("no owner"));
}

/** The owner, once the member that is first in order has the account, which goes there after half a minute. */
export async function settledOwner(cluster: Cluster): Promise<Member> {
  const weight = ({ program }: Member) =>
    hashOf(`greenhouse2mqtt/${String(logged(program, "is a member of the cluster")?.["member"])}`);
  const [first] = cluster.members.toSorted((one, other) => weight(other) - weight(one));
  await expect.poll(() => ownerOf(cluster), { timeout: 60_000 }).toBe(first);
  return ownerOf(cluster);
}

/** Repeats the request while the servers have no leader. */
async function streamIn({ servers }: NatsCluster, stream: string) {
  const link = await connect({ servers: servers.map(({ port }) => `127.0.0.1:${port}`) });
  const info = async () => (await jetstreamManager(link)).streams.info(stream);
  const told = await vi.waitFor(info, { timeout: 50_000, interval: 200 });
  await link.close();
  return told;
}

/** The number of its newest entry. */
export const lengthOf = async (nats: NatsCluster, stream: string): Promise<number> =>
  (await streamIn(nats, stream)).state.last_seq;

/** The server that leads a stream, once there is one. */
export const leaderOf = (nats: NatsCluster, stream: string): Promise<NatsCluster["servers"][number]> =>
  vi.waitFor(
    async () => {
      const { cluster } = await streamIn(nats, stream);
      const leader = nats.servers.find(({ name }) => name === cluster?.leader);
      return leader ?? Promise.reject(new Error(`no server is called ${String(cluster?.leader)}`));
    },
    { timeout: 50_000, interval: 500 },
  );

let sent = 0;

export async function sendOnce(
  { say }: Pick<Cluster, "say">,
  actuator: string,
  word: string,
): Promise<string> {
  sent += 1;
  const id = `c${sent}`;
  await say(`${topicOf(actuator)}/set`, { command: word, id });
  return id;
}

/** A refused sender may ask again, but at most 60 times in a minute. */
const sendAgainMs = 1_050;

/** Sends until a command is accepted; refused ones end meanwhile. Resolves with the time it took. */
export async function commandTaken(cluster: Cluster, word: string): Promise<number> {
  const from = performance.now();
  for (;;) {
    const began = performance.now();
    const id = await sendOnce(cluster, "fan", word);
    const told = () => cluster.json(resultTopic).find((one) => one["id"] === id);
    while (told() === undefined && performance.now() < began + 4_000)
      await new Promise((resolve) => setTimeout(resolve, 50));
    const { outcome, reason } = told() ?? {};
    if (outcome === "confirmed" || outcome === "already") return performance.now() - from;
    const logs = () => cluster.members.map(({ program }) => program.stderr.slice(-3_000)).join("\n---\n");
    if (reason === "overloaded") throw new Error("the test sends too much, so that its figure means nothing");
    if (performance.now() - from > 70_000) throw new Error(`no command was taken; ${logs()}`);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + sendAgainMs - performance.now())));
  }
}

/** The time from now until another member has read and published something. */
export async function firstReading({ seen }: Cluster): Promise<number> {
  const from = performance.now();
  const before = seen.length;
  await until(() => seen.slice(before).some(({ topic }) => topic.includes("/sensor/")), "a reading");
  return performance.now() - from;
}

/** Drops everything silently until it is mended. */
export const cutLines = (lines: readonly TcpProxy[], isCut: boolean) =>
  Promise.all(
    lines.map(async (proxy) => {
      await proxy.manner(isCut ? "black_hole" : "pass");
      if (isCut) proxy.deafen("both");
      else proxy.cut();
    }),
  );

export const cutFromNats = ({ proxies }: Member, isCut: boolean) => cutLines(proxies, isCut);

export const resultsOf = ({ json }: Cluster) =>
  ["fan", "roller"].flatMap((one) => json(`${topicOf(one)}/result`));

/** Every result of a command has the same outcome, and only one is not marked as repeated. */
export function judgeResults(cluster: Cluster): void {
  const told = new Map<unknown, { readonly outcomes: Set<unknown>; news: number }>();
  for (const { id, outcome, repeated } of resultsOf(cluster)) {
    const one = told.get(id) ?? { outcomes: new Set(), news: 0 };
    one.outcomes.add(outcome);
    if (repeated !== true) one.news += 1;
    told.set(id, one);
  }
  for (const [id, { outcomes, news }] of told) {
    expect([...outcomes], String(id)).toHaveLength(1);
    expect(news, String(id)).toBeLessThanOrEqual(1);
  }
}
