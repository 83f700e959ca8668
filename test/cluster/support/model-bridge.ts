import { Receipts } from "../../../src/commands/service.js";
import type { Reach } from "../../../src/cluster/membership.js";
import type { OwnedRun } from "../../../src/cluster/cluster.js";
import { withLease } from "../../../src/cluster/lease.js";
import { PlatformError, type PlatformWriter } from "../../../src/greenhouse/ports.js";
import type { Journal } from "../../../src/journal/journal.js";
import { lanesUnderWay } from "../../../src/journal/under-way.js";
import {
  aboutKey,
  type CommandTaken,
  type JournalRecord,
  type LaneMemory,
  type RecordBody,
} from "../../../src/journal/records.js";
import { newestRecords } from "../../../src/journal/reader.js";
import { journalDirectory } from "../../../src/journal/open.js";
import type { FileSystem } from "../../../src/runtime/file-system.js";
import { silentLog } from "../../../src/runtime/log.js";
import { type EndOfLease, ModelLeases } from "./model-leases.js";
import type { Process } from "./process.js";

export interface ModelLease {
  readonly actuator: string;
  readonly forMs: number;
}

/** A command as the broker delivers it, repeatedly until it is acknowledged. */
export interface ModelMessage {
  readonly id: string;
  readonly isStop: boolean;
  /** For a command that ends by itself: the actuator, and the time in ms. */
  readonly lease: ModelLease | null;
  /** Whether it may have been delivered to an earlier link. */
  readonly isKept: boolean;
  readonly acknowledge: () => void;
}

/** A bridge's surroundings, as the judge of a history sees them. */
export interface Surroundings {
  /** The values written are ids of commands. */
  platformOf(process: Process): PlatformWriter;
  /** Whether a read shows the command; null if the platform does not answer. */
  read(process: Process, id: string): Promise<boolean | null>;
  connect(
    process: Process,
    on: { readonly command: (message: ModelMessage) => void; readonly lost: () => void },
  ): void;
  disconnect(process: Process): void;
  /** For commands of rules. */
  newId(): string;
  /** The value of an actuator; null if the platform does not answer. */
  shows(process: Process, actuator: string): string | null;
  /** The journal has that this was carried out. */
  ended(id: string): void;
  /** The platform's time; null if it does not answer. */
  date(process: Process): string | null;
  /** What the process cannot reach now. */
  lacks(process: Process): readonly Reach[];
  /** It was acknowledged only so that a broker with a limit can deliver the next one. */
  madeRoom(id: string): void;
  /** False without a link. */
  tell(process: Process, id: string, outcome: string): boolean;
}

interface About {
  readonly controller: string;
  readonly actuator: string;
}

const aboutOf = (lease: ModelLease | null): About => ({
  controller: "GH-0001",
  actuator: lease?.actuator ?? "vent",
});

const takenBy = (id: string, about: About): CommandTaken => ({
  type: "command_taken",
  ...about,
  id,
  command: "open",
  value: "10010",
  steps: [],
  by: null,
  via: null,
  payload_hash: "",
  received_at: "",
  max_age_ms: 60_000,
  own_id: true,
});

const sending = (id: string, about: About, memory?: LaneMemory): RecordBody => ({
  ...{ type: "phase", ...about, id, phase: "sending", ...(memory && { memory }) },
});

const answered = (id: string, about: About, isSent = true): RecordBody => ({
  type: "step_answered",
  ...about,
  id,
  address: "101",
  attempt: 1,
  code: isSent ? "200" : null,
  request_id: null,
  error: isSent ? null : "not sent",
  sent: isSent,
});

const resultOf = (id: string, outcome: string, about: About): RecordBody =>
  ({ type: "result", ...about, result: { id, outcome, finished_at: "" } }) as unknown as RecordBody;

/** The most commands left unacknowledged, so that a stop need not wait for a place. */
const mostOwed = 12;

/** After this time a read shows what became of a POST of an earlier owner. */
const readBackMs = 40_000;

