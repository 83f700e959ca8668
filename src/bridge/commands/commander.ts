import type { CommandResult } from "../../greenhouse/command/outcomes.js";
import type { PayloadRules } from "../../greenhouse/command/payload.js";
import type { Actuator, Controller } from "../../greenhouse/model.js";
import type { RecordBody } from "../../journal/records.js";
import type { ActuatorSettings } from "../../greenhouse/settings.js";
import { Aftermath } from "./aftermath.js";
import { alertFor } from "./alerts.js";
import { type Command, type CommandRequest, laneKey } from "./command.js";
import type { CommandPorts, CommandRules } from "./command-ports.js";
import { Duplicates } from "./duplicates.js";
import { type NotTaken, type Understood, understand } from "./intake.js";
import { Lane } from "./lane.js";
import { Problems } from "./problems.js";
import type { Interrupted } from "./recovery.js";
import { RefusalLedger } from "./refusal-ledger.js";
import { askedBy, type Ending, refused, resultOf } from "./report.js";
import { MinuteCounter } from "./flood.js";
import { payloadKey } from "./payload-key.js";
import { type Arrived, askedFrom, commandFrom } from "./taking.js";

export interface CommanderSettings {
  readonly rules: CommandRules;
  readonly text: PayloadRules;
}

export interface CommanderPorts extends CommandPorts {
  readonly clockTrusted: () => boolean;
  readonly otherBridge: () => boolean;
}

const commandsPerMinute = 600;

/** Takes commands, runs them one at a time per actuator, and gives each exactly one result. */
export class Commander {
  readonly #settings: CommanderSettings;
  readonly #ports: CommanderPorts;
  readonly #lanes = new Map<string, Lane>();
  readonly #duplicates = new Duplicates();
  readonly #seen = new Map<string, ReturnType<Duplicates["taken"]>>();
  readonly #arrivals = new MinuteCounter();
  readonly #ledger: RefusalLedger;
  readonly #unread = new Set<string>();
  readonly problems: Problems;
  readonly #aftermath: Aftermath;
  #shuttingDown = false;

  constructor(settings: CommanderSettings, ports: CommanderPorts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#ledger = new RefusalLedger(ports.journal, ports.clock);
    this.problems = new Problems(ports.store);
    const isOurs = ({ settings }: Actuator, code: string) =>
      this.#lanes
        .get(laneKey({ code, target: "actuator", targetId: settings.id }))
        ?.isMoving(settings.travelMs) ?? false;
    this.#aftermath = new Aftermath({ ...ports, isOurs, problems: this.problems });
    ports.store.onChange((before, after) => {
      this.#aftermath.changed(before, after);
    });
  }

