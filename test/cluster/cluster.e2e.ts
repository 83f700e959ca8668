import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { brokerAndClient, platform } from "../bridge/support/bridge.js";
import { logged, startProcess } from "../bridge/support/program.js";
import type { Program } from "../end-to-end/support/program.js";
import { tempFolder, until } from "../mqtt-connection/support.js";
import { type NatsCluster, natsVersion, startNats } from "../support/nats.js";
import { freePort } from "../support/mosquitto.js";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.js";

if (natsVersion === null)
  console.log(
    "NOT RUN: members of a cluster at real NATS servers, as there is no nats-server on this computer",
  );

const topicOf = (actuator: string): string => `greenhouse/gh-0001/actuator/${actuator}`;
const set = `${topicOf("fan")}/set`;
const resultTopic = `${topicOf("fan")}/result`;
const journal = "test_greenhouse2mqtt";

interface Member {
  readonly name: string;
  readonly folder: string;
  /** Of its page. */
  readonly port: number;
  readonly proxies: readonly TcpProxy[];
  /** Its line to the broker. */
  readonly broker: TcpProxy;
  program: Program;
}

const portOf = (url: string): number => Number(new URL(url).port);

async function proxyTo(port: number, heardOf?: (bytes: Buffer) => void): Promise<TcpProxy> {
  const proxy = await startTcpProxy(port, heardOf);
  onTestFinished(() => proxy.close());
  return proxy;
}

interface HeardPost {
  /** The member whose token it bears. */
  readonly member: number;
}

/** Takes down who sends a value to the platform; each member has a token of its own. */
function heard(posts: HeardPost[], request: string): void {
  const [, member] = /^POST \/[^ ]*set-value[^]*member-(\d)/.exec(request) ?? [];
  if (member !== undefined) posts.push({ member: Number(member) });
}

/** Members with one configuration, at three NATS servers, each through lines of its own that can be cut. */
async function clusterOf(count: number, nats: NatsCluster) {
  const broker = await brokerAndClient();
  const posts: HeardPost[] = [];
  const simulator = await platform();
  const toPlatform = await Promise.all(
    [simulator.businessUrl, simulator.realtimeUrl].map(async (url) => {
      const proxy = await proxyTo(portOf(url), (bytes) => heard(posts, bytes.toString("latin1")));
      return { proxy, url: `http://127.0.0.1:${proxy.port}` };
    }),
  );
  const members: Member[] = [];
  for (let n = 0; n < count; n += 1) {
    const folder = await tempFolder();
    const port = await freePort();
    const proxies = await Promise.all(nats.servers.map(({ port }) => proxyTo(port)));
    const toBroker = await proxyTo(portOf(broker.url));
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
          timeouts: { control: "5s", read: "5s" },
        },
        mqtt: { url: `mqtt://127.0.0.1:${toBroker.port}` },
        http: { port },
        homeassistant: { enabled: false },
        polling: { sensors: "1s", actuators: "1s" },
        controllers: {
          "GH-0001": {
            actuators: {
              fan: { kind: "circulation_fan", address: "150", settle: "0s" },
              roller: { kind: "motor", address: "300", values: { open: "00000001", stop: "00000100" } },
            },
          },
        },
        cluster: { nats: proxies.map(({ port }) => `nats://127.0.0.1:${port}`), name: "test" },
      }),
      { mode: 0o600 },
    );
    const program = startProcess({ folder });
    members.push({ name: `member ${n}`, folder, port, proxies, broker: toBroker, program });
  }
  return { ...broker, simulator, members, posts, toPlatform: toPlatform.map(({ proxy }) => proxy) };
}

type Cluster = Awaited<ReturnType<typeof clusterOf>>;

const claims = "this member has claimed the account";

