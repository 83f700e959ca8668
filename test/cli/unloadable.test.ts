import { describe, expect, it } from "vitest";
import { openFilesLimit, unloadable } from "../../src/cli/program.js";

const failure = (code: string, message = "the text") => Object.assign(new Error(message), { code });

describe("an error of a program that cannot be loaded", () => {
  it.each([
    ["EMFILE", 84, /^this process may open only 84 files at a time.*ulimit -n 1024.*LimitNOFILE/],
    ["ERR_MODULE_NOT_FOUND", 84, /^this process may open only 84 files at a time/],
    ["ERR_MODULE_NOT_FOUND", 1_024, /^a part of the program is missing: the text;.*npm ci/],
    ["ERR_MODULE_NOT_FOUND", null, /^a part of the program is missing/],
    ["EMFILE", 1_024, /^too many files are open.*the text/],
    ["ENFILE", 84, /^too many files are open.*the text/],
  ])("%s with a limit of %s files names the cause and the remedy", (code, limit, said) =>
    expect(unloadable(failure(code), () => limit)).toMatch(said),
  );

  it("is not any other error", () => {
    expect(unloadable(failure("ENOENT"), () => 84)).toBeNull();
    expect(unloadable("EMFILE", () => 84)).toBeNull();
  });

  it("is told by the limit of this process", () => expect(openFilesLimit()).toBeGreaterThan(0));
});
