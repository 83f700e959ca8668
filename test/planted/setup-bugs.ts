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
    seam: "setup/init/init#withDataDir",
    plant: `() => (answers) => Promise.resolve(answers)`,
    tests: "test/cli/init.test.ts",
  },
  a_forbidden_question_ends_the_bridge: {
    seam: "http/page-address#ownAddresses",
    plant: `() => (interfaces = networkInterfaces) => Object.values(interfaces()).flat().map(({ address }) => address)`,
    tests: "test/http/page-address.test.ts",
  },
  an_operation_of_no_use_is_no_platform: {
    seam: "setup/discover/survey#answered",
    plant: `() => new Set()`,
    tests: "test/setup/discover/scan.test.ts",
  },
  a_refusal_names_nothing: {
    seam: "setup/doctor/missing-parameters#missingNames",
    plant: `() => () => []`,
    tests: "test/setup/doctor/missing-parameters.test.ts",
  },
  what_is_empty_may_hold_something: {
    seam: "platform/decode/decoding#mayHold",
    plant: `() => (value) => typeof value === "object" && value !== null`,
    tests: "test/platform/decode/sensors.test.ts",
  },
  what_is_put_into_a_sentence_stays_english: {
    seam: "language/words#tellBy",
    plant: `(original) => (words, locale) => (text) => original(words, locale)(typeof text === "string" ? text : { ...text, template: text.template, values: text.values.map(String) })`,
    tests: "test/cli/chinese.test.ts",
  },
  a_language_is_never_loaded: {
    seam: "language/languages#tellIn",
    plant: `() => () => Promise.resolve(String)`,
    tests: "test/cli/chinese.test.ts",
  },
};
