import { defineConfig } from "vitest/config";

const patient = {
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 15_000 } },
  // A default import of a CommonJS package is what Node makes of it.
  deps: { interopDefault: false },
};
const alone = ["command-line", "lifecycle", "mirror"].map((name) => `test/end-to-end/${name}.test.ts`);

export default defineConfig({
  test: {
    projects: [
      // What is said about seconds is not to be disturbed by other tests.
      {
        test: {
          ...patient,
          name: "mirror",
          include: alone,
          fileParallelism: false,
          sequence: { groupOrder: 0 },
        },
      },
      // Commands mostly wait for the platform, so their files share the time.
      {
        test: {
          ...patient,
          name: "commands",
          include: ["test/end-to-end/**/*.test.ts", "test/**/*.e2e.ts"],
          exclude: alone,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
