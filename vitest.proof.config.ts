import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/*
 * Everything that needs processes, brokers or patience; the unit tests have vitest.config.ts. `--mode e2e` is
 * `npm run test:e2e`, every other mode one of the long proofs of `npm run proof`.
 */

const files: Readonly<Record<string, string>> = {
  simulation: "test/simulation/seeds.simulation.ts",
  mutants: "test/simulation/mutants.simulation.ts",
  campaign: "test/campaign/faults.campaign.ts",
  planted: "test/campaign/planted/planted-bugs.campaign.ts",
  kill: "test/end-to-end/kill.test.ts",
  fuzz: "test/fuzz/broker.fuzz.ts",
  "page-fuzz": "test/fuzz/page.fuzz.ts",
  floods: "test/floods/sockets.floods.ts",
  homeassistant: "test/homeassistant-live/rows.homeassistant.ts",
  "homeassistant-pictures": "test/homeassistant-live/pictures.homeassistant.ts",
};

const patient = {
  setupFiles: ["test/support/sentences.ts"],
  hookTimeout: 3_600_000,
  expect: { poll: { timeout: 15_000 } },
  // A default import of a CommonJS package is what Node makes of it.
  deps: { interopDefault: false },
};

const proof = (mode: string) => ({
  ...patient,
  include: [files[mode] ?? `test/${mode}/*.${mode}.ts`],
  testTimeout: 7_200_000,
  // The tests of the broker's conformance mostly wait.
  maxConcurrency: mode === "conformance" ? 40 : Math.max(3, availableParallelism()),
  fileParallelism: false,
  // The figures are the point of it.
  disableConsoleIntercept: true,
});

// What is said about seconds is not to be disturbed by many other tests.
const alone = [
  ...["command-line", "dialects", "lifecycle", "mirror"].map((name) => `test/end-to-end/${name}.test.ts`),
  "test/bridge/silent-controllers.e2e.ts",
];

/** Minutes long each, most of it waiting. */
const longest = [
  "fleet/settings.e2e.ts",
  "bridge/settings.e2e.ts",
  "cluster/results.e2e.ts",
  "cluster/reachability.e2e.ts",
  "end-to-end/chinese.test.ts",
  "end-to-end/standing-still.test.ts",
].map((name) => `/test/${name}`);

/** The longest files begin first, so that none of them is left for the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = longest.findIndex((one) => moduleId.endsWith(one));
      return at === -1 ? longest.length : at;
    };
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}

const endToEnd = {
  projects: [
    {
      test: {
        ...patient,
        name: "alone",
        include: alone,
        testTimeout: 60_000,
        maxWorkers: alone.length,
        sequence: { groupOrder: 0 },
      },
    },
    // The others mostly wait for the platform or a process, so their files share the time.
    {
      test: {
        ...patient,
        name: "together",
        include: ["test/end-to-end/**/*.test.ts", "test/**/*.e2e.ts"],
        exclude: alone,
        testTimeout: 60_000,
        maxWorkers: 8,
        sequence: { groupOrder: 1 },
      },
    },
  ],
};

export default defineConfig(({ mode }) => ({
  test: mode === "e2e" ? { ...endToEnd, sequence: { sequencer: LongestFirst } } : proof(mode),
}));
