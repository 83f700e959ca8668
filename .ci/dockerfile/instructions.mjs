import { readFileSync } from "node:fs";

/** `[{ name: "COPY", text: "--from=build /a ./a", words: [...], list: null | [...] }]` of a Dockerfile; JSON forms as `list`. */
export function instructionsOf(file) {
  const text = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => !/^\s*#/.test(line))
    .join("\n")
    .replace(/\\\n/g, " ");
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const [name, ...words] = line.split(/\s+/);
      const rest = line.slice(name.length).trim();
      return {
        name: name.toUpperCase(),
        text: rest,
        words,
        list: rest.startsWith("[") ? JSON.parse(rest) : null,
      };
    });
}

/** The stages of a Dockerfile: `[{ base, alias, steps }]`. */
export function stagesOf(instructions) {
  const stages = [];
  // What an ARG before the first FROM sets is for the FROM lines.
  const defaults = new Map();
  for (const instruction of instructions) {
    if (instruction.name === "ARG" && stages.length === 0) {
      const [key, value = ""] = instruction.text.split("=");
      defaults.set(`$${key}`, value);
      continue;
    }
    if (instruction.name !== "FROM") {
      stages.at(-1).steps.push(instruction);
      continue;
    }
    const [base, , alias = null] = instruction.words.filter((word) => !word.startsWith("--"));
    stages.push({ base: defaults.get(base) ?? base, alias, steps: [] });
  }
  return stages;
}

/** Paths that `.dockerignore` lets into the build; it must forbid everything first. */
export function admitted(file) {
  const [first, ...others] = readFileSync(file, "utf8").trim().split("\n");
  if (first !== "**" || others.some((line) => !line.startsWith("!")))
    throw new Error(`${file}: expected ** and then only lines that begin with !`);
  return others.map((line) => line.slice(1));
}
