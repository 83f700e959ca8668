import type { Command, Phase, ResultAddressee } from "../commands/command.js";
import { allowedOf, canonical } from "../greenhouse/command/words.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { kindRows } from "../greenhouse/actuator-kinds.js";
import { valueTable } from "../greenhouse/actuator-values.js";
import {
  actuatorDocument,
  isoOrNull,
  parameterDocument,
  sensorDocument,
  statusDocument,
} from "../greenhouse/documents.js";
import type { Actuator, Controller, Quality, Sensor } from "../greenhouse/model.js";
import { translatedSensorName, translatedStatusName } from "../greenhouse/sensor-names.js";
import { forgetOldest } from "../runtime/logins.js";
import type {
  ActuatorView,
  CommandDocument,
  ControllerView,
  Label,
  LimitsDocument,
  OverviewRow,
} from "../page/protocol.js";

const worst: readonly Quality[] = ["bad", "stale", "uncertain", "good"];

/** Commands as they are told; more than anybody asks for later. */
const mostKept = 1_000;

interface Followed {
  readonly document: CommandDocument;
  readonly result: CommandResult | null;
}

interface Shown {
  readonly command: CommandDocument | null;
  readonly result: CommandResult | null;
}

const nothing: Shown = { command: null, result: null };
const keyOf = (controller: string, target: string, id: string) => `${controller} ${target} ${id}`;

/** The newest commands by id, and of each target the newest command and the last result. */
export class CommandBoard {
  readonly #byId = new Map<string, Followed>();
  readonly #shown = new Map<string, Shown>();
  readonly #running = new Map<string, ReadonlyMap<string, CommandDocument>>();
  readonly #waiting = new Map<string, readonly ((result: CommandResult) => void)[]>();
  #newest: CommandResult | null = null;

