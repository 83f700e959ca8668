import { computed, signal } from "@preact/signals";
import { get } from "./live.js";
import type { ControllerView, SettingsDocument, SettingsProposal } from "./protocol.js";
import type { Sentence } from "./sentences.js";
import {
  withChange,
  type Draft,
  inKey,
  isGiven,
  moveName,
  namesOfSensors,
  orderOfKnown,
  type Orders,
  type PartName,
  type SensorNames,
  namesToPlace,
  without,
  withSensorNames,
} from "./settings-parts.js";

/* Unsaved changes of the settings, and the bridge's judgement on them. */

interface Mirrored {
  readonly code: string;
  readonly name: string;
}

export const settings = signal<SettingsDocument | null>(null);
export const isMissing = signal(false);
export const draft = signal<Draft>({});
/** The wanted order of names, by key of the section. */
export const orders = signal<Orders>({});
/** The whole text while it is edited as such; null otherwise. */
export const text = signal<string | null>(null);
export const proposal = signal<SettingsProposal | null>(null);
export const part = signal<PartName>("greenhouses");
export const said = signal<Sentence | null>(null);
export const isSaving = signal(false);

export const given = computed(() => settings.value?.given ?? {});
type ShownSensors = ControllerView["sensors"];

/** By controller, of those that were opened. */
export const shownSensors = signal<Readonly<Record<string, ShownSensors>>>({});
export const sensorNames = computed((): SensorNames =>
  Object.fromEntries(
    Object.entries(shownSensors.value).map(([code, sensors]) => [code, namesOfSensors(sensors)]),
  ),
);

export const wanted = computed(() => {
  if (text.value !== null) return { text: text.value };
  const order = orderOfKnown(orders.value, given.value, draft.value);
  const changes = withSensorNames(draft.value, given.value, sensorNames.value);
  return { changes, ...(Object.keys(order).length > 0 && { order }) };
});
export const hasChanges = computed(() => text.value !== null || countOfChanges.value > 0);
export const countOfChanges = computed(
  () => Object.keys(draft.value).length + Object.keys(orders.value).length,
);

export const put = (key: string, value: unknown) =>
  (draft.value = withChange(draft.value, given.value, key, value));
export const takeOut = (key: string) => (draft.value = without(draft.value, given.value, key));

/** Moves a name of a section up (-1) or down (1). Names missing in the file are added if their place needs it. */
export function move(at: string, names: readonly string[], name: string, by: number): void {
  const after = moveName(names, name, by);
  const isInFile = (one: string) => isGiven(inKey(at, one), given.value, {});
  const order = namesToPlace(names, after, isInFile);
  const added = order.map((one) => inKey(at, one)).filter((key) => !isGiven(key, given.value, draft.value));
  draft.value = { ...draft.value, ...Object.fromEntries(added.map((key) => [key, {}])) };
  orders.value = { ...orders.value, [at]: order };
}

/** The platform's controllers by code, also those that the file does not mention. */
export const mirrored = signal<Readonly<Record<string, string>>>({});

export async function loadSensors(code: string): Promise<void> {
  if (Object.hasOwn(shownSensors.value, code)) return;
  const { status, body } = await get<ControllerView>(`api/controllers/${encodeURIComponent(code)}`);
  if (status === 200 && body !== null) shownSensors.value = { ...shownSensors.value, [code]: body.sensors };
}

export async function load(): Promise<void> {
  void get<Readonly<Record<string, Mirrored>>>("api/controllers").then(({ status, body }) => {
    if (status !== 200 || body === null) return;
    const all = Object.values(body).filter((one): one is Mirrored => typeof one === "object");
    mirrored.value = Object.fromEntries(all.map(({ code, name }) => [code, name]));
  });
  const { status, body } = await get<SettingsDocument>("api/settings");
  if (status === 200) settings.value = body;
  isMissing.value = status === 404;
}
