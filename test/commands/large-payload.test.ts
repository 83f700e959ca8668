import { describe, expect, it } from "vitest";
import { CommandBench } from "../support/command-bench.js";

describe("a command with a payload that is too large", () =>
  it.each([16 * 1024 + 1, 256 * 1024 + 1, 1024 * 1024])(
    "of %i bytes is refused with its size, once, and nothing of it is kept",
    async (size) => {
      const bench = new CommandBench({ registers: { "101": "10001" } });
      const result = await bench.run(`{"command":"open","id":"${"canary".repeat(size)}`.slice(0, size));
      expect(result).toMatchObject({ outcome: "refused", reason: "bad_payload", command: null });
      expect(result.message).toContain(`has ${size} bytes`);
      expect(bench.results).toHaveLength(1);
      expect(bench.values()).toEqual([]);
      expect(JSON.stringify([bench.results, bench.records])).not.toContain("canary");
    },
  ));