  phase(command: Command, phase: Phase): void {
    const { id, controllerId: controller, target, targetId: actuator, by, via } = command;
    const document: CommandDocument = {
      ...{ id, controller, actuator, phase, by, via, command: canonical(command.wanted) },
      received_at: new Date(command.receivedAt).toISOString(),
    };
    this.#keep(id, { document, result: this.#byId.get(id)?.result ?? null });
    const key = keyOf(controller, target, actuator);
    const before = this.#shown.get(key) ?? nothing;
    const isNewer = !before.command || before.command.received_at <= document.received_at;
    if (isNewer || before.command.phase === "done") this.#shown.set(key, { ...before, command: document });
    const running = new Map(this.#running.get(controller));
    running.delete(id);
    if (phase !== "done") running.set(id, document);
    this.#running.set(controller, running);
  }

  result(result: CommandResult, { controllerId, target, targetId }: ResultAddressee): void {
    this.#newest = result;
    if (result.outcome === "refused") {
      for (const tell of this.#waiting.get(result.id) ?? []) tell(result);
      this.#waiting.delete(result.id);
    }
    // The answer to a repeated message is news for its sender alone, and names are invented without end.
    if (result.reason === "duplicate" || result.reason === "unknown_actuator") return;
    const followed = this.#byId.get(result.id);
    if (followed && isOf(followed.document, result)) this.#byId.set(result.id, { ...followed, result });
    const key = keyOf(controllerId, target, targetId);
    this.#shown.set(key, { ...(this.#shown.get(key) ?? nothing), result });
  }

  /** A result of an earlier run, the newest first. */
  restore(result: CommandResult, target: string): void {
    const key = keyOf(result.controller, target, result.actuator);
    if (!this.#shown.has(key)) this.#shown.set(key, { command: null, result });
  }

  find(id: string): Followed | null {
    return this.#byId.get(id) ?? null;
  }

  shown(controllerId: string, target: string, id: string): Shown {
    return this.#shown.get(keyOf(controllerId, target, id)) ?? nothing;
  }

  /** The newest that is under way at a controller. */
  running(controllerId: string): CommandDocument | null {
    return [...(this.#running.get(controllerId)?.values() ?? [])].at(-1) ?? null;
  }

  /**
   * Submits a request; resolves with the result where it is refused. That is told at once, or when the journal has it.
   */
  async refusal(
    submit: () => { readonly id: string; readonly isTaken: boolean },
  ): Promise<{ readonly id: string; readonly refused: CommandResult | null }> {
    this.#newest = null;
    const { id, isTaken } = submit();
    if (isTaken) return { id, refused: null };
    const told = this.#newest as CommandResult | null;
    if (told?.id === id && told.outcome === "refused") return { id, refused: told };
    const refused = await new Promise<CommandResult>((resolve) => {
      this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), resolve]);
    });
    return { id, refused };
  }

  #keep(id: string, followed: Followed): void {
    this.#byId.delete(id);
    this.#byId.set(id, followed);
    forgetOldest(this.#byId, mostKept);
  }
}

/** Whether a result is of the command that was followed, and not of another message under its id. */
const isOf = (document: CommandDocument, result: CommandResult): boolean =>
  document.controller === result.controller &&
  document.actuator === result.actuator &&
  document.received_at === result.received_at;

export function overviewRow(controller: Controller, board: CommandBoard, alarms: number): OverviewRow {
  const { info, availability, problem, sensors } = controller;
  const qualities = new Set<Quality>();
  let oldest: number | null = null;
  for (const { quality, measuredAt } of sensors.values()) {
    qualities.add(quality);
    if (measuredAt !== null && (oldest === null || measuredAt < oldest)) oldest = measuredAt;
  }
  return {
    ...{ name: info.name, availability, problem },
    quality: worst.find((quality) => qualities.has(quality)) ?? null,
    oldest_reading_at: isoOrNull(oldest),
    command: board.running(info.id),
    alarms,
  };
}

export function controllerView(
  { info, availability, problem, sensors, actuators, statuses, parameters }: Controller,
  board: CommandBoard,
): ControllerView {
  const { id, code, name } = info;
  const each = <Item, Shown>(items: ReadonlyMap<string, Item>, show: (item: Item, id: string) => Shown) =>
    Object.fromEntries([...items].map(([key, item]) => [key, show(item, key)]));
  return {
    ...{ id, code, name, availability, problem },
    sensors: each(sensors, (sensor) => ({ ...sensorDocument(sensor), label: sensorLabel(sensor) })),
    actuators: each(actuators, (actuator, key) => ({
      ...actuatorView(actuator),
      ...board.shown(id, "actuator", key),
      ...limitsDocument(actuator),
    })),
    status: each(statuses, (status) => ({ ...statusDocument(status), label: statusLabel(status.name) })),
    parameters: each(parameters, (parameter, key) => ({
      ...parameterDocument(parameter),
      name: parameter.settings.name ?? key,
      writable: parameter.settings.writable ?? null,
      ...board.shown(id, "parameter", key),
    })),
  };
}

/** Its own name where it was given one, else the platform's in the words of the catalogue. */
function sensorLabel({ definition: { name, platformName } }: Sensor): Label {
  const inWords = (language: "en" | "zh") => translatedSensorName(platformName, language) ?? name;
  return name === platformName ? { en: inWords("en"), zh: inWords("zh") } : { en: name, zh: name };
}

const statusLabel = (name: string): Label => ({
  en: translatedStatusName(name, "en") ?? name,
  zh: translatedStatusName(name, "zh") ?? name,
});

/** What may be commanded, who locked it, and what ends by itself. */
const limitsDocument = (actuator: Actuator): LimitsDocument => ({
  allowed: allowedOf(actuator),
  lock: actuator.restrictions?.lock ?? null,
  lease: actuator.restrictions?.lease ?? null,
});

function actuatorView(actuator: Actuator): Omit<ActuatorView, "command" | "result" | keyof LimitsDocument> {
  const { settings } = actuator;
  const words = Object.keys(valueTable(settings));
  return {
    ...actuatorDocument(actuator),
    name: settings.name ?? settings.id,
    kind: settings.kind,
    words: words.filter((word) => word !== "stop"),
    degrees: kindRows[settings.kind].positionMode !== null,
    stop: settings.stop !== undefined || words.includes("stop"),
    read_only: settings.readOnly,
  };
}

/** The journal as a table for a spreadsheet, after RFC 4180; a text that a spreadsheet would take for a formula is quoted. */
export function csvOf(
  rows: readonly Readonly<Record<string, unknown>>[],
  columns: readonly string[],
): string {
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
  return `\uFEFF${lines.map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join("")}`;
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = typeof value === "string" && /^[=+\-@]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
