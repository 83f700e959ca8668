import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import type { Controller } from "../../src/greenhouse/model.js";
import type { Bridge } from "./bridge.js";
import type { Ask, Post } from "../judge/history.js";
import { judgeLeaving, judgePost } from "../judge/posts.js";
import { judgeAgain, judgeResult } from "../judge/results.js";
import { laneOf } from "../judge/history.js";
import { GroupChecks } from "./groups.js";
import { PostBook, type Question } from "./judging.js";
import { LimitChecks } from "./limits/limit-checks.js";
import { EndChecks, MirrorChecks } from "./mirror-checks.js";
import { CrashWindows } from "./crash-windows.js";
import { SecondLookChecks } from "./second-looks.js";
import type { World } from "./world.js";

/** Watches everything, and fails the world when a rule of the contract is broken. */
export class Checks {
  readonly #world: World;
  readonly #book: PostBook;
  readonly #mirror: MirrorChecks;
  readonly #windows: CrashWindows;
  readonly #end: EndChecks;
  readonly #secondLooks: SecondLookChecks;
  readonly limits: LimitChecks;
  readonly groups: GroupChecks;
  readonly #platformStates = new Map<number, { readonly state: string; readonly at: number }>();

  constructor(world: World) {
    this.#world = world;
    this.#book = new PostBook(world);
    this.#mirror = new MirrorChecks(this.#book);
    this.#windows = new CrashWindows(this.#book);
    this.#end = new EndChecks(this.#book);
    this.#secondLooks = new SecondLookChecks(this.#book);
    this.limits = new LimitChecks(this.#book);
    this.groups = new GroupChecks(this.#book);
    world.journalist.onWire = (post) => {
      this.#book.found(judgeLeaving(this.#book.history, post, world.time.now));
      this.limits.leases.leaving(post);
    };
  }

  /** The command to which a POST to this address must belong: the actuator's command that last reported sending. */
  sender(code: string, address: string): Ask | null {
    return this.#book.sender(code, address);
  }

  /** The actuator that owns an address. */
  owner(code: string, address: string): string | null {
    return this.#book.owner(code, address);
  }

  /** Whether a question to the platform belongs to a stop or a rule. */
  goesFirst({ boot }: Bridge, question: Question): boolean {
    return this.#book.goesFirst(boot, question);
  }

  phase(bridge: Bridge, by: string | null, phase: string): void {
    const { journalist, time } = this.#world;
    const ask = journalist.asks.get(by ?? "");
    journalist.note("phase", { by, phase });
    if (!ask) {
      this.#book.broken("S7", `a phase of a command nobody gave: ${by ?? "null"}`);
      return;
    }
    ask.phases.push({ phase, at: time.now, boot: bridge.boot });
    if (phase === "sending") this.#book.senders.set(laneOf(ask), ask);
    if (phase === "confirming" && ask.boot === bridge.boot) this.#world.accidents.confirming(ask);
    if (phase === "confirming" && ask.boot === bridge.boot && ask.posts.length === 0) {
      const last = journalist.postsTo(ask.code, ask.actuator).at(-1)?.ask ?? null;
      ask.donor = last?.donor ?? last;
      ask.inherits = ask.donor === null || ask.donor.boot !== bridge.boot || ask.donor.inherits;
      journalist.saw("an equal command takes over the read-backs");
      this.#world.accidents.takingOver();
      this.limits.takesOver(ask);
    }
  }

  /** S25. */
  platform({ boot, clock }: Bridge, state: string): void {
    const { time, wire } = this.#world;
    const before = this.#platformStates.get(boot);
    this.#platformStates.set(boot, { state, at: time.now });
    const stoodMs = time.now - (before?.at ?? -Infinity);
    const isWhole = before?.state === "degraded" && state === "unreachable";
    if (before?.state !== "unauthorized" && !isWhole && stoodMs < 10_000 - 1)
      this.#book.broken("S25", `${state} after ${before?.state ?? ""} for ${Math.round(stoodMs)} ms`);
    if (state !== "unreachable") return;
    const { lost, answeredAt } = wire.contactOf(clock);
    const silentMs = time.now - Math.max(answeredAt, this.#world.journalist.startedAt.get(boot) ?? 0);
    if (lost < 2 && silentMs < 30_000)
      this.#book.broken("S25", `unreachable ${Math.round(silentMs)} ms after an answer and ${lost} attempts`);
    this.#world.journalist.saw("the platform is unreachable");
  }

  posting(post: Post): void {
    this.#book.found(judgePost(this.#book.history, post));
    this.limits.posting(post);
  }

  result(bridge: Bridge, result: CommandResult): void {
    const { journalist, disk, time } = this.#world;
    const { by, outcome, reason, repeated, read_back, steps } = result;
    journalist.note("result", { by, outcome, reason, repeated, read_back, steps });
    journalist.saw(`outcome ${outcome}${reason === null ? "" : ` ${reason}`}`);
    if (JSON.stringify(result).includes("secret-canary")) this.#book.broken("S15", "a secret in a result");
    const ask = journalist.asks.get(by ?? "");
    if (!ask) {
      this.#book.broken("S7", `a result for a command nobody gave: ${JSON.stringify(result)}`);
      return;
    }
    const isJournaled = disk.written.has(`result ${ask.by}`) || disk.written.has(`refusal ${ask.by}`);
    const told = { result, at: time.now, boot: bridge.boot, isJournaled };
    const [first] = ask.results;
    if (first !== undefined) {
      this.#book.found(judgeAgain(ask, first, told));
      return;
    }
    ask.results.push(told);
    this.#book.found(judgeResult(this.#book.history, ask, told));
    if (this.#world.scenario.isNovice) this.#obey(ask, result);
    this.#rarePaths(bridge, ask, result);
    this.#secondLooks.result(bridge, ask, result);
    this.limits.result(ask, result);
  }

  /** The user follows the advice: the weaker proof is configured, and counts from the next start. */
  #obey({ code, actuator }: Ask, { message }: CommandResult): void {
    if (!String(message).includes("position_reads: mode")) return;
    const { controllers, ...others } = this.#world.configuration;
    const controller = controllers[code];
    const section = controller?.actuators[actuator];
    if (controller === undefined || section === undefined) return;
    const actuators = {
      ...controller.actuators,
      [actuator]: { ...section, position_reads: "mode" as const },
    };
    this.#world.configuration = {
      ...others,
      controllers: { ...controllers, [code]: { ...controller, actuators } },
    };
    this.#world.journalist.saw("somebody does what a result says");
  }

  #rarePaths(bridge: Bridge, ask: Ask, { outcome, reason }: CommandResult): void {
    const { journalist, time } = this.#world;
    const last = journalist.postsTo(ask.code, ask.actuator).at(-1);
    if (outcome !== "refused") {
      const own = (ask.posts.length > 0 ? ask : ask.donor)?.posts.at(-1);
      if (own?.endedAt && this.#world.isOverridden(ask.code, own.address, own.endedAt, time.now))
        journalist.saw("somebody else moves it while it is confirmed");
      return;
    }
    if (reason === "expired" && bridge.clock.signInsOpen > 0)
      journalist.saw("a command expires while signing in");
    if (reason === "shutting_down" && last?.endedAt === null)
      journalist.saw("a command waiting for another's POST is refused by SIGTERM");
    if (ask.at === time.now && bridge.isStopping) journalist.saw("a command after SIGTERM");
  }

  event(event: BridgeEvent): void {
    this.#secondLooks.event(event);
    this.limits.event(event);
  }

  mirrorChanged(bridge: Bridge, before: Controller | undefined, after: Controller | undefined): void {
    this.#mirror.changed(bridge, before, after);
    this.limits.mirrorChanged(before, after);
  }

  crashing(bridge: Bridge, isPowerCut: boolean): void {
    this.#windows.crashing(bridge, isPowerCut);
    this.limits.crashing(isPowerCut);
  }

  /** The bridge has been linked long enough to correct topics of earlier runs. */
  topicsLookedAt({ boot }: Bridge): void {
    const { retained, journalist } = this.#world;
    for (const [topic, payload] of retained) {
      if (!topic.endsWith("/command")) continue;
      const { by, phase } = JSON.parse(payload) as { by: string | null; phase: string };
      const ask = journalist.asks.get(by ?? "");
      if (phase !== "done" && ask !== undefined && !ask.phases.some((one) => one.boot === boot))
        this.#book.broken("L5", `${topic} still says that ${ask.by} of an earlier run is ${phase}`);
    }
  }

  clockJumped(): void {
    const { journalist } = this.#world;
    const isConfirming = [...journalist.lanes.values()].some((lane) => {
      const ask = lane.at(-1);
      return ask !== undefined && ask.results.length === 0 && ask.phases.at(-1)?.phase === "confirming";
    });
    journalist.saw(isConfirming ? "a clock jump during confirming" : "a clock jump");
  }

  /** From now on every command must succeed. */
  probing(): void {
    this.#end.probesFrom = this.#world.time.now;
  }

  atTheEnd(): void {
    this.#end.atTheEnd();
    this.#mirror.atTheEnd();
    this.limits.atTheEnd();
    this.groups.atTheEnd();
  }

  stopped(bridge: Bridge): void {
    if (bridge.clock.isAlive) this.#book.broken("S13", "the bridge did not end within a minute of SIGTERM");
    else if (bridge.clock.timers > 0)
      this.#book.broken("S13", `${bridge.clock.timers} timers are left a minute after the end`);
  }
}
