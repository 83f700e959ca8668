import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** `--mode mutants` plants one bug after the other instead of running the product as it is. */
export default defineConfig(({ mode }) => ({
  test: {
    include: [
      mode === "mutants"
        ? "test/simulation/mutants.simulation.ts"
        : "test/simulation/{seeds,same-seed}.simulation.ts",
    ],
    testTimeout: 3_600_000,
    maxConcurrency: availableParallelism(),
    fileParallelism: false,
  },
}));
