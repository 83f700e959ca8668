import { existsSync } from "node:fs";

/* Which requirements of sections C to H the rows show, and where the others are shown. */

/** First and last number of each section of the list of reliability requirements. */
const sections = { C: [26, 31], D: [32, 38], E: [39, 44], F: [45, 51], G: [52, 60], H: [61, 66] } as const;

/** What a fault made from outside the process cannot show, or not alone, and the tests or commands that do. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  C27: ["test/end-to-end/lifecycle.test.ts", "test/homeassistant/discovery-output.test.ts"],
  C29: ["frozen sensors for hours: the platform's own reading times decide, test/greenhouse"],
  C30: ["TLS «not yet valid» at boot: the simulated platform has no TLS, test/platform/bad-answers.test.ts"],
  C31: [
    "the contract knows no alarms of the platform; what repeats is told once, test/status/notices.test.ts",
  ],
  D34: ["24 h without a broker: the soak; here 60 s"],
  E39: ["test/conformance/statements.md"],
  E40: ["test/broker/start.test.ts"],
  E41: ["test/broker/login.test.ts", "test/broker/password.test.ts"],
  E44: ["30 min of packets: test/fuzz/broker.fuzz.ts; here 200 connections"],
  G54: ["test/runtime/durable-file.test.ts", "and the judgement of every control value in every lane here"],
  G55: ["test/journal/journal.test.ts", "wear over a day: the soak"],
  G56: ["memory over a day: test/soak/bridge.soak.ts"],
  G59: ["systemd's watchdog: test/bridge/systemd.e2e.ts"],
  H61: ["test/platform/secrets.test.ts", "and planted secrets looked for in every lane here"],
  H62: ["test/config/yaml-faults.test.ts", "test/config/files.test.ts"],
  H64: ["test/platform/bad-answers.test.ts", "test/mqtt-connection"],
  H65: [".ci/run"],
  H66: ["test/journal/journal.test.ts"],
};

const numbers: readonly string[] = Object.entries(sections).flatMap(([section, [first, last]]) =>
  Array.from({ length: last - first + 1 }, (_, n) => `${section}${first + n}`),
);

/** Requirements that no row names and that are not said to be shown elsewhere. */
export const uncovered = (requirements: readonly string[]): readonly string[] => {
  const shown = new Set(requirements.flatMap((text) => text.split(", ")));
  return numbers.filter((number) => !shown.has(number) && elsewhere[number] === undefined);
};

/** Numbers that the list of requirements does not have, and test files that are not there. */
export const mistaken = (requirements: readonly string[]): readonly string[] => [
  ...[...requirements.flatMap((text) => text.split(", ")), ...Object.keys(elsewhere)].filter(
    (number) => /^[C-H]/.test(number) && !numbers.includes(number),
  ),
  ...Object.values(elsewhere)
    .flat()
    .flatMap((text) => /test\/\S+\.(?:test|e2e)\.ts/.exec(text)?.[0] ?? [])
    .filter((path) => !existsSync(path)),
];

/** For the report. */
export const notRun = (): readonly string[] =>
  Object.entries(elsewhere).map(([number, where]) => `${number}: ${where.join("; ")}`);
