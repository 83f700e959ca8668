import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/end-to-end/**", "test/simulation/**", "test/campaign/**"],
    alias: { "fast-check": fileURLToPath(new URL("test/support/seeded-fast-check.ts", import.meta.url)) },
    // A default import of a CommonJS package is what Node makes of it.
    deps: { interopDefault: false },
    // More than there are cores: many tests wait for deadlines of their own.
    maxWorkers: 3,
    testTimeout: 20_000,
    // Its default of one second is short on a busy machine.
    expect: { poll: { timeout: 15_000 } },
    hookTimeout: 20_000,
  },
});
