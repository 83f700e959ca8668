import { canonical } from "../../greenhouse/command/words.js";
import type { Command, Phase } from "./command.js";
import type { CommandPorts } from "./command-ports.js";
import type { ExecutionHooks } from "./execution.js";
import { PostTimes } from "./post-times.js";
import { waitUntil } from "./read-back.js";
import { carryOut, type Running, starting, told } from "./running.js";
import { type Interrupted, readBackInterrupted, sentBefore } from "./recovery.js";
import { dryStop, type Ending, leavesPlace, refused, shuttingDown, superseded } from "./report.js";
import { expired } from "../../greenhouse/command/age.js";
import { noteTakeover } from "./taken-record.js";
import { Waiting } from "./waiting.js";

export interface LanePorts extends CommandPorts {
  readonly dryRun: (command: Command) => boolean;
  readonly finished: (command: Command, ending: Ending) => void;
  /** Every POST so far has been read back, by this read. */
  readonly accounted: (address: string, value: string) => void;
}

/**
 * The commands of one actuator, over all its addresses: one is checked and sent at a time, one more may be confirming,
 * one may wait (the newest), and a stop goes before all of them.
 */
export class Lane {
  readonly #ports: LanePorts;
  readonly #waiting = new Waiting();
  #stop: Command | null = null;
  #active: Running | null = null;
  #confirming: Running | null = null;
  #pause: AbortController | null = null;
  readonly #posts: PostTimes;
  #closed = false;

  constructor(ports: LanePorts, unread: boolean) {
    this.#ports = {
      ...ports,
      onRead: ({ address, value, startedMono }) => {
        if (this.#posts.readSince(startedMono)) ports.accounted(address, value);
      },
    };
    this.#posts = new PostTimes(ports.clock, unread);
  }

  /** Whether a command is open, or one of ours may still be moving the actuator. */
  isMoving(travelMs: number): boolean {
    return !this.isIdle || this.#posts.isWithin(travelMs);
  }

  get isIdle(): boolean {
    return (
      this.#active === null &&
      this.#confirming === null &&
      this.#waiting.newest === null &&
      this.#stop === null
    );
  }

