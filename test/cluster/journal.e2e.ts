import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { joinNats } from "../../src/cluster/nats.js";
import { silentLog } from "../../src/runtime/log.js";
import { logged, startProcess } from "../bridge/support/program.js";
import { until } from "../mqtt-connection/support.js";
import { type NatsCluster, natsVersion, startNats } from "../support/nats.js";
import { clusterOf, type Member } from "./support/members.js";

if (natsVersion === null)
  console.log(
    "NOT RUN: members of a cluster at real NATS servers, as there is no nats-server on this computer",
  );

async function deleteStream({ servers }: NatsCluster, stream: string): Promise<void> {
  const link = await connect({ servers: servers.map(({ port }) => `127.0.0.1:${port}`) });
  await (await jetstreamManager(link)).streams.delete(stream);
  await link.close();
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
    // Restores from a backup as the runbook says.
    await deleteStream(nats, "moved_greenhouse2mqtt");
    await cp(join(folder, "out"), join(folder, "restored"), { recursive: true });
    await configure({ ...clustered, data_dir: "./restored" });
    expect(await end("journal", "import")).toMatchObject({ code: 0 });
    expect(await end("journal", "export", "again")).toMatchObject({ code: 0 });
    for (const [at, name] of (await readdir(join(folder, "out/journal"))).entries())
      expect(await readFile(join(folder, "again/journal", name), "utf8")).toBe(written[at]);
    // Without the key the copy is not accepted as the journal.
    await configure({ ...alone, data_dir: "./data" });
    expect((await end("run")).stderr).toContain("is a copy of that of the cluster");
  }, 120_000);
});

describe.skipIf(natsVersion === null)("the journal at three servers of which one is dead", () => {
  it("is read without a wait for the dead one, few entries and many", async () => {
    const nats = await startNats(3);
    onTestFinished(() => nats.stop());
    const settings = {
      nats: nats.servers.map(({ port }) => `nats://127.0.0.1:${port}`),
      replicas: 3,
      name: "reading",
    };
    const end = new AbortController();
    const link = await joinNats(settings, "reader", silentLog, end.signal);
    if (link === null) throw new Error("no link");
    onTestFinished(() => link.close());
    const stream = await link.openStream({ account: "north", identity: "north" });
    const data = Buffer.from("an entry");
    for (let n = 0; n < 60; n += 1)
      expect(await stream.append({ subject: "file.x", operation: "", run: "r", data }, n)).toBe(n + 1);
    await stream.purge("file.x", 3);
    await nats.servers[0]?.kill();
    await expect.poll(() => stream.state().catch(() => null)).not.toBeNull();
    const read = async (from: number) => {
      const numbers: number[] = [];
      for await (const { number } of stream.read(from, 60)) numbers.push(number);
      return numbers;
    };
    const took: number[] = [];
    for (let n = 0; n < 12; n += 1) {
      const began = performance.now();
      expect(await read(1)).toEqual(Array.from({ length: 58 }, (_, at) => at + 3));
      expect(await read(50)).toEqual(Array.from({ length: 11 }, (_, at) => at + 50));
      took.push(Math.round(performance.now() - began));
    }
    console.log(JSON.stringify({ readMs: took }));
  }, 120_000);
});
