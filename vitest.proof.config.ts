import { defineConfig } from "vitest/config";

/** `--mode fuzz`, `canary`, `soak` or `conformance` says which of the long proofs runs: test/<mode>/*.<mode>.ts. */
export default defineConfig(({ mode }) => ({
  test: {
    include: [`test/${mode}/*.${mode}.ts`],
    deps: { interopDefault: false },
    testTimeout: 7_200_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    // The figures are the point of it.
    disableConsoleIntercept: true,
  },
}));
