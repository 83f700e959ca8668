import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/end-to-end/**", "test/simulation/**", "test/campaign/**"],
    setupFiles: ["test/support/sentences.ts"],
    alias: { "fast-check": fileURLToPath(new URL("test/support/seeded-fast-check.ts", import.meta.url)) },
    // A default import of a CommonJS package is what Node makes of it.
    deps: { interopDefault: false },
    // Modules hold no state of their own, so files can share them: loading them anew costs more than most tests.
    isolate: false,
    // More than there are cores: some tests wait for deadlines of their own.
    maxWorkers: 3,
    // Nothing here is to fail because the machine is busy; what measures seconds is in *.e2e.ts.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 120_000 } },
  },
});
