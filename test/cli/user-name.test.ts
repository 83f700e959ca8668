import { userInfo } from "node:os";
import { expect, it } from "vitest";
import { userName } from "../../src/cli/errands.js";

const nobody = () => {
  throw new Error("ENOENT: no such file or directory, uv_os_get_passwd");
};

it("names the user of the program", () => expect(userName()).toBe(userInfo().username));

it("names a user without an entry by number, and never fails", () => {
  expect(userName(nobody, () => 1026)).toBe("uid 1026");
  expect(userName(nobody, () => undefined)).toBe("unknown");
});
