import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { Step } from "../greenhouse/command/plan.js";
import { canonical, targetOf } from "../greenhouse/command/words.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { RecordBody } from "../journal/records.js";
import type { Logger } from "../runtime/log.js";
import type { PushBell } from "../sync/push-mirror.js";
import { Aftermath, type Awaited } from "./aftermath.js";
import type { HeldCommand, Interrupted } from "./book.js";
import { type Command, type CommanderPorts, type CommandRequest, laneKey } from "./command.js";
import { Duplicates, payloadKey } from "./duplicates.js";
import { CommandAllowances } from "./flood.js";
import {
  type Arrived,
  commandFrom,
  duplicateRefusal,
  journalRefusal,
  type NotTaken,
  refusalResult,
  understand,
  type Understood,
} from "./intake.js";
import { Lanes } from "./lanes.js";
import { Problems } from "./problems.js";
import { type Abandoned, askedBy, type Ending, resultOf } from "./report.js";
import { type Outcome, RefusalLedger, ResultLedger } from "./results.js";

/* What the log says of commands: who asked what of whom, and what became of it. */

type Log = Pick<Logger, "info"> | undefined;

export function logTaken(log: Log, command: Command): void {
  const { id, controllerId: controller, targetId: actuator, by, via } = command;
  const { command: word, value } = askedBy(command);
  log?.info({ id, controller, actuator, command: word, value, by, via }, "command taken");
}

export function logResult(log: Log, result: CommandResult): void {
  const { id, controller, actuator, command, value, outcome, reason, by, via } = result;
  log?.info({ id, controller, actuator, command, value, outcome, reason, by, via }, "command ended");
}

/** Takes commands, runs them one at a time per actuator, and gives each exactly one result. */
export class Commander {
  readonly #ports: CommanderPorts;
  readonly #lanes: Lanes;
  readonly #duplicates = new Duplicates();
  readonly #seen = new Map<string, ReturnType<Duplicates["taken"]>>();
  readonly #allowances = new CommandAllowances();
  readonly #ledger: RefusalLedger;
  readonly #results: ResultLedger;
  readonly problems: Problems;
  readonly #aftermath: Aftermath;
  /** Commands of an earlier run that are read back. */
  readonly #recovered = new Set<string>();
  #shuttingDown = false;

