import type { PlantedBug } from "./bugs.js";

/** Of what a person meets before the first command: files of a package, a system that forbids, sentences of `check`. */
export const setupBugs: Readonly<Record<string, PlantedBug>> = {
  files_of_a_service_are_for_root_alone: {
    seam: "runtime/permissions#privateModeIn",
    plant: `() => () => Promise.resolve(0o600)`,
    tests: "test/setup/init/init.test.ts",
  },
  secrets_change_hands_when_one_is_added: {
    seam: "runtime/file-system#replaceFile",
    plant: `(original) => (path, content, { owner, ...options } = {}) => original(path, content, options)`,
    tests: "test/setup/init/init.test.ts",
  },
  data_go_where_nobody_looks: {
    seam: "setup/init/init#placed",
    plant: `() => (answers) => Promise.resolve(answers)`,
    tests: "test/cli/init.test.ts",
  },
  a_forbidden_question_ends_the_bridge: {
    seam: "http/entrance#ownAddresses",
    plant: `() => (interfaces = networkInterfaces) => Object.values(interfaces()).flat().map(({ address }) => address)`,
    tests: "test/http/entrance.test.ts",
  },
  limits_are_told_as_one_text: {
    seam: "config/rules/limit-rules#guardText",
    plant: `(original) => (name, guard, hasStop, tell) => tell(original(name, guard, hasStop, (text) => text))`,
    tests: "test/cli/chinese-sentences.test.ts",
  },
  places_are_told_with_their_problem: {
    seam: "settings/problem#toldProblem",
    plant: `() => (problem, tell) => tell(formatProblem(problem))`,
    tests: "test/cli/chinese-sentences.test.ts",
  },
};
