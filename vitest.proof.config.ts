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

/** Minutes long each, most of it waiting. `E2E_THIRD=0`, `1` or `2` runs every third: CI draws which, everybody else runs all. */
const longest = [
  "fleet/hand-edited.e2e.ts",
  "bridge/hand-edited.e2e.ts",
  "bridge/settings-trial.e2e.ts",
  "fleet/settings.e2e.ts",
  "end-to-end/chinese.test.ts",
  "end-to-end/limits.test.ts",
  "cluster/results.e2e.ts",
  "cluster/reachability.e2e.ts",
  "end-to-end/groups.test.ts",
  "end-to-end/standing-still.test.ts",
  "end-to-end/other-readings.test.ts",
  "bridge/crash-loop.e2e.ts",
  "cluster/troubles.e2e.ts",
  "cluster/fleet.e2e.ts",
  "bridge/other-bridge.e2e.ts",
  "second-platform/second-platform.e2e.ts",
].map((name) => `test/${name}`);
const third = process.env["E2E_THIRD"];
const leftOut = third === undefined ? [] : longest.filter((_, at) => at % 3 !== Number(third));
if (leftOut.length > 0) console.log(`NOT RUN, left out by E2E_THIRD=${third}:\n  ${leftOut.join("\n  ")}`);

/** The longest files begin first, so that none of them is left for the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = longest.findIndex((one) => moduleId.endsWith(`/${one}`));
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
        exclude: [...alone, ...leftOut],
        testTimeout: 60_000,
        maxWorkers: 8,
        isolate: false,
        sequence: { groupOrder: 1 },
      },
    },
  ],
};

export default defineConfig(({ mode }) => ({
  test: mode === "e2e" ? { ...endToEnd, sequence: { sequencer: LongestFirst } } : proof(mode),
}));
