import type { Interrupted } from "../../src/commands/command.js";
import type { CommandRequest } from "../../src/commands/command.js";
import { Commander } from "../../src/commands/commander.js";
import { StepRecording } from "../../src/commands/recording.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import type { AlarmFacts } from "../../src/greenhouse/limits.js";
import { parameterGroup } from "../../src/greenhouse/device-types.js";
import type { ActuatorSettings, ParameterSettings } from "../../src/greenhouse/settings.js";
import type { Durable, RecordBody } from "../../src/journal/records.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import type { Configuration } from "../../src/config/schema.js";
import { LimitEngine } from "../../src/limits/engine.js";
import { actuator as actuatorOf, controllerSettings, restored, silentLog } from "./builders.js";
import { ScriptedPlatform } from "./scripted-platform.js";
import { VirtualClock } from "./virtual-clock.js";

export interface CommandBenchOptions {
  readonly actuators?: readonly Partial<ActuatorSettings>[];
  /** `own`: by the program's own decision. */
  readonly readOnly?: boolean | "own";
  readonly dryRun?: boolean;
  readonly requireAge?: boolean;
  readonly requireBy?: boolean;
  readonly parameters?: readonly ParameterSettings[];
  readonly ignored?: readonly ActuatorSettings[];
  readonly rawAddresses?: boolean;
  readonly controllerIntervalMs?: number;
  /** The platform's values, by address. */
  readonly registers?: Readonly<Record<string, string | number>>;
  /** Whether every step is recorded. */
  readonly isRecorded?: boolean;
  /** Weather topics, by name. */
  readonly weather?: Configuration["weather"];
}

/** The commander on a virtual clock with a scripted platform and a journal in memory. */
export class CommandBench {
  readonly clock = new VirtualClock();
  readonly platform = new ScriptedPlatform(this.clock);
  readonly records: RecordBody[] = [];
  readonly lines: (readonly [string, Readonly<Record<string, unknown>>])[] = [];
  /** Records for which something waited until they were on disk. */
  readonly durable: RecordBody[] = [];
  readonly results: CommandResult[] = [];
  readonly phases: string[] = [];
  readonly events: BridgeEvent[] = [];
  readonly store: GreenhouseStore;
  readonly commander: Commander;
  readonly engine: LimitEngine;
  /** Messages of the alarms that limits raised, by type. */
  readonly alarms = new Map<string, string>();
  /** The facts of the newest alarm of each type. */
  readonly alarmFacts = new Map<string, AlarmFacts | undefined>();
  /** The lead of the platform's clock; null while it gives no time. */
  clockSkewMs: number | null = 0;
  otherBridge = false;
  journalProblem: string | null = null;
  /** Records that the disk refuses. */
  refuses: (record: RecordBody) => boolean = () => false;
  /** Records that are written but lost in a power cut. */
  losesWithPower: (record: RecordBody) => boolean = () => false;
  /** The time that the disk takes for a durable record. */
  diskMs = 0;
  /** The journal's own state, if it does not know of its problem yet. */
  journalAvailable: boolean | null = null;
  /** Ids of commands left open by an earlier run. */
  readonly openBefore = new Set<string>();
  /** Replaces the option. */
  readOnly: CommandBenchOptions["readOnly"];
  readonly #target: string;
  readonly #frames: Uint8Array[] = [];
  readonly #recording = new StepRecording((bytes) => this.#frames.push(bytes));
  #ids = 0;

  constructor(options: CommandBenchOptions = {}) {
    this.#target = options.actuators?.[0]?.id ?? "roof";
    for (const [address, raw] of Object.entries(options.registers ?? {}))
      this.platform.registers.set(address, raw);
    const settings = controllerSettings({
      actuators: (options.actuators ?? [{}]).map((over) => actuatorOf(over)),
      parameters: options.parameters ?? [],
      ignored: options.ignored ?? [],
    });
    const mirror = {
      mirror: "all",
      controllers: new Map([["GH-0001", settings]]),
      staleAfterMs: 900_000,
    } as const;
    this.store = new GreenhouseStore(mirror, this.clock, (text) => text);
    this.store.setReachable(true);
    this.store.admit("GH-0001");
    const limitPorts = {
      ...{ clock: this.clock, store: this.store, run: "r" },
      configuration: { weather: options.weather ?? {}, polling: { stale_after: 900_000 } },
      journal: {
        append: (record: RecordBody, { durable }: { readonly durable: boolean }) =>
          this.#append(record, durable),
      },
      readOnly: () => ({
        commands: this.#readOnly(options) !== false,
        rules: this.#readOnly(options) === true,
      }),
      book: () => this.commander,
      onEvent: (event: BridgeEvent) => this.events.push(event),
    };
    this.engine = new LimitEngine(limitPorts, {
      set: (type, _, message, facts) => {
        if (message !== null) this.alarmFacts.set(type, facts);
        if (message === null) this.alarms.delete(type);
        else this.alarms.set(type, message);
      },
    });
    this.commander = new Commander({
      limits: this.engine,
      recording: options.isRecorded === true ? this.#recording : undefined,
      rules: () => ({
        read_only: this.#readOnly(options) !== false,
        readOnlyForRules: this.#readOnly(options) === true,
        otherBridge: this.otherBridge,
        dry_run: options.dryRun ?? false,
        max_age: 60_000,
        require_age: options.requireAge ?? false,
        require_by: options.requireBy ?? false,
        raw_addresses: options.rawAddresses ?? false,
        min_interval: 2_000,
        controller_interval: options.controllerIntervalMs ?? 0,
        response_topics: [],
      }),
      platform: this.platform,
      store: this.store,
      journal: {
        append: (record, { durable }) => this.#append(record, durable),
        isOpen: (_, id) =>
          (this.records.some((record) => record.type === "command_taken" && record.id === id) &&
            !this.records.some((record) => record.type === "result" && record.result.id === id)) ||
          this.openBefore.has(id),
        isChecked: (_, id) =>
          this.records.some((one) => one.type === "phase" && one.phase === "checking" && one.id === id),
        state: () => ({
          available: this.journalAvailable ?? this.journalProblem === null,
          reason: this.journalProblem,
        }),
      },
      output: {
        phase: (command, phase) => this.phases.push(`${command.id} ${phase}`),
        result: (result) => this.results.push(result),
        event: (event) => this.events.push(event),
      },
      clock: this.clock,
      log: silentLog,
      commandLog: {
        info: (facts: Readonly<Record<string, unknown>>, message?: string) => {
          this.lines.push([message ?? "", facts]);
        },
      },
      newId: () => `c${++this.#ids}`,
      clockSkewMs: () => this.clockSkewMs,
    });
  }

