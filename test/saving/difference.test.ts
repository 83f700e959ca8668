import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { difference } from "../../src/saving/difference.js";

describe("the difference of two texts", () => {
  it("is none where they are the same", () => {
    expect(difference("a\n", "a\n", "config.yaml")).toBe("");
  });

  it("shows three lines around each change", () => {
    const before = Array.from({ length: 12 }, (_, at) => `line ${at}`).join("\n");
    const after = before.replace("line 5", "another");
    expect(difference(before, after, "config.yaml").split("\n")).toEqual([
      "--- config.yaml",
      "+++ config.yaml",
      "@@ -3,7 +3,7 @@",
      " line 2",
      " line 3",
      " line 4",
      "-line 5",
      "+another",
      " line 6",
      " line 7",
      " line 8",
      "",
    ]);
  });

  it("`patch` makes the new text of the old one by it", () => {
    const folder = mkdtempSync(join(tmpdir(), "difference-"));
    const text = fc.array(fc.constantFrom("a", "b", "c: 1", "  d", ""), { minLength: 1, maxLength: 20 });
    try {
      fc.assert(
        fc.property(text, text, (one, other) => {
          const [before, after] = [`${one.join("\n")}\n`, `${other.join("\n")}\n`];
          writeFileSync(join(folder, "f"), before);
          const patch = difference(before, after, "f");
          if (patch !== "") {
            const { status, stdout } = spawnSync("patch", ["-s", "f"], {
              cwd: folder,
              input: patch,
              encoding: "utf8",
            });
            expect(`${status} ${stdout}`).toBe("0 ");
          }
          expect(readFileSync(join(folder, "f"), "utf8")).toBe(after);
        }),
        { numRuns: 40 },
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
