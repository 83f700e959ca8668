import { deviceRemarks } from "./device-text.js";
import { actuatorIds, parameterIds } from "./entry-ids.js";
import { stateWord } from "./evidence.js";
import {
  findingsOf,
  type DoubtfulAddress,
  type Findings,
  type FoundActuator,
  type FoundParameter,
} from "./findings.js";
import type { KnownController } from "./known-file.js";
import { commentText } from "./safe-text.js";
import type { DeviceSurvey } from "./survey.js";
import { typeName } from "../../greenhouse/type-rows.js";
import { flowText, keyText, plainNumber } from "./yaml-lines.js";

export type Language = "en" | "zh";

export interface Style {
  /** Of the names of actuators and parameters. */
  readonly language: Language;
  /** Without what the bridge mirrors by itself. */
  readonly isBrief: boolean;
}

/** The part of a configuration about one controller; lines without indentation of their own section. */
export interface ControllerEntry {
  /** Comments about the controller as a whole. */
  readonly remarks: readonly string[];
  /** Below `actuators:`. */
  readonly actuators: readonly string[];
  /** Comments: addresses that nothing can be made of without knowing more. */
  readonly doubtful: readonly string[];
  /** Comments: entries below `parameters:`, to be switched on by taking away the `#`. */
  readonly parameters: readonly string[];
}

export const nothingKnown: KnownController = {
  actuatorIds: new Set(),
  parameterIds: new Set(),
  addresses: new Set(),
};

const mostAddresses = 1_000;

/** What was found on a controller and is not known yet. */
export function controllerEntry(
  survey: DeviceSurvey,
  known: KnownController,
  { language, isBrief }: Style,
): ControllerEntry {
  const found = news(findingsOf(survey), known);
  const ids = actuatorIds(found.actuators, known.actuatorIds);
  const actuators = found.actuators.map((one) => actuatorLine(ids.get(one.address) ?? "", one, language));
  return {
    remarks: deviceRemarks(survey, isBrief),
    actuators,
    doubtful: found.doubtful.map(doubtfulLine),
    parameters: parameterLines(found.parameters, known, language),
  };
}

export const hasNothing = ({ actuators, doubtful, parameters }: ControllerEntry): boolean =>
  actuators.length + doubtful.length + parameters.length === 0;

function news(found: Findings, { addresses }: KnownController): Findings {
  const fresh = <Item extends { readonly address: string }>(items: readonly Item[]) =>
    items.filter(({ address }) => !addresses.has(address)).slice(0, mostAddresses);
  return {
    actuators: fresh(found.actuators),
    parameters: fresh(found.parameters),
    doubtful: fresh(found.doubtful),
  };
}

function actuatorLine(
  id: string,
  { address, group, raw, row, alsoIn }: FoundActuator,
  language: Language,
): string {
  const names = { kind: row.kind, name: nameFor(row, address, id, language) };
  const entry = flowText({ ...names, address: plainNumber(address), type_id: group });
  const state = stateWord(row.kind, raw);
  const remarks = [
    `now ${commentText(String(raw), 40)}${state === null ? "" : ` (${state})`}`,
    row.assumption,
    alsoIn.length === 0 ? undefined : `also in ${alsoIn.map(typeName).join(", ")}`,
  ];
  return `${keyText(id)}: ${entry} # ${remarks.filter((one) => one !== undefined).join("; ")}`;
}

type Named = Pick<FoundActuator["row"] | FoundParameter["row"], "word" | Language>;

/** Where the word alone does not tell it from others, neither does the name. */
const nameFor = (row: Named, address: string, id: string, language: Language): string =>
  id === row.word ? row[language] : `${row[language]} (${address})`;

const doubtfulLine = ({ address, raw, group, why }: DoubtfulAddress): string =>
  `# address ${commentText(address, 70)} of ${typeName(group)} holds ${commentText(String(raw), 40)}: ${why}`;

function parameterLines(
  found: readonly FoundParameter[],
  known: KnownController,
  language: Language,
): readonly string[] {
  const ids = parameterIds(found, known.parameterIds);
  return found.map(({ address, group, raw, row }) => {
    const id = ids.get(address) ?? "";
    const name = nameFor(row, address, id, language);
    const entry = flowText({ name, address: plainNumber(address), type_id: group });
    return `# ${keyText(id)}: ${entry} # now ${commentText(String(raw), 40)}`;
  });
}