  #readOnly({ readOnly = false }: CommandBenchOptions): boolean | "own" {
    return this.readOnly ?? readOnly;
  }

  #append(record: RecordBody, durable: Durable): Promise<number> {
    if (durable !== false) this.durable.push(record);
    if (this.journalProblem !== null) return Promise.reject(new Error(this.journalProblem));
    if (this.refuses(record)) return Promise.reject(new Error("the disk does not take this one"));
    this.records.push(record);
    if (this.losesWithPower(record))
      return Promise.reject(new Error("the disk could not be asked to keep it"));
    const sequence = this.records.length;
    return durable !== false && this.diskMs > 0
      ? this.clock.wait(this.diskMs).then(() => sequence)
      : Promise.resolve(sequence);
  }

  async journalAgain(): Promise<void> {
    this.commander.journalAgain();
    await this.clock.advance(0);
  }

  /** Takes up a command that an earlier run left open. */
  recover(one: Interrupted): void {
    const command = { ...one.command, isRecovered: true } as const;
    this.commander.feed(restored(command, { interrupted: [{ ...one, command }] }));
  }

  /** A poll of `GH-0001` that shows this value now. */
  polled(address: string, raw: string): void {
    this.store.dispatch("GH-0001", {
      type: "registers_read",
      values: new Map([[address, raw]]),
      startedAt: this.clock.monotonic(),
      readAt: this.clock.now(),
      fresh: false,
      source: "poll",
    });
  }

  /** A poll of a control-parameter type of `GH-0001` that lists these addresses. */
  listed(group: number, values: Readonly<Record<string, string | number>>): void {
    const listed = { group: parameterGroup(group), values: new Map(Object.entries(values)) };
    this.store.dispatch("GH-0001", {
      ...{ type: "registers_read", values: listed.values, listed, fresh: false, source: "poll" },
      startedAt: this.clock.monotonic(),
      readAt: this.clock.now(),
    });
  }

  /** Sends a command, to the first actuator by default. */
  send(payload: string, over: Partial<CommandRequest> = {}): void {
    this.commander.submit({
      controllerId: "gh-0001",
      target: "actuator",
      targetId: this.#target,
      payload: new TextEncoder().encode(payload),
      retained: false,
      expiryMs: null,
      by: null,
      via: null,
      response: null,
      ...over,
    });
  }

  /** In order: sends texts, lets ms pass, and calls functions. */
  async play(...happenings: readonly (string | number | ((bench: CommandBench) => void))[]): Promise<void> {
    for (const one of happenings)
      if (typeof one === "string") this.send(one);
      else if (typeof one === "number") await this.clock.advance(one);
      else one(this);
  }

  /** All steps so far in the form of a file. */
  get recording(): Uint8Array {
    return Buffer.concat(this.#frames);
  }

  /** The outcome and reason of each command, by id. */
  get outcomes(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      this.results.map(({ id, outcome, reason }) => [id, reason === null ? outcome : `${outcome} ${reason}`]),
    );
  }

  /** Sends a command and waits until any command would have ended; returns the last result. */
  async run(payload: string, over: Partial<CommandRequest> = {}): Promise<CommandResult> {
    this.send(payload, over);
    await this.clock.advance(400_000);
    const result = this.results.at(-1);
    if (!result) throw new Error("the command has no result");
    return result;
  }

  values(): string[] {
    return this.platform.posts.map(({ address, value }) => `${address}=${value}`);
  }
}
