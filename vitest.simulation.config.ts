import { defineConfig } from "vitest/config";
import { simulatedWorld } from "./test/simulation/source-patch.js";

export default defineConfig({
  plugins: [simulatedWorld(process.env["MUTANT"])],
  test: {
    include: [process.env["SIMULATION_FILES"] || "test/simulation/seeds-*.simulation.ts"],
    testTimeout: 3_600_000,
    hookTimeout: 60_000,
    globalSetup: ["test/simulation/after-all.ts"],
    maxWorkers: Number(process.env["WORKERS"] ?? 2),
  },
});
