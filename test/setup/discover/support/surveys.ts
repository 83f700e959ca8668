import { YAMLMap } from "yaml";
import { deviceType, parameterGroup } from "../../../../src/greenhouse/device-types.js";
import { inEnglish } from "../../../../src/language/languages.js";
import type { RawValue } from "../../../../src/greenhouse/ports.js";
import type { wholeFileText } from "../../../../src/setup/discover/whole-file.js";
import type { Answer, Ask, DeviceSurvey, ListedDevice } from "../../../../src/setup/discover/survey.js";

export const device = (over: Partial<ListedDevice> = {}): ListedDevice => ({
  code: "GH-0001",
  name: "East house",
  type: deviceType("C001"),
  typeName: null,
  stationName: "North farm",
  online: true,
  isController: true,
  ...over,
});

/** Addresses by type id. */
export type Groups = Readonly<Record<number, Readonly<Record<string, RawValue>>>>;

export function answers(groups: Groups): ReadonlyMap<Ask, Answer> {
  return new Map(
    Object.entries(groups).map(([id, values]) => [
      parameterGroup(Number(id)),
      { type: "values", values: Object.entries(values) },
    ]),
  );
}

export const survey = (
  over: Partial<ListedDevice> = {},
  groups: Groups = { 2: { "101": "10001" } },
  more: readonly (readonly [Ask, Answer])[] = [],
): DeviceSurvey => ({
  device: device(over),
  answers: new Map([...more, ...answers(groups)]),
  unanswered: [],
  isOffline: false,
});

/** A whole file about nothing. */
export const file = {
  given: { root: new YAMLMap(), replaced: [] },
  known: { controllers: new Map(), topicIds: new Set<string>(), mentions: () => false },
  survey: { stations: [], devices: [] },
  ...{ language: "en", tell: inEnglish, writtenBy: "test", at: 0 },
} satisfies Parameters<typeof wholeFileText>[0];
