import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { effectiveLines, textOf } from "./support/project.js";

const program = "/opt/greenhouse2mqtt/bin/greenhouse2mqtt";
/** The first that judges a unit without running it. */
const leastVersion = 250;

const { stdout } = spawnSync("systemd-analyze", ["--version"], { encoding: "utf8" });
const version = Number(/^systemd (\d+)/.exec(stdout)?.[1] ?? 0);
const isThere = version >= leastVersion;
if (!isThere)
  console.warn(`systemd-analyze ${leastVersion} or newer is not here: the unit was not verified by systemd`);

describe("the systemd unit", () => {
  let folder: string;
  let unit: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "unit-"));
    unit = await textOf("deploy/systemd/greenhouse2mqtt.service");
    // The program is not installed here, and systemd looks whether it is.
    await writeFile(join(folder, "greenhouse2mqtt.service"), unit.replaceAll(program, process.execPath));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  const analyze = (...args: readonly string[]) => {
    const file = join(folder, "greenhouse2mqtt.service");
    const { status, stdout, stderr } = spawnSync("systemd-analyze", [...args, file], { encoding: "utf8" });
    return { status, output: `${stdout}${stderr}` };
  };

  it("starts the installed program with its own configuration and state directory", () =>
    expect(effectiveLines(unit)).toContain(
      `ExecStart=${program} run --config /etc/greenhouse2mqtt/config.yaml --data-dir /var/lib/greenhouse2mqtt`,
    ));

  it("leaves the JavaScript engine the memory it must execute, and the lock its view of /proc", () => {
    const keys = effectiveLines(unit).map((line) => line.split("=")[0]);
    expect(keys.filter((key) => /^(MemoryDenyWriteExecute|ProtectProc|ProcSubset)$/.test(key ?? ""))).toEqual(
      [],
    );
  });

  it("lets the program ask for the addresses of its computer, which Node.js asks of netlink", () =>
    expect(effectiveLines(unit).find((line) => line.startsWith("RestrictAddressFamilies="))).toContain(
      "AF_NETLINK",
    ));

  it.runIf(isThere)("passes `systemd-analyze verify` without a word", () =>
    expect(analyze("verify")).toEqual({ status: 0, output: "" }),
  );

  it.runIf(isThere)("is exposed no more than 2.0 by `systemd-analyze security`", () => {
    const { status, output } = analyze("security", "--offline=true", "--no-pager", "--threshold=20");
    expect(status, output).toBe(0);
  });
});