/** The member that claimed last, of those that run. */
async function ownerOf({ members }: Cluster, but: Member | null = null): Promise<Member> {
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

async function deleteStream({ servers }: NatsCluster, stream: string): Promise<void> {
  const link = await connect({ servers: servers.map(({ port }) => `127.0.0.1:${port}`) });
  await (await jetstreamManager(link)).streams.delete(stream);
  await link.close();
}

/** The server that leads a stream. */
async function leaderOf({ servers }: NatsCluster, stream: string): Promise<NatsCluster["servers"][number]> {
  const link = await connect({ servers: servers.map(({ port }) => `127.0.0.1:${port}`) });
  const { cluster } = await (await jetstreamManager(link)).streams.info(stream);
  await link.close();
  const leader = servers.find(({ name }) => name === cluster?.leader);
  return leader ?? Promise.reject(new Error(`no server is called ${String(cluster?.leader)}`));
}

let sent = 0;

/** Sends until one is taken: what is refused meanwhile ends so. Resolves with how long that took, and with its id. */
async function commandTaken({ say, json, members }: Cluster, word: string): Promise<number> {
  const from = performance.now();
  for (;;) {
    sent += 1;
    const id = `c${sent}`;
    await say(set, { command: word, id });
    const told = () => json(resultTopic).find((one) => one["id"] === id);
    const until_ = performance.now() + 4_000;
    while (told() === undefined && performance.now() < until_)
      await new Promise((resolve) => setTimeout(resolve, 50));
    const outcome = told()?.["outcome"];
    if (outcome === "confirmed" || outcome === "already") return performance.now() - from;
    if (performance.now() - from > 70_000)
      throw new Error(
        `no command was taken; ${members.map(({ program }) => program.stderr.slice(-3_000)).join("\n---\n")}`,
      );
  }
}

/** From now on until something was read and shown by another member. */
async function firstReading({ seen }: Cluster): Promise<number> {
  const from = performance.now();
  const before = seen.length;
  await until(() => seen.slice(before).some(({ topic }) => topic.includes("/sensor/")), "a reading");
  return performance.now() - from;
}

const answerOf = async ({ port }: Member, path: string) => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return [answer.status, await answer.text()] as const;
};

