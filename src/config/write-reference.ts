import { readFile, writeFile } from "node:fs/promises";
import { exampleText, withReference } from "./reference.js";

/* Run after a build: writes what is made from the schema into the project's files. */

const inProject = (name: string) => new URL(`../../${name}`, import.meta.url);

await writeFile(inProject("config.example.yaml"), exampleText());
const page = inProject("docs/configuration.md");
await writeFile(page, withReference(await readFile(page, "utf8")));
