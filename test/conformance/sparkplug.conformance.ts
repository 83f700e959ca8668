import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { testMosquitto, until } from "../mqtt-connection/support.js";
import { edgeNodeAt } from "../sparkplug/bench.js";

/* The edge node before somebody else's host application, which shares no code with the bridge. */

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-pysparkplug-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const pip = "-m pip install --quiet --disable-pip-version-check --retries 1 --timeout 10".split(" ");
const isThere = await run("python3", [...pip, "--target", folder, "pysparkplug==0.6.1"]).then(
  () => true,
  (error: unknown) => {
    process.stdout.write(`\n*** NOT RUN: pysparkplug: ${String(error).split("\n").at(-1) ?? ""} ***\n\n`);
    return false;
  },
);

interface Line {
  readonly verb: string;
  readonly device?: string | null;
  readonly values?: Readonly<Record<string, unknown>>;
}

describe.runIf(isThere)("pysparkplug as the host application", () => {
  it("reads births, data and deaths, and its commands arrive", async () => {
    const { url, port } = await testMosquitto();
    const program = join(import.meta.dirname, "sparkplug_host.py");
    const env = { ...process.env, PYTHONPATH: folder };
    const child = spawn("python3", [program, String(port)], { stdio: ["ignore", "pipe", "inherit"], env });
    onTestFinished(() => void child.kill("SIGKILL"));
    const lines: Line[] = [];
    createInterface({ input: child.stdout }).on("line", (line) => lines.push(JSON.parse(line) as Line));
    const of = (verb: string) => lines.filter((line) => line.verb === verb);
    await until(() => of("connected").length > 0, "the host is there");
    const { sweep, submitted, connection, stop } = edgeNodeAt(url);
    await until(() => of("NBIRTH").length === 2 && of("DBIRTH").length === 2, "born, and reborn as it asked");
    const [birth] = of("DBIRTH");
    expect(birth?.values).toMatchObject({ "actuator/roof/state": "closed", "info/name": "GH-0001" });
    expect(
      submitted.map(({ controllerId, targetId, payload, via }) => [
        controllerId,
        targetId,
        Buffer.from(payload).toString(),
        via,
      ]),
    ).toEqual([["gh-0001", "roof", "open", "sparkplug"]]);
    sweep("GH-0001", 30);
    await until(() => of("DDATA").some(({ values }) => Object.values(values ?? {}).includes(30)), "data");
    connection("GH-0001", "offline");
    await until(() => of("DDEATH").length > 0, "the device is dead");
    await stop();
    await until(() => of("NDEATH").length > 0, "the node is dead");
  });
});