/** Who watches the member that stands by learns that it lives and could take over; of the owner, that it works. */
async function answersStandingBy(cluster: Cluster): Promise<void> {
  const owner = await ownerOf(cluster);
  const standby = cluster.members.find((one) => one !== owner) ?? owner;
  for (const path of ["/livez", "/healthz", "/readyz"]) {
    await expect.poll(() => answerOf(standby, path)).toEqual([200, "standby\n"]);
    expect(await answerOf(owner, path)).toEqual([200, "ok\n"]);
  }
  expect((await answerOf(standby, "/"))[0]).toBe(503);
  expect((await answerOf(standby, "/metrics"))[1]).toContain("\ngreenhouse2mqtt_cluster_owner 0\n");
  const [, figures] = await answerOf(owner, "/metrics");
  expect(figures).toContain("\ngreenhouse2mqtt_cluster_owner 1\n");
  expect(figures).toContain("\ngreenhouse2mqtt_cluster_members 2\n");
  const [, facts] = await answerOf(standby, "/api/health");
  expect(JSON.parse(facts)).toMatchObject({ state: "standby", ready: true });
  const found = await startProcess({ folder: standby.folder, args: ["doctor", "--json"] }).ended;
  const { checks } = JSON.parse(found.stdout) as {
    checks: { check: string; status: string; summary: string }[];
  };
  const ofCluster = checks.filter(({ check }) => check.startsWith("cluster."));
  console.log(ofCluster.map(({ check, status, summary }) => `${check} ${status} ${summary}`).join("\n"));
  expect(ofCluster.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
}

/** Nothing passes, and nobody is told so, until it is mended. */
const cutLines = (lines: readonly TcpProxy[], isCut: boolean) =>
  Promise.all(
    lines.map(async (proxy) => {
      await proxy.manner(isCut ? "black_hole" : "pass");
      if (isCut) proxy.deafen("both");
      else proxy.cut();
    }),
  );

const cutFromNats = ({ proxies }: Member, isCut: boolean) => cutLines(proxies, isCut);

/** The journal takes no more bytes than it has, as with a full disk; or again as many as ever. */
async function boundJournal({ servers }: NatsCluster, isFull: boolean): Promise<void> {
  const link = await connect({ servers: servers.map(({ port }) => `127.0.0.1:${port}`) });
  const { streams } = await jetstreamManager(link);
  const { state } = await streams.info(journal);
  await streams.update(journal, { max_bytes: isFull ? state.bytes : -1 });
  await link.close();
}

/** The result of a command that is sent once; `during` is what to do before it is waited for. */
async function resultOf(cluster: Cluster, actuator: string, word: string, during?: () => Promise<void>) {
  const id = await sendOnce(cluster, actuator, word);
  await during?.();
  const told = () => cluster.json(`${topicOf(actuator)}/result`).find((one) => one["id"] === id);
  await until(
    () => told() !== undefined,
    `the result of ${actuator} ${word}`,
    cluster.members.map(({ program }) => program.stderr.slice(-3_000)),
  );
  return told() ?? {};
}

async function sendOnce({ say }: Pick<Cluster, "say">, actuator: string, word: string): Promise<string> {
  sent += 1;
  const id = `c${sent}`;
  await say(`${topicOf(actuator)}/set`, { command: word, id });
  return id;
}

const alarmsOf = ({ json }: Cluster): string =>
  JSON.stringify(json("greenhouse/bridge/alarms").at(-1)?.["alarms"] ?? []);

const refusal = { outcome: "refused", reason: "journal_unavailable" };

async function fullJournal(cluster: Cluster, nats: NatsCluster): Promise<void> {
  await boundJournal(nats, true);
  // What meets the full journal under way waits for it with its result, unless its records were the last that fitted in; what comes
  // later is refused at once.
  const met = await resultOf(cluster, "fan", "on", async () => {
    await expect.poll(() => alarmsOf(cluster)).toContain("journal_unavailable");
    expect(await resultOf(cluster, "fan", "on")).toMatchObject(refusal);
    const before = cluster.posts.length;
    const stopped = resultOf(cluster, "roller", "stop");
    await expect.poll(() => cluster.posts.length).toBeGreaterThan(before);
    await boundJournal(nats, false);
    expect((await stopped)["outcome"]).not.toBe("refused");
  });
  const lastIn = { outcome: "confirmed", reason: null };
  expect(met).toMatchObject(met["outcome"] === "confirmed" ? lastIn : refusal);
  await commandTaken(cluster, "on");
  await expect.poll(() => alarmsOf(cluster)).not.toContain("journal_unavailable");
}

/** So late that what is asked is under way when a line is cut. */
const lateMs = 500;

const requestsOf = ({ simulator }: Cluster): number =>
  Object.values(simulator.control.requests()).reduce((sum, count) => sum + count, 0);

/** A command whose POST has left when `cut` is called, and is not answered yet. */
async function underWay(cluster: Cluster, word: string, cut: () => Promise<void>) {
  const before = cluster.posts.length;
  for (const proxy of cluster.toPlatform) proxy.latency(lateMs);
  const result = await resultOf(cluster, "fan", word, async () => {
    await until(() => cluster.posts.length > before, "a POST");
    await cut();
  });
  expect(result).toMatchObject({ outcome: "confirmed" });
  expect(cluster.posts).toHaveLength(before + 1);
}

/** The owner goes on reading, and tells what has ended when the line is back. */
async function cutFromBroker(cluster: Cluster): Promise<void> {
  const { broker } = await ownerOf(cluster);
  await underWay(cluster, "off", async () => {
    await cutLines([broker], true);
    for (const proxy of cluster.toPlatform) proxy.latency(0);
    const requests = requestsOf(cluster);
    await expect.poll(() => requestsOf(cluster)).toBeGreaterThan(requests + 5);
    await cutLines([broker], false);
  });
  await commandTaken(cluster, "on");
}

/** What was carried out and not answered is read back, and not sent again. */
async function cutFromPlatform(cluster: Cluster): Promise<void> {
  const { toPlatform, texts } = cluster;
  const state = () => texts("greenhouse/bridge/platform").at(-1);
  await underWay(cluster, "off", async () => {
    for (const proxy of toPlatform) {
      await proxy.manner("black_hole");
      proxy.deafen("to_client");
    }
    await expect.poll(state, { timeout: 40_000 }).toBe("unreachable");
    for (const proxy of toPlatform) proxy.latency(0);
    await cutLines(toPlatform, false);
  });
  await commandTaken(cluster, "on");
  expect(state()).toBe("online");
}

/** Every member is stopped in order and started again, one after the other, and commands go on coming. */
async function rollingRestart(cluster: Cluster): Promise<void> {
  const { members, posts } = cluster;
  const from = posts.length;
  const logs = () => members.map(({ program }) => program.stderr);
  const end = new AbortController();
  const ended: string[] = [];
  const sending = (async () => {
    for (let n = 0; !end.signal.aborted; n += 1) {
      await sendOnce(cluster, "fan", n % 2 === 0 ? "off" : "on");
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  })();
  for (const member of members) {
    ended.push((await member.program.end("SIGTERM")).stderr);
    // Before it is there again, the other one has the account.
    await ownerOf(cluster);
    member.program = startProcess({ folder: member.folder });
    await until(() => /standing by|has claimed the account/.test(member.program.stderr), "a member again");
    await ownerOf(cluster);
    const count = posts.length;
    await until(() => posts.length > count, "a POST of who runs the account by now");
  }
  end.abort();
  await sending;
  const taken = [...ended, ...logs()].flatMap((log) =>
    [...log.matchAll(/"id":"(c\d+)"[^\n]*"msg":"command taken"/g)].map(([, id]) => id),
  );
  expect(new Set(taken).size).toBe(taken.length);
  const untold = () => taken.filter((id) => !resultsOf(cluster).some((one) => one["id"] === id));
  await expect.poll(untold).toEqual([]);
  const since = posts.slice(from);
  expect(since.length).toBeGreaterThan(0);
  const changes = since.filter(({ member }, at) => at > 0 && since[at - 1]?.member !== member);
  expect(changes.length).toBeGreaterThan(0);
  expect(changes.length).toBeLessThanOrEqual(members.length);
}

const resultsOf = ({ json }: Cluster) => ["fan", "roller"].flatMap((one) => json(`${topicOf(one)}/result`));

/** All that was told of each command is one outcome. */
function judgeResults(cluster: Cluster): void {
  const told = new Map<unknown, Set<unknown>>();
  for (const { id, outcome } of resultsOf(cluster)) told.set(id, (told.get(id) ?? new Set()).add(outcome));
  for (const [id, outcomes] of told) expect([...outcomes], String(id)).toHaveLength(1);
}

describe.skipIf(natsVersion === null)("the journal of one machine", () => {
  it("is no copy of the cluster's, is moved there with its locks, is written back, and restored from that", async () => {
    const nats = await startNats(1);
    onTestFinished(() => nats.stop());
    const { members } = await clusterOf(1, nats);
    const [{ folder, program }] = members as [Member];
    await program.end("SIGTERM");
    const file = join(folder, "config.yaml");
    const { cluster, ...alone } = JSON.parse(await readFile(file, "utf8")) as Record<string, object>;
    const configure = (configuration: object) => writeFile(file, JSON.stringify(configuration));
    const end = async (...args: readonly string[]) => startProcess({ folder, args }).ended;
    const clustered = { ...alone, cluster: { ...cluster, name: "moved", replicas: 1 } };

    await rm(join(folder, "data"), { recursive: true, force: true });
    await configure({ ...alone, data_dir: "./data" });
    const running = startProcess({ folder });
    await until(() => logged(running, "connected to ") !== undefined, "connected", [running.stderr]);
    expect(await end("lock", "GH-0001", "--until", "1h")).toMatchObject({ code: 0 });
    await running.end("SIGTERM");

    await configure({ ...clustered, data_dir: "./data" });
    const refused = await end("run");
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toContain("run `journal import` on one machine");
    expect(refused.stderr).not.toContain("\n    at ");

    expect(await end("journal", "import")).toMatchObject({ code: 0 });
    expect(await end("journal", "import")).toMatchObject({ code: 1 });
    expect(await end("journal", "export", "out")).toMatchObject({ code: 0 });
    const written = await Promise.all(
      (await readdir(join(folder, "out/journal"))).map((name) =>
        readFile(join(folder, "out/journal", name), "utf8"),
      ),
    );
    expect(written.join("")).toContain('"lock":{');
    expect(await readFile(join(folder, "out/format"), "utf8")).toBe(
      await readFile(join(folder, "data/format"), "utf8"),
    );
    // The runbook's way back from a backup.
    await deleteStream(nats, "moved_greenhouse2mqtt");
    await cp(join(folder, "out"), join(folder, "restored"), { recursive: true });
    await configure({ ...clustered, data_dir: "./restored" });
    expect(await end("journal", "import")).toMatchObject({ code: 0 });
    expect(await end("journal", "export", "again")).toMatchObject({ code: 0 });
    for (const [at, name] of (await readdir(join(folder, "out/journal"))).entries())
      expect(await readFile(join(folder, "again/journal", name), "utf8")).toBe(written[at]);
    // Without the key the copy is not taken for the journal.
    await configure({ ...alone, data_dir: "./data" });
    expect((await end("run")).stderr).toContain("is a copy of that of the cluster");
  });
});

describe.skipIf(natsVersion === null)(
  `two members of a cluster at three NATS servers (${natsVersion ?? ""})`,
  () => {
    it("take over from each other when one is killed, frozen, cut off or stopped, and one alone sends", async () => {
      const nats = await startNats(3);
      onTestFinished(() => nats.stop());
      const cluster = await clusterOf(2, nats);
      const took: Record<string, unknown> = { nats: natsVersion };
      await commandTaken(cluster, "on");
      await answersStandingBy(cluster);

      const killed = await ownerOf(cluster);
      await killed.program.end("SIGKILL");
      const [readingMs, commandMs] = await Promise.all([firstReading(cluster), commandTaken(cluster, "off")]);
      took["killed"] = { readingMs, commandMs };
      expect(readingMs).toBeLessThan(30_000);
      expect(commandMs).toBeLessThan(60_000);
      killed.program = startProcess({ folder: killed.folder });

      const frozen = await ownerOf(cluster);
      expect(frozen).not.toBe(killed);
      await until(() => logged(killed.program, "standing by") !== undefined, "standing by");
      frozen.program.signal("SIGSTOP");
      took["frozen"] = { commandMs: await commandTaken(cluster, "on") };
      frozen.program.signal("SIGCONT");
      await until(() => logged(frozen.program, "another member has the account") !== undefined, "noticed");
      await commandTaken(cluster, "off");

      const cut = await ownerOf(cluster, frozen);
      await cutFromNats(cut, true);
      took["cut off from NATS"] = { commandMs: await commandTaken(cluster, "on") };
      await cutFromNats(cut, false);
      const owner = await ownerOf(cluster, cut);

      const leader = await leaderOf(nats, journal);
      await leader.kill();
      took["leader of the journal killed"] = { commandMs: await commandTaken(cluster, "off") };

      await owner.program.end("SIGTERM");
      took["stopped in order"] = { commandMs: await commandTaken(cluster, "on") };
      console.log(JSON.stringify(took));
      const ids = cluster.json(resultTopic).map(({ id, repeated }) => `${String(id)} ${String(repeated)}`);
      expect(new Set(ids).size).toBe(ids.length);
    }, 400_000);

    it("say what is so with a full journal, cut from the broker or the platform, and restarted one by one, and lose nothing", async () => {
      const nats = await startNats(3);
      onTestFinished(() => nats.stop());
      const cluster = await clusterOf(2, nats);
      await commandTaken(cluster, "off");
      const owner = await ownerOf(cluster);
      await fullJournal(cluster, nats);
      await cutFromBroker(cluster);
      await cutFromPlatform(cluster);
      expect(await ownerOf(cluster)).toBe(owner);
      await rollingRestart(cluster);
      judgeResults(cluster);
    }, 180_000);
  },
);

const accounts = ["north", "east", "west"];
const codeOf = (account: string): string => `GH-000${accounts.indexOf(account) + 1}`;

async function startFleet(url: string, nats: NatsCluster, hosts: object): Promise<Program> {
  const folder = await tempFolder();
  await mkdir(join(folder, "accounts"));
  const write = (name: string, content: object) =>
    writeFile(join(folder, name), JSON.stringify(content), { mode: 0o600 });
  await write("fleet.yaml", {
    defaults: {
      mqtt: { url },
      homeassistant: { enabled: false },
      polling: { sensors: "1s" },
      mirror: "listed",
    },
    cluster: { nats: nats.servers.map(({ port }) => `nats://127.0.0.1:${port}`), name: "fleet", replicas: 1 },
  });
  const fan = { kind: "circulation_fan", address: "150", settle: "0s" };
  for (const account of accounts)
    await write(`accounts/${account}.yaml`, {
      platform: { ...hosts, token: "simulator", requests_per_minute: 0, timeouts: { control: "5s" } },
      controllers: { [codeOf(account)]: { actuators: { fan } } },
    });
  return startProcess({ folder, args: ["fleet"] });
}

describe.skipIf(natsVersion === null)("a fleet of three accounts in a cluster of two members", () => {
  it("goes on with every account at the other member when one is killed", async () => {
    const nats = await startNats(1);
    onTestFinished(() => nats.stop());
    const { url, seen, json, say } = await brokerAndClient();
    const { businessUrl, realtimeUrl, control } = await platform({ controllers: accounts.length });
    for (const code of accounts.map(codeOf)) if (!control.codes().includes(code)) control.addController(code);
    const hosts = { business_url: businessUrl, realtime_url: realtimeUrl };
    const programs = [await startFleet(url, nats, hosts), await startFleet(url, nats, hosts)];
    const logs = () => programs.map(({ stderr }) => stderr.slice(-2_000));
    const topic = (account: string) => `greenhouse/${account}/${codeOf(account).toLowerCase()}/actuator/fan`;
    const isConfirmed = (account: string, id: string) =>
      json(`${topic(account)}/result`).some(
        (one) => String(one["id"]).startsWith(id) && one["outcome"] === "confirmed",
      );
    /** Sends to every account until a command of it is confirmed. */
    const allConfirmed = async (command: string) => {
      for (let n = 0; n < 60; n += 1) {
        const open = accounts.filter((account) => !isConfirmed(account, command));
        if (open.length === 0) return;
        for (const account of open) await say(`${topic(account)}/set`, { command, id: `${command}-${n}` });
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
      throw new Error(`not every account takes commands: ${logs().join("\n---\n")}`);
    };
    await allConfirmed("on");
    const claimsIn = ({ stderr }: Program) => stderr.split(claims).length;
    const [killed, other] = programs.toSorted((a, b) => claimsIn(b) - claimsIn(a));
    await killed?.end("SIGKILL");
    const from = seen.length;
    await allConfirmed("off");
    const isRead = (account: string) =>
      seen
        .slice(from)
        .some((one) => one.topic.startsWith(`greenhouse/${account}/`) && one.topic.includes("/sensor/"));
    await expect.poll(() => accounts.filter(isRead)).toEqual(accounts);
    for (const account of accounts)
      expect(other?.stderr).toMatch(new RegExp(`"account":"${account}"[^\\n]*${claims}`));
  }, 180_000);
});
