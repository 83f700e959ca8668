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
    // Nothing here is to fail because the machine is busy; what measures seconds is in *.e2e.ts.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 50_000 } },
  },
});