  constructor(ports: CommanderPorts) {
    this.#ports = ports;
    this.#ledger = new RefusalLedger(ports.journal, ports.clock, ports.commandLog);
    this.#results = new ResultLedger(ports);
    this.problems = new Problems(ports.store);
    this.#lanes = new Lanes({
      ...ports,
      ended: (command, ending) => {
        this.#finish(command, ending);
      },
      reverted: (news) => {
        this.#aftermath.reverted(news);
      },
    });
    this.#aftermath = new Aftermath({
      ...ports,
      problems: this.problems,
      isOurs: ({ settings: { id, travelMs } }, code) =>
        this.#lanes.isMoving({ code, target: "actuator", targetId: id }, travelMs),
    });
    ports.store.onChange((before, after) => {
      this.#aftermath.changed(before, after);
    });
  }

  /** Commands taken and not ended. */
  get open(): readonly Command[] {
    return this.#lanes.open();
  }

  /** Where the platform's pushed values are told. */
  get bell(): PushBell {
    return this.#lanes;
  }

  /** Whether a command is on its way to its end, or an outcome on its way to the journal and its listeners. */
  get isBusy(): boolean {
    return this.#lanes.open().length > 0 || this.isTelling;
  }

  /** Outcomes that are held back until the journal can take them. */
  get heldBack(): number {
    return this.#results.heldBack;
  }

  get isTelling(): boolean {
    return this.#results.open > 0;
  }

  /** Takes a request or answers it with a refusal; never throws. */
  submit(request: CommandRequest): void {
    const receivedAt = this.#ports.clock.now();
    const receivedMono = this.#ports.clock.monotonic();
    const controller = this.#ports.store.byId(request.controllerId);
    const rules = this.#ports.rules();
    const target = targetOf(controller, request, rules);
    const settings = "reason" in target ? null : target;
    const code = controller?.info.code ?? request.controllerId;
    const understood = understand(request, {
      rules,
      target,
      now: receivedAt,
      clockTrusted: this.#ports.clockTrusted(),
      otherBridge: this.#ports.otherBridge(),
      shuttingDown: this.#shuttingDown,
      takesAllowance: (isStop) =>
        this.#allowances.take({ ...request, code }, { isKnown: settings !== null, isStop }, receivedMono),
    });
    const arrived = { request, receivedAt, receivedMono, settings, code };
    if ("refusal" in understood) this.#refuse(arrived, understood);
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
    this.#lanes.close();
    this.#ledger.close();
  }

  #take(arrived: Arrived, understood: Understood, settings: ActuatorSettings): void {
    const { request, code } = arrived;
    const { payload } = understood;
    const lane = laneKey({ code, target: request.target, targetId: request.targetId });
    const own = { id: payload.id, canonical: understood.canonical, payloadKey: payloadKey(request.payload) };
    const duplicate = this.#duplicates.find(lane, own, arrived.receivedMono);
    const refusal =
      duplicate.type === "none"
        ? journalRefusal(this.#ports.journal.state(), understood.wanted)
        : duplicateRefusal(duplicate, payload.id);
    if (refusal !== null) {
      const original = duplicate.type === "duplicate" ? duplicate.original : undefined;
      this.#refuse(arrived, { refusal, payload, canonical: understood.canonical }, original);
      return;
    }
    const command = {
      ...commandFrom(arrived, understood, settings, own.payloadKey, this.#ports.newId),
      dryRun: payload.dryRun || this.#ports.rules().dry_run,
    };
    this.#seen.set(seenKey(command), this.#duplicates.taken(lane, own, command.id));
    if (!command.isOfFlood) logTaken(this.#ports.commandLog, command);
    this.#lanes.submit(command);
  }

  /** Takes up the commands an earlier run left open. */
  recover(interrupted: readonly Interrupted[]): void {
    for (const one of interrupted) {
      const { command } = one;
      const { ownId, id, payloadKey: key } = command;
      const own = { id: ownId ? id : null, canonical: canonical(command.wanted), payloadKey: key };
      this.#seen.set(seenKey(command), this.#duplicates.taken(laneKey(command), own, id));
      this.#recovered.add(seenKey(command));
      this.#lanes.adopt(one);
    }
  }

  /** Ends a command of an earlier run that nobody can read back. */
  abandon({ about, asked, ownId, ending }: Abandoned): void {
    const { clock } = this.#ports;
    const result = resultOf(asked, ending, clock.now(), clock.monotonic());
    this.problems.ended(about, result);
    if (ownId) this.rememberResult(about, result, 0);
    const addressee = { ...about, controllerId: asked.controllerId, response: null };
    this.#publish({ about: addressee, result, isUrgent: false });
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

  /** A value that an earlier run sent and had not seen when its command ended. */
  await(awaited: Awaited): void {
    this.#aftermath.await(awaited);
  }

  /** A command that an earlier run confirmed and had not looked at again: it is read once more now. */
  hold(command: HeldCommand, step: Step): void {
    this.#lanes.hold(command, step);
  }

  restoreUnread(keys: Iterable<string>): void {
    this.#lanes.restoreUnread(keys);
  }

  #finish(command: Command, ending: Ending): void {
    const { clock } = this.#ports;
    const result = resultOf(askedBy(command), ending, clock.now(), clock.monotonic());
    this.problems.ended(command, result);
    this.#aftermath.ended(command, result);
    this.#ports.audience.phase(command, "done");
    const isUrgent = command.wanted.type === "stop" && !this.#recovered.has(seenKey(command));
    this.#recovered.delete(seenKey(command));
    const onTold = () => {
      const seen = this.#seen.get(seenKey(command));
      if (seen) this.#duplicates.ended(seen, result, clock.monotonic());
      this.#seen.delete(seenKey(command));
    };
    if (command.isOfFlood && ending.waited) this.#publishUncounted(command, result, onTold);
    else this.#publish({ about: command, result, isUrgent, onTold });
  }

  #publish(outcome: Outcome): void {
    logResult(this.#ports.commandLog, outcome.result);
    this.#results.note(outcome);
  }

  /** A stop that was one of very many and whose turn never came: in the journal it is one more of a count. */
  #publishUncounted(command: Command, result: CommandResult, onTold: () => void): void {
    onTold();
    const { code, targetId, target } = command;
    this.#ledger.count({ controller: code, actuator: targetId, target }, result);
    this.#ports.audience.result(result, command, null);
  }

  /** Writes into the journal what it could not take when it came, and what was only counted; call it now and then. */
  journalAgain(): Promise<void> {
    this.#ledger.tick();
    return this.#results.again();
  }

  /** Journals what no command waits for; a journal that cannot write says so by itself. */
  #note(record: RecordBody): void {
    void this.#ports.journal.append(record, { durable: false }).catch(() => undefined);
  }

  #refuse(arrived: Arrived, why: NotTaken, original?: CommandResult | null): void {
    const { request, code, settings } = arrived;
    const about = { controller: code, actuator: request.targetId, target: request.target };
    const result = refusalResult(arrived, why, original, this.#ports);
    const { isCounted, sequence: numbered } = this.#ledger.note(about, result, settings !== null);
    if (!isCounted) logResult(this.#ports.commandLog, result);
    void numbered.then((sequence) => {
      this.#ports.audience.result(result, request, sequence);
      this.#ports.audience.showAgain({ ...request, code });
    });
  }
}

/** A sender may use one id for several actuators, as a scene does. */
const seenKey = (command: Command) => `${laneKey(command)} ${command.id}`;