  /** Commands taken and not ended. */
  get open(): readonly Command[] {
    return [...this.#lanes.values()].flatMap((lane) => lane.open());
  }

  get isPosting(): boolean {
    return [...this.#lanes.values()].some((lane) => lane.isPosting);
  }

  /** Takes a request or answers it with a refusal; never throws. */
  submit(request: CommandRequest): void {
    const receivedAt = this.#ports.clock.now();
    const receivedMono = this.#ports.clock.monotonic();
    const controller = this.#ports.store.byId(request.controllerId);
    const settings = this.#settingsOf(controller, request);
    const overloaded = this.#arrivals.count("all", receivedMono) > commandsPerMinute;
    const understood = understand(
      request,
      {
        rules: this.#settings.rules,
        settings,
        now: receivedAt,
        clockTrusted: this.#ports.clockTrusted(),
        otherBridge: this.#ports.otherBridge(),
        shuttingDown: this.#shuttingDown,
        journalProblem: this.#journalProblem(),
        overloaded,
      },
      this.#settings.text,
    );
    const arrived = {
      request,
      receivedAt,
      receivedMono,
      settings,
      code: controller?.info.code ?? request.controllerId,
    };
    if ("refusal" in understood) this.#refuse(arrived, understood, null);
    else if (settings) this.#take(arrived, understood, settings);
  }

  /** A person has seen the controller's problem, or one actuator's. */
  acknowledge(code: string, actuator: string | null): void {
    this.problems.acknowledge(code, actuator);
    this.#note({ type: "acknowledged", controller: code, actuator, by: null, via: null });
  }

  /** Takes nothing new; what was sent stays open in the journal for the next start. */
  close(): void {
    this.#shuttingDown = true;
    for (const lane of this.#lanes.values()) lane.close();
    this.#ledger.close();
  }

  #journalProblem(): string | null {
    const { available, reason } = this.#ports.journal.state();
    return available ? null : (reason ?? "unknown reason");
  }

  #settingsOf(controller: Controller | undefined, request: CommandRequest): ActuatorSettings | null {
    if (request.target !== "actuator") return null;
    return controller?.actuators.get(request.targetId)?.settings ?? null;
  }

  #take(arrived: Arrived, understood: Understood, settings: ActuatorSettings): void {
    const { request, code } = arrived;
    const { payload } = understood;
    const lane = laneKey({ code, target: request.target, targetId: request.targetId });
    const own = { id: payload.id, canonical: understood.canonical, payloadKey: payloadKey(request.payload) };
    const duplicate = this.#duplicates.find(lane, own, arrived.receivedMono);
    if (duplicate.type === "other_command") {
      this.#refuse(
        arrived,
        {
          refusal: {
            reason: "bad_payload",
            message: `The id "${payload.id ?? ""}" was used for another command; give each command an id of its own.`,
          },
          payload,
          canonical: understood.canonical,
        },
        null,
      );
      return;
    }
    if (duplicate.type === "duplicate") {
      this.#refuse(
        arrived,
        {
          refusal: {
            reason: "duplicate",
            message: "The same command was taken before; this one does nothing.",
          },
          payload,
          canonical: understood.canonical,
        },
        duplicate.original,
      );
      return;
    }
    const command = commandFrom(arrived, understood, settings, own.payloadKey, this.#ports.newId);
    this.#seen.set(command.id, this.#duplicates.taken(lane, own));
    this.#laneFor(lane, command).submit(command);
  }

  #laneFor(key: string, { code, target, targetId }: Command): Lane {
    const held = this.#lanes.get(key);
    if (held) return held;
    const about = { controller: code, actuator: targetId, target };
    const lane = new Lane(
      {
        ...this.#ports,
        dryRun: (command) => command.dryRun || this.#settings.rules.dryRun,
        finished: (command, ending) => {
          this.#finish(command, ending);
        },
        accounted: (address, value) => {
          this.#note({ type: "read_back", ...about, id: null, address, value });
        },
      },
      this.#unread.has(key),
    );
    this.#lanes.set(key, lane);
    return lane;
  }

  /** Takes up the commands an earlier run left open. */
  recover(interrupted: readonly Interrupted[]): void {
    for (const one of interrupted) this.#laneFor(laneKey(one.command), one.command).adopt(one);
  }

  /** Results of earlier runs by which repeated ids are still recognised. */
  rememberResult(
    about: Pick<Command, "code" | "target" | "targetId">,
    result: CommandResult,
    agoMs: number,
  ): void {
    const word = result.command ?? "";
    this.#duplicates.remember(laneKey(about), result.id, word, result, agoMs, this.#ports.clock.monotonic());
  }

  /** Actuators whose last POST of an earlier run nobody has read back yet. */
  restoreUnread(keys: Iterable<string>): void {
    for (const key of keys) this.#unread.add(key);
  }

  #finish(command: Command, ending: Ending): void {
    const { clock } = this.#ports;
    const result = resultOf(askedBy(command), ending, clock.now(), clock.monotonic());
    const seen = this.#seen.get(command.id);
    if (seen) this.#duplicates.ended(seen, result, clock.monotonic());
    this.#seen.delete(command.id);
    this.problems.ended(command, result);
    this.#aftermath.ended(command, result);
    this.#tell(command, result);
  }

  #tell(about: Command, result: CommandResult): void {
    const { journal, audience, clock } = this.#ports;
    const record = {
      type: "result",
      controller: about.code,
      actuator: about.targetId,
      target: about.target,
      result,
    } as const;
    audience.phase(about, "done");
    void journal
      .append(record, { durable: result.sent_at !== null })
      .catch(() => null)
      .then((sequence) => {
        audience.result(result, about, sequence);
        const alert = alertFor(result, clock.now());
        if (alert) audience.event(alert);
        if (result.outcome !== "confirmed") audience.showAgain(about.code, about.targetId);
      });
  }

  /** Journals what no command waits for; a journal that cannot write says so by itself. */
  #note(record: RecordBody): void {
    void this.#ports.journal.append(record, { durable: false }).catch(() => undefined);
  }

  #refuse(arrived: Arrived, { refusal, payload, canonical }: NotTaken, original: CommandResult | null): void {
    const { request, code } = arrived;
    const { clock, audience } = this.#ports;
    const asked = askedFrom(arrived, payload, canonical, this.#ports.newId);
    const ending = refused(refusal.reason, refusal.message);
    const plain = resultOf(asked, ending, clock.now(), clock.monotonic());
    const result = original ? { ...plain, original } : plain;
    void this.#ledger
      .note({ controller: code, actuator: request.targetId, target: request.target }, result)
      .then((sequence) => {
        audience.result(result, request, sequence);
        audience.showAgain(code, request.targetId);
      });
  }
}
