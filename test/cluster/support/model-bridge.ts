import type { OwnedRun } from "../../../src/cluster/cluster.js";
import { withLease } from "../../../src/cluster/lease.js";
import { PlatformError, type PlatformWriter } from "../../../src/greenhouse/ports.js";
import type { Journal } from "../../../src/journal/journal.js";
import type { CommandTaken, JournalRecord, RecordBody } from "../../../src/journal/records.js";
import { newestRecords } from "../../../src/journal/reader.js";
import { journalDirectory } from "../../../src/journal/open.js";
import type { FileSystem } from "../../../src/runtime/file-system.js";
import { silentLog } from "../../../src/runtime/log.js";
import type { Process } from "./process.js";

/** What happens around a bridge, as the judge of a history sees it. */
export interface Surroundings {
  /** What is written is the id of the command. */
  platformOf(process: Process): PlatformWriter;
  /** What a read shows of the command; null where the platform does not answer. */
  read(process: Process, id: string): Promise<boolean | null>;
  connect(
    process: Process,
    on: { readonly command: (id: string, isStop: boolean) => void; readonly lost: () => void },
  ): void;
  disconnect(process: Process): void;
  /** False where there is no link. */
  tell(process: Process, id: string, outcome: string): boolean;
}

const about = { controller: "GH-0001", actuator: "vent" } as const;

const takenBy = (id: string): CommandTaken => ({
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

const sending = (id: string): RecordBody => ({ type: "phase", ...about, id, phase: "sending" });

const resultOf = (id: string, outcome: string): RecordBody =>
  ({ type: "result", ...about, result: { id, outcome, finished_at: "" } }) as unknown as RecordBody;

/** After that a read tells what became of a POST of an earlier owner. */
const readBackMs = 40_000;

/**
 * A bridge reduced to what takes part in a take-over: commands are journaled, sent, confirmed, journaled and told; what the owner
 * before left open is read back. The journal is the real one.
 */
export class ModelBridge {
  readonly #owned: OwnedRun;
  readonly #process: Process;
  readonly #files: FileSystem;
  readonly #around: Surroundings;
  readonly #outcomes = new Map<string, string | null>();
  /** Outcomes that the journal has not taken yet. */
  readonly #held = new Map<string, string>();
  readonly #untold = new Map<string, string>();
  #journal: Journal | null = null;
  #underWay = 0;

  constructor(owned: OwnedRun, process: Process, files: FileSystem, around: Surroundings) {
    this.#files = files;
    this.#owned = owned;
    this.#process = process;
    this.#around = around;
  }

  async run(dataDir: string): Promise<void> {
    const { openJournal, stop } = this.#owned;
    const { clock } = this.#process;
    const opened = await openJournal({ dataDir, clock, log: silentLog });
    this.#journal = opened.journal;
    try {
      const records = await newestRecords(journalDirectory(dataDir), { limit: 10_000 }, this.#files);
      this.#restore(records);
      this.#connect();
      while (!stop.aborted) {
        await clock.wait(1_000, stop).catch(() => undefined);
        await this.#again();
      }
      // What is under way is let finish.
      for (let n = 0; n < 50 && this.#underWay > 0; n += 1) await clock.wait(100);
      await this.#again();
    } finally {
      this.#around.disconnect(this.#process);
      await opened.close();
    }
  }

  #restore(records: readonly JournalRecord[]): void {
    for (const record of records) {
      if (record.type === "command_taken" && !this.#outcomes.has(record.id))
        this.#outcomes.set(record.id, null);
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
      command: (id, isStop) => {
        void this.#command(id, isStop);
      },
      lost: () => {
        ownership.linkLost();
        void this.#process.clock.wait(1_000, ownership.cut).then(
          () => this.#connect(),
          () => undefined,
        );
      },
    });
  }

  async #command(id: string, isStop: boolean): Promise<void> {
    const { ownership, stop } = this.#owned;
    const known = this.#outcomes.get(id);
    if (known !== undefined || stop.aborted || this.#journal === null) return;
    const { available } = this.#journal.state();
    if (!isStop && (ownership.commandsProblem() !== null || !available)) {
      this.#around.tell(this.#process, id, "refused");
      return;
    }
    this.#outcomes.set(id, null);
    this.#underWay += 1;
    try {
      await this.#carryOut(id, isStop, this.#journal);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #carryOut(id: string, isStop: boolean, journal: Journal): Promise<void> {
    const { ownership, stop } = this.#owned;
    const records = [takenBy(id), sending(id)].map((record) => journal.append(record, { durable: true }));
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
    const manner = { isStop, mayPost: () => !stop.aborted };
    try {
      await platform.write(about.controller, "101", id, stop, manner);
      await this.#end(id, "confirmed");
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      if (error.facts.sent) await this.#readBack(id);
      else await this.#end(id, "not_sent");
    }
  }

  /** Told once the journal has it. */
  async #end(id: string, outcome: string): Promise<void> {
    const isKept = await (
      this.#journal?.append(resultOf(id, outcome), { durable: true }) ?? Promise.reject(new Error())
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
    if (!this.#around.tell(this.#process, id, outcome)) this.#untold.set(id, outcome);
  }

  async #hasResult(id: string, directory: string): Promise<boolean> {
    const filter = { types: new Set(["result"] as const), id, limit: 1 };
    return (await newestRecords(directory, filter, this.#files)).length > 0;
  }

  async #again(): Promise<void> {
    const { available = false } = this.#journal?.state() ?? {};
    if (available)
      for (const [id, outcome] of [...this.#held]) {
        this.#held.delete(id);
        // The journal may have taken it although it did not say so.
        if (this.#journal !== null && (await this.#hasResult(id, this.#journal.directory)))
          this.#tell(id, outcome);
        else await this.#end(id, outcome);
      }
    for (const [id, outcome] of [...this.#untold])
      if (this.#around.tell(this.#process, id, outcome)) this.#untold.delete(id);
  }
}
