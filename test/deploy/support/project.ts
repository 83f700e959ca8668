import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** The path of a file of the project. */
export const inProject = (name: string): string =>
  fileURLToPath(new URL(`../../../${name}`, import.meta.url));

export const textOf = (name: string): Promise<string> => readFile(inProject(name), "utf8");

/** Lines that say something: no comments, no blank ones. */
export const effectiveLines = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
