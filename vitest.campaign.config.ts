import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/campaign/*.campaign.ts"],
    testTimeout: 60_000,
    hookTimeout: 3_600_000,
    fileParallelism: false,
    // The table is the point of it.
    disableConsoleIntercept: true,
  },
});
