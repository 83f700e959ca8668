import { chmod, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { privateModeIn, remedyFor, userName } from "../../src/runtime/permissions.js";
import { tempFolder } from "../mqtt-connection/support.js";

const service = { number: 107, name: "greenhouse2mqtt", group: "greenhouse2mqtt" };
const file = { path: "/etc/greenhouse2mqtt/secrets.yaml", isFolder: false, owner: 0, folderOwner: 0 };

describe("what lets somebody read a file", () => {
  it.each([
    [
      "root's goes to the group of the service",
      file,
      "sudo chgrp greenhouse2mqtt /etc/greenhouse2mqtt/secrets.yaml && sudo chmod 640 /etc/greenhouse2mqtt/secrets.yaml",
    ],
    [
      "one in a folder of one's own, which root wrote, becomes one's own",
      { ...file, path: "/home/anna/config.yaml", folderOwner: 107 },
      "sudo chown greenhouse2mqtt /home/anna/config.yaml",
    ],
    ["one's own needs no root", { ...file, owner: 107, path: "secrets.yaml" }, "chmod 600 secrets.yaml"],
    [
      "a folder on the way is opened to the group",
      { ...file, path: "/srv/my files", isFolder: true, owner: 1000 },
      "sudo chgrp greenhouse2mqtt '/srv/my files' && sudo chmod g+rx '/srv/my files'",
    ],
  ])("%s", (_, place, commands) => expect(remedyFor(place, service)).toBe(commands));
});

describe("a new file with secrets", () => {
  it.each([
    [0o755, 0o600],
    [0o700, 0o600],
    [0o2750, 0o640],
    [0o2700, 0o640],
  ])("in a folder of mode %o has mode %o", async (mode, wanted) => {
    const folder = await tempFolder();
    await chmod(folder, mode);
    expect(await privateModeIn(folder)).toBe(wanted);
  });

  it("in a folder that cannot be seen is its owner's", async () => {
    expect(await privateModeIn("/no/such/folder")).toBe(0o600);
  });
});

it("a number without a name stands for itself", async () => {
  const path = join(await tempFolder(), "a");
  await writeFile(path, "");
  expect(await userName(4_000_000_001)).toBe("4000000001");
  expect(await userName((await stat(path)).uid)).not.toBe("");
});
