import type { Configuration } from "../config/schema.js";
import type { Language } from "../greenhouse/labels.js";
import { tellIn } from "../language/languages.js";
import type { SettingsAttempt } from "../page/protocol.js";
import type { WantedSettings } from "../page/protocol.js";
import { type Clock, systemRandom } from "../runtime/clock.js";
import type { SettingsFile } from "../saving/settings-file.js";
import { discoverSteps } from "../setup/discover/command.js";
import { type TriedPart, triedParts, tryParts } from "../setup/init/init.js";
import type { ProcessContext } from "../terminal/context.js";

export { pageFindings } from "../setup/doctor/command.js";

/*
 * The parts of the set-up that the page offers: `doctor`, `discover`, and trying settings. Loaded only when the page
 * asks.
 */

/** What `discover --merge` finds, for the page. */
export async function* discoverForPage(
  configuration: Configuration,
  file: string,
  context: ProcessContext,
  [signal, language]: readonly [signal: AbortSignal, language: Language],
): AsyncGenerator {
  const tell = await tellIn(language);
  for await (const step of discoverSteps(configuration, file, context, { tell, stop: signal })) {
    if ("notes" in step) yield { ...step, notes: step.notes.map(tell) };
    else yield "problem" in step ? { problem: tell(step.problem) } : step;
  }
}

const partOfKey: Readonly<Record<string, TriedPart>> = {
  platform: "platform",
  mqtt: "broker",
  broker: "broker",
  homeassistant: "homeassistant",
};

/** Tries the connections that were changed; all of them if none was. */
export async function* attemptAt(
  settings: SettingsFile,
  wanted: WantedSettings,
  language: Language,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<SettingsAttempt> {
  const proposed = await settings.proposed(wanted);
  if (proposed === null) return;
  const tell = await tellIn(language);
  const { configuration, keys } = proposed;
  const changed = new Set(keys.map((key) => partOfKey[key.replace(/[.[].*$/, "")]));
  const parts = keys.length === 0 ? triedParts : triedParts.filter((part) => changed.has(part));
  const isAnnounced = (part: TriedPart) => part !== "homeassistant" || configuration.homeassistant.enabled;
  const ports = { clock, random: systemRandom };
  for await (const found of tryParts(configuration, parts.filter(isAnnounced), ports, signal)) {
    const { part, check, status, summary, remedy } = found;
    yield { part, check, status, summary: tell(summary), ...(remedy && { remedy: tell(remedy) }) };
  }
}
