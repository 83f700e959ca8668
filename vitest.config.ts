import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/end-to-end/**", "test/simulation/**"],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