  /** All commands not ended yet. */
  open(): readonly Command[] {
    const running = [this.#active, this.#confirming].map((one) => one?.heir ?? one?.command);
    return [...running, ...this.#waiting.all, this.#stop].flatMap((one) => one ?? []);
  }

  submit(command: Command): void {
    if (command.wanted.type === "stop" && this.#ports.dryRun(command)) {
      this.#ports.finished(command, dryStop());
      return;
    }
    if (command.wanted.type === "stop") {
      this.#drop(this.#stop ? [this.#stop] : []);
      this.#drop(this.#waiting.clear());
      this.#stop = command;
      this.#active?.quit.abort();
    } else {
      const isSure = !this.#ports.dryRun(command) && !this.#waiting.outlives(command);
      if (isSure) this.#drop(this.#waiting.clear());
      this.#waiting.add(command);
    }
    this.#ports.audience.phase(command, "waiting");
    this.#pause?.abort();
    void this.#next();
  }

  /** Takes up what an earlier run left open: it is read back while newer commands may come, and nothing is sent. */
  adopt(interrupted: Interrupted): void {
    const running: Running = {
      ...starting(interrupted.command),
      confirming: true,
      posted: true,
      sent: sentBefore(interrupted, null),
    };
    this.#confirming = running;
    running.hasHeirs = interrupted.attempts > 0;
    this.#posts.ended();
    this.#ports.audience.phase(interrupted.command, "confirming");
    void this.#finishAdopted(running, interrupted);
  }

  async #finishAdopted(running: Running, interrupted: Interrupted): Promise<void> {
    const ending = await readBackInterrupted(interrupted, this.#ports, running.quit.signal);
    if (this.#confirming === running) this.#confirming = null;
    const end = told(running, ending, this.#closed);
    if (end !== null) this.#ports.finished(running.heir ?? running.command, end);
  }

  /** Takes nothing new; what waits or is only being checked ends refused, what was sent stays open for the next start. */
  close(): void {
    this.#closed = true;
    for (const command of this.#waiting.clear()) this.#ports.finished(command, shuttingDown());
    if (this.#stop) this.#ports.finished(this.#stop, shuttingDown());
    this.#stop = null;
    this.#pause?.abort();
    this.#active?.quit.abort();
    this.#confirming?.quit.abort();
  }

  #drop(commands: readonly Command[]): void {
    for (const command of commands) this.#ports.finished(command, superseded("before_sending"));
  }

  /** Nothing may come between choosing a command and starting it: another would be lost, or run beside it. */
  async #next(): Promise<void> {
    for (;;) {
      if (this.#active !== null || this.#pause !== null || this.#closed) return;
      const command = this.#stop ?? this.#waiting.newest;
      if (!command) return;
      if (this.#posts.mayGoFrom(command) > this.#ports.clock.monotonic()) {
        await this.#waitForInterval(command);
        continue;
      }
      this.#take(command);
      if (!this.#takesOver(command)) return this.#run(command);
    }
  }

  /** The command has its turn. */
  #take(command: Command): void {
    if (command === this.#stop) this.#stop = null;
    else this.#waiting.takeNewest();
  }

  /** Until the interval is over, something newer comes, or the command is too old. */
  async #waitForInterval(command: Command): Promise<void> {
    const pause = new AbortController();
    this.#pause = pause;
    const until = Math.min(this.#posts.mayGoFrom(command), command.deadlineMono + 1);
    await waitUntil(until, this.#ports, pause.signal);
    this.#pause = null;
    if (pause.signal.aborted || command !== (this.#stop ?? this.#waiting.newest)) return;
    if (this.#ports.clock.monotonic() <= command.deadlineMono) return;
    this.#take(command);
    this.#ports.finished(command, refused(expired().reason, expired().message));
  }

  /** An equal command takes over the read-backs of the one being confirmed instead of sending again. */
  #takesOver(command: Command): boolean {
    const running = this.#confirming;
    // One that a stop has cut off reads nothing any more.
    if (running === null || running.quit.signal.aborted || !running.hasHeirs) return false;
    if (command.force || command.wanted.type === "stop" || this.#ports.dryRun(command)) return false;
    if (canonical(running.command.wanted) !== canonical(command.wanted)) return false;
    const before = running.heir ?? running.command;
    this.#drop(this.#waiting.dropPassedOver());
    noteTakeover(command, before, this.#ports);
    this.#ports.finished(before, {
      ...superseded("after_sending"),
      ...running.sent,
    });
    running.heir = command;
    this.#ports.audience.phase(command, "confirming");
    return true;
  }

  async #run(command: Command): Promise<void> {
    const running = starting(command);
    this.#active = running;
    const ending = await carryOut(running, this.#hooks(running), this.#ports);
    if (this.#active === running) this.#active = null;
    if (this.#confirming === running) this.#confirming = null;
    this.#stepsEnded(running);
    const end = told(running, ending, this.#closed);
    if (end !== null && !leavesPlace(end)) this.#drop(this.#waiting.dropPassedOver());
    if (end !== null) this.#ports.finished(running.heir ?? command, end);
    void this.#next();
  }

  /** Unless a newer command is between steps of its own by now. */
  #stepsEnded({ command: { code, target, targetId }, posted }: Running): void {
    if (posted && this.#active?.posted !== true)
      this.#ports.store.dispatch(code, { type: "steps_ended", target, id: targetId });
  }

  #hooks(running: Running): ExecutionHooks {
    const { command, quit } = running;
    const phase = (name: Phase) => {
      this.#ports.audience.phase(command, name);
    };
    return {
      memory: this.#posts.memory(this.#confirming !== null),
      dryRun: this.#ports.dryRun(command),
      quit: quit.signal,
      phase,
      isStopped: () => this.#stop !== null || this.#closed,
      isClosed: () => this.#closed,
      aboutToPost: () => {
        this.#drop(this.#waiting.dropPassedOver());
        this.#confirming?.quit.abort();
        this.#posts.begins();
      },
      posted: (moment, between) => {
        const at = this.#posts.posted(command, moment);
        running.posted = true;
        const { code, target, targetId } = command;
        this.#ports.store.dispatch(code, { type: "posted", target, id: targetId, at, between });
      },
      allSent: (soFar) => {
        running.sent = soFar;
        running.confirming = true;
        this.#confirming = running;
        if (this.#active === running) this.#active = null;
        void this.#next();
      },
    };
  }
}
