import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Result } from "./house.js";
import { fields } from "./watch.js";

/** Waits until the journal holds a record like this. */
export async function untilJournaled(
  stage: { readonly folder: string },
  isWanted: (record: Result) => boolean,
): Promise<Result> {
  for (;;) {
    const found = (await journalOf(stage)).find(isWanted);
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** The one outcome of a command that was taken. */
export const isResultOf =
  (id: string) =>
  ({ type, result }: Result): boolean =>
    type === "result" && (result as Result)["id"] === id;

/** Every whole record in the journal of a stage's bridge, oldest first. */
export async function journalOf(stage: { readonly folder: string }): Promise<readonly Result[]> {
  const folder = join(stage.folder, "data", "journal");
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".jsonl")).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap((text) => text.split("\n").filter((line) => line !== "")).map((line) => fields(line));
}
