import type { Configuration } from "../../config/schema.js";
import type { Finding } from "./finding.js";
import { deviceTexts, privateTexts } from "./private-texts.js";
import { pseudonyms } from "./pseudonyms.js";
import type { Scene } from "./scene.js";

export type RedactFinding = (finding: Finding) => Finding;

/** What looks like an address of a machine or a person, whoever wrote it. */
const telling: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["address", /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>,;)]+/gi],
  ["mail", /[\w.+-]+@[\w-]+\.[\w.-]+/g],
  ["host", /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\d.])/g],
  ["host", /(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}(?![\w:])/gi],
  ["number", /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi],
];

/**
 * Makes findings fit for a bug report: hosts, codes, names, users, paths and secrets become placeholders that are the same
 * throughout one report.
 */
export function redactor(configuration: Configuration, file: string): (scene: Scene | null) => RedactFinding {
  const names = pseudonyms((kind, number) => `<${kind}-${number}>`);
  for (const [kind, text] of privateTexts(configuration)) names.of(kind, text);
  if (file.includes("/")) names.of("path", file);
  return (scene) => (finding) => {
    if (scene !== null)
      for (const [kind, text] of deviceTexts([...scene.evidence.controllers, ...scene.evidence.devices]))
        names.of(kind, text);
    for (const text of finding.foreign ?? []) names.of("platform-text", text);
    const clean = (text: string) =>
      telling.reduce(
        (left, [kind, pattern]) => left.replace(pattern, (found) => names.of(kind, found)),
        names.replaced(text),
      );
    const { check, status, summary, remedy } = finding;
    return {
      check,
      status,
      summary: clean(summary),
      ...(remedy === undefined ? {} : { remedy: clean(remedy) }),
    };
  };
}