/**
 * A bridge reduced to its part in a take-over: commands are journaled, sent, confirmed, journaled and reported;
 * commands that the previous owner left open are read back. The journal and the acknowledgement to the broker are the
 * real ones.
 */
export class ModelBridge {
  readonly #owned: OwnedRun;
  readonly #process: Process;
  readonly #files: FileSystem;
  readonly #around: Surroundings;
  readonly #outcomes = new Map<string, string | null>();
  /** Outcomes that the journal has not accepted yet. */
  readonly #held = new Map<string, string>();
  readonly #untold = new Map<string, string>();
  /** Actuators whose limits are not recorded in the journal. */
  readonly #unrecorded = new Set<string>();
  readonly #receipts = new Receipts();
  /** Commands delivered but not acknowledged yet, and commands that are in the journal or have their result. */
  readonly #owed = new Set<string>();
  readonly #settled = new Set<string>();
  /** Commands that end by themselves. */
  readonly #leased = new Map<string, ModelLease>();
  readonly #leases: ModelLeases;
  /** The newest work of each actuator. */
  readonly #turns = new Map<string, Promise<void>>();
  #journal: Journal | null = null;
  #underWay = 0;

  constructor(owned: OwnedRun, process: Process, files: FileSystem, around: Surroundings) {
    this.#files = files;
    this.#owned = owned;
    this.#process = process;
    this.#around = around;
    this.#leases = new ModelLeases(process.clock, {
      newId: () => around.newId(),
      shows: (actuator) => around.shows(process, actuator),
      isOpen: (actuator) =>
        [...this.#leased].some(([id, one]) => one.actuator === actuator && this.#outcomes.get(id) === null),
    });
  }

  async run(dataDir: string): Promise<void> {
    const { openJournal, stop } = this.#owned;
    const { clock } = this.#process;
    const opened = await openJournal({ dataDir, clock, log: silentLog });
    this.#journal = opened.journal;
    const note = (record: RecordBody) => opened.journal.append(record, { durable: true }).catch(() => 0);
    try {
      const records = await newestRecords(journalDirectory(dataDir), { limit: 10_000 }, this.#files);
      this.#restore(records);
      void note({ type: "start", version: "0" });
      this.#leases.restore(opened.journal);
      this.#connect();
      while (!stop.aborted) {
        await clock.wait(1_000, stop).catch(() => undefined);
        this.#owned.ownership.lack(this.#around.lacks(this.#process));
        await this.#again();
        this.#endLeases();
      }
      // Waits for what is in progress.
      for (let n = 0; n < 50 && this.#underWay > 0; n += 1) await clock.wait(100);
      await this.#again();
      await note({ type: "stop", reason: "asked to" });
    } finally {
      this.#around.disconnect(this.#process);
      await opened.close();
    }
  }

  #restore(records: readonly JournalRecord[]): void {
    const { ownership } = this.#owned;
    ownership.foundUnderWay(lanesUnderWay(records, ownership.controlMs));
    for (const record of records) {
      if (record.type === "command_taken") {
        if (!this.#outcomes.has(record.id)) this.#outcomes.set(record.id, null);
        if (record.actuator !== "vent")
          this.#leased.set(record.id, { actuator: record.actuator, forMs: NaN });
      }
      if (record.type === "result") this.#outcomes.set(record.result.id, record.result.outcome);
    }
    for (const [id, outcome] of this.#outcomes)
      if (outcome !== null) this.#untold.set(id, outcome);
      else void this.#readBack(id);
  }

  async #readBack(id: string): Promise<void> {
    const { stop } = this.#owned;
    await this.#process.clock.wait(readBackMs, stop).catch(() => undefined);
    while (!stop.aborted) {
      const shown = await this.#around.read(this.#process, id).catch(() => null);
      if (shown !== null) {
        await this.#end(id, shown ? "confirmed" : "failed");
        return;
      }
      await this.#process.clock.wait(2_000, stop).catch(() => undefined);
    }
  }

  #connect(): void {
    const { ownership, stop } = this.#owned;
    if (stop.aborted || ownership.cut.aborted) return;
    this.#around.connect(this.#process, {
      command: (message) => this.#command(message),
      lost: () => {
        this.#receipts.clear();
        this.#owed.clear();
        ownership.linkLost();
        void this.#process.clock.wait(1_000, ownership.cut).then(
          () => this.#connect(),
          () => undefined,
        );
      },
    });
  }

  #command({ id, isStop, lease, isKept, acknowledge }: ModelMessage): void {
    if (this.#owned.stop.aborted || this.#journal === null) return;
    if (lease !== null && !this.#leased.has(id)) this.#leased.set(id, lease);
    this.#owed.add(id);
    const acknowledged = () => {
      if (!this.#settled.has(id) && this.#owed.size > mostOwed) this.#around.madeRoom(id);
      this.#owed.delete(id);
      acknowledge();
    };
    this.#receipts.whenTaken(acknowledged, () => {
      const isKnown = this.#outcomes.has(id);
      if (!isKnown) void this.#take(id, isStop, isKept);
      return { key: id, isOpen: !isKnown };
    });
  }

  #settle(id: string): void {
    this.#settled.add(id);
    this.#receipts.settle(id);
  }

  async #take(id: string, isStop: boolean, isKept: boolean): Promise<void> {
    const journal = this.#journal;
    if (journal === null) return;
    const lane = aboutKey(this.#about(id));
    const isRefused = this.#owned.ownership.commandsProblem(lane) !== null || !journal.state().available;
    if (!isStop && (isKept || isRefused)) {
      if (this.#around.tell(this.#process, id, "refused")) this.#settle(id);
      return;
    }
    this.#outcomes.set(id, null);
    this.#underWay += 1;
    try {
      const actuator = this.#leased.get(id)?.actuator;
      const carriedOut = () => this.#carryOut(id, isStop, journal);
      await (actuator === undefined ? carriedOut() : this.#inTurn(actuator, carriedOut));
    } finally {
      this.#underWay -= 1;
    }
  }

  async #carryOut(id: string, isStop: boolean, journal: Journal): Promise<void> {
    const { ownership, stop } = this.#owned;
    const lease = this.#leased.get(id) ?? null;
    const about = aboutOf(lease);
    const leasing = lease && this.#leases.begin(id, lease.actuator, lease.forMs);
    const memory = lease && this.#memory(lease.actuator);
    const records = [takenBy(id, about), sending(id, about, memory ?? undefined)].map((record) =>
      journal.append(record, { durable: true }),
    );
    records[0]?.then(
      () => this.#settle(id),
      () => undefined,
    );
    const isKept = await Promise.race([
      Promise.all(records).then(
        () => true,
        () => false,
      ),
      ...(isStop ? [this.#process.clock.wait(200).then(() => true)] : []),
    ]);
    if (!isKept && !isStop) {
      await this.#end(id, "refused");
      return;
    }
    const platform = withLease(this.#around.platformOf(this.#process), ownership);
    const manner = { isStop, lane: aboutKey(about), mayPost: () => !stop.aborted };
    if (leasing) this.#leases.posted(leasing);
    try {
      await platform.write(about.controller, "101", id, stop, manner);
      journal.append(answered(id, about), { durable: false }).catch(() => undefined);
      if (leasing) this.#leases.ended(leasing, "confirmed");
      await this.#end(id, "confirmed");
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      if (leasing) this.#leases.ended(leasing, error.facts.sent ? "unconfirmed" : "not_sent");
      if (error.facts.sent) {
        await this.#readBack(id);
        return;
      }
      journal.append(answered(id, about, false), { durable: false }).catch(() => undefined);
      await this.#end(id, "not_sent");
    }
  }

  #about(id: string): About {
    return aboutOf(this.#leased.get(id) ?? null);
  }

  #memory(actuator: string): LaneMemory {
    return { limits: this.#leases.kept(actuator) };
  }

  /** Whether the journal accepted it. */
  #note(actuator: string, durable: boolean): Promise<boolean> {
    const record = { type: "lane", controller: "GH-0001", actuator, memory: this.#memory(actuator) } as const;
    const appended = this.#journal?.append(record, { durable }) ?? Promise.reject(new Error());
    return appended.then(
      () => true,
      () => {
        this.#unrecorded.add(actuator);
        return false;
      },
    );
  }

  #endLeases(): void {
    this.#leases.heard(this.#around.date(this.#process));
    const noted = (actuator: string) => void this.#note(actuator, false);
    for (const end of this.#leases.look(noted)) void this.#inTurn(end.actuator, () => this.#endLease(end));
  }

  /** One at a time per actuator, as in a lane: the end of a lease waits for the command that began it. */
  #inTurn(actuator: string, work: () => Promise<void>): Promise<void> {
    const turn = (this.#turns.get(actuator) ?? Promise.resolve()).then(work);
    this.#turns.set(
      actuator,
      turn.catch(() => undefined),
    );
    return turn;
  }

  /** Sends as a rule does, with a short wait for the journal. */
  async #endLease({ id, actuator, command }: EndOfLease): Promise<void> {
    const { ownership, stop } = this.#owned;
    const about = { controller: "GH-0001", actuator };
    this.#underWay += 1;
    const kept = this.#journal?.append(sending(command.id, about, this.#memory(actuator)), { durable: true });
    const noted = kept?.catch(() => void this.#unrecorded.add(actuator));
    await Promise.race([noted, this.#process.clock.wait(200)]);
    const platform = withLease(this.#around.platformOf(this.#process), ownership);
    const manner = { pace: "first", lane: aboutKey(about), mayPost: () => !stop.aborted } as const;
    let outcome: "confirmed" | "unconfirmed" | "not_sent" = "confirmed";
    try {
      await platform.write(about.controller, actuator, id, stop, manner);
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      outcome = error.facts.sent ? "unconfirmed" : "not_sent";
    } finally {
      this.#underWay -= 1;
    }
    this.#leases.ended(command, outcome);
    const answer = answered(command.id, about, outcome === "confirmed");
    if (outcome !== "unconfirmed") this.#journal?.append(answer, { durable: false }).catch(() => undefined);
    this.#journal?.append(resultOf(command.id, outcome, about), { durable: false }).catch(() => undefined);
    if ((await this.#note(actuator, true)) && outcome === "confirmed") this.#around.ended(id);
  }

  /** Reported once the journal has it. */
  async #end(id: string, outcome: string): Promise<void> {
    const isKept = await (
      this.#journal?.append(resultOf(id, outcome, this.#about(id)), { durable: true }) ??
      Promise.reject(new Error())
    ).then(
      () => true,
      () => false,
    );
    if (!isKept) {
      this.#held.set(id, outcome);
      return;
    }
    this.#tell(id, outcome);
  }

  #tell(id: string, outcome: string): void {
    this.#outcomes.set(id, outcome);
    if (this.#around.tell(this.#process, id, outcome)) this.#settle(id);
    else this.#untold.set(id, outcome);
  }

  async #hasResult(id: string, directory: string): Promise<boolean> {
    const filter = { types: new Set(["result"] as const), id, limit: 1 };
    return (await newestRecords(directory, filter, this.#files)).length > 0;
  }

  async #again(): Promise<void> {
    const { available = false } = this.#journal?.state() ?? {};
    if (available) {
      const unrecorded = [...this.#unrecorded];
      this.#unrecorded.clear();
      for (const actuator of unrecorded) void this.#note(actuator, false);
    }
    if (available)
      for (const [id, outcome] of [...this.#held]) {
        this.#held.delete(id);
        // The journal may have accepted it without an acknowledgement.
        if (this.#journal !== null && (await this.#hasResult(id, this.#journal.directory)))
          this.#tell(id, outcome);
        else await this.#end(id, outcome);
      }
    for (const [id, outcome] of [...this.#untold])
      if (this.#around.tell(this.#process, id, outcome)) {
        this.#untold.delete(id);
        this.#settle(id);
      }
  }
}
