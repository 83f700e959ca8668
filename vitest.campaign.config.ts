import { defineConfig } from "vitest/config";

/** `--mode planted` runs the campaign on copies of the program with one bug each, which it must find. */
export default defineConfig(({ mode }) => ({
  test: {
    include: [
      mode === "planted"
        ? "test/campaign/planted/planted-bugs.campaign.ts"
        : "test/campaign/faults.campaign.ts",
    ],
    testTimeout: mode === "planted" ? 600_000 : 60_000,
    hookTimeout: 3_600_000,
    maxConcurrency: 3,
    fileParallelism: false,
    // The table is the point of it.
    disableConsoleIntercept: true,
  },
}));
