import type { Commander } from "../bridge/commands/commander.js";
import type { CommandAudience } from "../bridge/commands/command-ports.js";
import { DeliveryMarks } from "../bridge/commands/delivery-marks.js";
import type { BridgeEvent } from "../greenhouse/bridge-events.js";
import type { CommandResult, Via } from "../greenhouse/command/outcomes.js";
import type { Journal } from "../journal/journal.js";
import type { JournaledResult } from "../journal/undelivered.js";
import { incomingCommand } from "../mqtt/command-messages.js";
import type { IncomingMessage } from "../mqtt/connection.js";
import { ResultOutbox } from "../mqtt/result-outbox.js";
import type { Incoming } from "../mqtt/topics.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import { CommandPhases } from "./command-phases.js";
import { createCommander } from "./create-commander.js";
import type { Mirror } from "./mirror.js";
import type { Outputs } from "./outputs.js";

const marksEveryMs = 5_000;
const mostUnanswerable = 100;

export interface CommandDeskParts {
  readonly around: BridgeSurroundings;
  readonly mirror: Mirror;
  readonly outputs: Outputs;
  readonly journal: Journal;
  readonly onEvent: (event: BridgeEvent) => void;
  readonly onResult?: (result: CommandResult) => void;
  /** Whether another bridge works for the same account, so that nothing may be sent. */
  readonly otherBridge?: () => boolean;
  /** Calls back when the requests under way have left; at once when absent. */
  readonly later?: (tell: () => void) => void;
}

/** Where commands come in from the broker and results go out to it. */
export class CommandDesk {
  readonly commander: Commander;
  readonly outbox: ResultOutbox;
  readonly phases: CommandPhases;
  readonly #parts: CommandDeskParts;
  readonly #marks = new DeliveryMarks();
  /** Topics whose retained command was answered on this connection. */
  readonly #retainedAnswered = new Set<string>();
  readonly #unanswerableTopics = new Set<string>();
  #markedThrough = 0;
  #leavesMarks = false;

  constructor(parts: CommandDeskParts) {
    this.#parts = parts;
    const { around, outputs } = parts;
    this.outbox = new ResultOutbox(outputs.topics, outputs.connection, () => around.clock.monotonic());
    this.phases = new CommandPhases({
      base: outputs.topics.base,
      send: (topic, payload) => {
        outputs.send(topic, payload, true);
      },
      later: parts.later,
    });
    const { journal, otherBridge } = parts;
    const { platform, store } = parts.mirror;
    this.commander = createCommander(around, { platform, store, journal, otherBridge }, this.#audience());
  }

  connected(): void {
    this.phases.connected();
    this.outbox.connected();
  }

  /** Not when connected: the next link's retained commands come before that is known. */
  disconnected(): void {
    this.#retainedAnswered.clear();
    this.phases.disconnected();
  }

  received(message: IncomingMessage, where: Extract<Incoming, { type: "command" }>, via: Via): void {
    if (message.retain) {
      // An empty retained message is somebody clearing the topic, which is what the refusal asks for.
      if (message.payload.length === 0 || this.#retainedAnswered.has(message.topic)) return;
      this.#retainedAnswered.add(message.topic);
    }
    const command = incomingCommand(message, where, via, this.#parts.outputs.topics);
    const { responseTopic } = message.properties;
    if (responseTopic !== undefined && command.response === null) this.#unanswerable(responseTopic);
    this.commander.submit(command);
  }

  /** Said once a topic, and for no more topics than anybody reads about. */
  #unanswerable(topic: string): void {
    const { around, outputs } = this.#parts;
    if (this.#unanswerableTopics.has(topic) || this.#unanswerableTopics.size >= mostUnanswerable) return;
    this.#unanswerableTopics.add(topic);
    around.log.warn(
      { topic: topic.slice(0, 200) },
      `a command asks for its answer on a topic where the bridge answers nobody: name one outside ${outputs.topics.base}/ without wildcards that does not begin with $ or end in /set or /config; the result is on .../result`,
    );
  }

  /** A result of an earlier run that may never have arrived. */
  restoreResult({ seq, result, target }: JournaledResult): void {
    const address = { controllerId: result.controller, target, targetId: result.actuator, response: null };
    this.#marks.sent(seq);
    this.outbox.restore(result, address, () => {
      this.#marks.delivered(seq);
    });
  }

  /** A mark counts for everything before it, and so for results of earlier runs that this one could not read. */
  leaveDeliveryMarks(): void {
    this.#leavesMarks = true;
  }

  /** Notes now and then in the journal which results have arrived. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#parts.around.clock.wait(marksEveryMs, signal).catch(() => undefined);
      if (signal.aborted) break;
      await this.commander.journalAgain();
      this.#noteDelivered();
    }
    // Before anything that waits for a disk: what was told to end sends nothing more.
    this.commander.close();
    await this.commander.journalAgain();
    await this.#lastOutcomes();
    this.#noteDelivered();
  }

  /** A POST in flight is let finish, and what ends now is told before the link does; for five seconds at most. */
  async #lastOutcomes(): Promise<void> {
    const { clock } = this.#parts.around;
    const until = clock.monotonic() + 5_000;
    while (this.commander.isBusy && clock.monotonic() < until) await clock.wait(50);
    // A slow disk may still hold outcomes back when the last POST was given up.
    while (this.commander.isTelling && clock.monotonic() < until + 2_000) await clock.wait(50);
  }

  #noteDelivered(): void {
    const { through } = this.#marks;
    if (this.#leavesMarks || through <= this.#markedThrough) return;
    this.#markedThrough = through;
    this.#parts.journal.append({ type: "delivered", through }, { durable: false }).catch(() => undefined);
  }

  #audience(): CommandAudience {
    return {
      phase: (command, phase) => {
        this.phases.show(command, phase);
      },
      result: (result, about, sequence) => {
        this.phases.publish();
        this.#parts.outputs.hasten(result.controller);
        this.#parts.onResult?.(result);
        if (sequence !== null) this.#marks.sent(sequence);
        this.outbox.send(result, about, () => {
          if (sequence !== null) this.#marks.delivered(sequence);
        });
      },
      event: this.#parts.onEvent,
      showAgain: (about) => {
        this.#parts.outputs.showAgain(about);
      },
    };
  }
}
