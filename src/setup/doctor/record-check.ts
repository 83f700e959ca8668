import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PlatformError } from "../../greenhouse/platform-error.js";
import type { Query } from "../../greenhouse/ports.js";
import { readOnlyOperations } from "../../platform/operations.js";
import type { RawAnswer } from "./answers.js";
import { failed, ok, warning, type Verdict } from "./finding.js";
import { fixtureText } from "./fixture.js";
import { sampleControllers } from "./platform-checks.js";
import { deviceTexts, privateTexts } from "./private-texts.js";
import type { Check, Scene } from "./scene.js";
import { scrubBook, type ScrubBook } from "./scrub.js";

/** Saves the answers of every read operation, scrubbed, as files for tests. Existing files are never touched. */
export const recordCheck = (directory: string): Check => ({
  id: "record",
  needs: [],
  run: (scene, signal) => recordVerdict(directory, scene, signal),
});

async function recordVerdict(directory: string, scene: Scene, signal: AbortSignal): Promise<Verdict> {
  const unanswered = await askTheRest(scene, signal);
  const answers = scene.answers.list();
  if (answers.length === 0)
    return failed("there is no answer to save", "correct what failed above and try again");
  const files = fileNames(answers);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    if ((await readdir(directory)).length > 0) return occupied(directory);
    const book = knownNames(scene);
    const { time_zone: timeZone } = scene.configuration.platform;
    for (const [index, answer] of answers.entries())
      await writeFile(join(directory, files[index] ?? ""), fixtureText(answer, timeZone, book), {
        flag: "wx",
        mode: 0o600,
      });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return code === "EEXIST"
      ? occupied(directory)
      : failed(`${directory} cannot be written (${code})`, "name a folder that can be written");
  }
  const saved = `${answers.length} answers are in ${directory}, with codes, names and tokens replaced; look through them before you pass them on`;
  return unanswered.length === 0
    ? ok(saved)
    : warning(
        `${saved}; no answer to ${unanswered.join(", ")}`,
        "these operations may need parameters the interface does not name",
      );
}

const occupied = (directory: string): Verdict =>
  failed(`${directory} is not empty, and nothing there is overwritten`, "name another folder");

/** Operations that no check has asked yet. Their parameters are not known, so a refusal is no fault. */
async function askTheRest(scene: Scene, signal: AbortSignal): Promise<readonly string[]> {
  const asked = new Set(scene.answers.list().map(({ operation }) => operation));
  const [first] = sampleControllers(scene, 1);
  const query: Query = first === undefined ? {} : { deviceCode: first.code };
  const unanswered: string[] = [];
  for (const { name } of readOnlyOperations) {
    if (asked.has(name) || name === "get-value" || name === "set-value/flush") continue;
    try {
      await scene.answers.ask(name, query, signal);
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      unanswered.push(name);
    }
  }
  return unanswered;
}

function knownNames({ configuration, evidence }: Scene): ScrubBook {
  const book = scrubBook();
  const texts = [
    ...privateTexts(configuration),
    ...deviceTexts([...evidence.controllers, ...evidence.devices]),
  ];
  for (const [kind, text] of texts)
    if (kind !== "path" && kind !== "user") book.names.of(kind === "secret" ? "token" : kind, text);
  return book;
}

/** `sensor-data.json`, `sensor-data-2.json`, `set-value-flush.json`. */
function fileNames(answers: readonly RawAnswer[]): readonly string[] {
  const counts = new Map<string, number>();
  return answers.map(({ operation }) => {
    const number = (counts.get(operation) ?? 0) + 1;
    counts.set(operation, number);
    return `${operation.replaceAll("/", "-")}${number === 1 ? "" : `-${number}`}.json`;
  });
}
