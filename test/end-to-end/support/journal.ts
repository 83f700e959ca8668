import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Result } from "./house.js";
import type { Stage } from "./stage.js";
import { fields } from "./watch.js";

/** Every whole record in the journal of a stage's bridge, oldest first. */
export async function journalOf(stage: Pick<Stage, "folder">): Promise<readonly Result[]> {
  const folder = join(stage.folder, "data", "journal");
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".jsonl")).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap((text) => text.split("\n").filter((line) => line !== "")).map((line) => fields(line));
}
