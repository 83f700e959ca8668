import type { BridgeEvent } from "../greenhouse/events.js";
import type { PlatformState } from "../greenhouse/model.js";
import type { HostFacts, PlatformHost } from "../greenhouse/ports.js";
import { type Clock, Rest } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { givesWayAt, mayFollow, type Shown, standings } from "../greenhouse/steady.js";

export interface LinkFacts {
  readonly realtime: HostFacts;
  readonly business: HostFacts;
  /** Whether the request budget stretches the polling intervals. */
  readonly stretched: boolean;
  readonly startedAt: number;
}

export const untriedHost: HostFacts = {
  contactAt: null,
  heardAt: null,
  failures: 0,
  failingSince: null,
  silent: null,
  trouble: null,
  unauthorized: false,
  unusable: [],
};

const patienceMs = 30_000;
const patienceFailures = 2;

/**
 * Whether a host is gone: after two attempts without connection or answer, or after 30 s without any. If only one
 * operation gets no answer, another one is asked first.
 */
function isGone(host: HostFacts, now: number): boolean {
  if (host.failures >= patienceFailures && host.silent === null) return true;
  return host.failingSince !== null && now - host.failingSince >= patienceMs;
}

/** The state to publish; null before anything is known. The first that applies wins. */
function platformState(
  { realtime, business, stretched, startedAt }: LinkFacts,
  now: number,
): PlatformState | null {
  const isUnheard = realtime.heardAt === null && realtime.contactAt === null;
  const untried = isUnheard && realtime.failures === 0;
  if (isGone(realtime, now)) return "unreachable";
  // Without a credential nothing may be tried, which is not the host's fault.
  if (realtime.unauthorized || business.unauthorized) return "unauthorized";
  if (untried && now - startedAt >= patienceMs) return "unreachable";
  if (isUnheard) return null;
  const isPart = realtime.unusable.length + business.unusable.length > 0;
  return isGone(business, now) || isPart || stretched ? "degraded" : "online";
}

/** Ms from the instant of judging until the first time that comes after it; Infinity for none. */
function untilNextMs(times: readonly number[], judgedAt: number): number {
  return Math.min(...times.flatMap((at) => (at > judgedAt ? at - judgedAt : [])));
}

type StateListener = (state: PlatformState) => void;
type ReachListener = (reachable: boolean, answers: boolean) => void;
type HostListener = (host: PlatformHost, reachable: boolean) => void;
type DoubtListener = (host: PlatformHost, operation: string) => void;
type MixUpListener = (request: string, device: string | undefined) => void;
type Cause = "business" | "operations" | "budget";

/** Turns the client's facts about its hosts into the published state of the platform. */
export class PlatformWatch {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onEvent: (event: BridgeEvent) => void;
  readonly #rest: Rest;
  readonly #stateListeners: StateListener[] = [];
  readonly #reachListeners: ReachListener[] = [];
  readonly #hostListeners: HostListener[] = [];
  readonly #doubtListeners: DoubtListener[] = [];
  readonly #mixUpListeners: MixUpListener[] = [];
  readonly #credentialListeners: (() => void)[] = [];
  readonly #away = { realtime: false, business: false };
  #facts: LinkFacts;
  #shown: Shown<PlatformState> | null = null;
  #reachable: Shown<boolean> | null = null;
  #answers = false;
  /** The reason of `degraded`. */
  #degradedBy: Cause = "budget";
  /** How often the platform returned after it was unreachable. */
  reconnects = 0;

  constructor(clock: Clock, log: Logger, onEvent: (event: BridgeEvent) => void) {
    this.#clock = clock;
    this.#log = log;
    this.#onEvent = onEvent;
    this.#rest = new Rest(clock);
    this.#facts = {
      realtime: untriedHost,
      business: untriedHost,
      stretched: false,
      startedAt: clock.monotonic(),
    };
  }

  get state(): PlatformState | null {
    return this.#shown?.state ?? null;
  }

  isAway(host: PlatformHost): boolean {
    return this.#away[host];
  }

  /** Calls back when the published state changes, in the order of registration. */
  onState(listener: StateListener): void {
    this.#stateListeners.push(listener);
  }

  /**
   * Calls back when the platform starts or stops counting as reachable, which it stops at once; and when it starts or
   * stops answering, for what has to be sent as early as possible.
   */
  onReachable(listener: ReachListener): void {
    this.#reachListeners.push(listener);
  }

  /** Calls back when a host is lost or returns. */
  onHost(listener: HostListener): void {
    this.#hostListeners.push(listener);
  }

  /** Calls back when one operation of a host gets no answer, so that another one can show whether the host is there. */
  onDoubt(listener: DoubtListener): void {
    this.#doubtListeners.push(listener);
  }

  /** Calls back when a read may have received another one's answer. */
  onMixedUp(listener: MixUpListener): void {
    this.#mixUpListeners.push(listener);
  }

  /** Calls back when there is a new credential. */
  onCredential(listener: () => void): void {
    this.#credentialListeners.push(listener);
  }

  credentialRenewed(): void {
    for (const listener of this.#credentialListeners) listener();
  }

  mixedUp(request: string, device: string | undefined): void {
    for (const listener of this.#mixUpListeners) listener(request, device);
  }

  onFacts(host: PlatformHost, facts: HostFacts): void {
    const before = this.#facts[host];
    this.#facts = { ...this.#facts, [host]: facts };
    if (facts.silent !== null && facts.failures > before.failures)
      for (const listener of this.#doubtListeners) listener(host, facts.silent);
    this.#judge();
    this.#rest.wake();
  }

  onStretch(stretched: boolean): void {
    this.#facts = { ...this.#facts, stretched };
    this.#judge();
  }

  /** Judges again when time alone changes the state: 30 s without contact matter although nothing happened. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // One instant for both: what comes between two readings would neither be judged nor waited for.
      const now = this.#clock.monotonic();
      this.#judge(now);
      const { realtime, business, startedAt } = this.#facts;
      const patient = [realtime.failingSince, business.failingSince, startedAt].flatMap((since) =>
        since === null ? [] : since + patienceMs,
      );
      await this.#rest.for(untilNextMs([...patient, ...this.#givesWay()], now), signal);
    }
  }

  #judge(now = this.#clock.monotonic()): void {
    for (const host of ["realtime", "business"] as const) {
      const away = isGone(this.#facts[host], now);
      if (away === this.#away[host]) continue;
      this.#away[host] = away;
      for (const listener of this.#hostListeners) listener(host, !away);
    }
    const state = platformState(this.#facts, now);
    if (state === null) return;
    this.#show(state, now);
    this.#showReachable(state !== "unreachable", now);
  }

  #show(state: PlatformState, now: number): void {
    const by = this.#cause();
    const before = this.state;
    if (state === before && by === this.#degradedBy) return;
    if (!mayFollow(this.#shown, state, now, standings.platform)) return;
    this.#degradedBy = by;
    this.#shown = { state, since: now };
    if (state === before) {
      if (state === "degraded") this.#log.warn(this.#sentence(state));
      return;
    }
    if (before === "unreachable") this.reconnects += 1;
    for (const listener of this.#stateListeners) listener(state);
    this.#report(before, state);
  }

  #showReachable(answers: boolean, now: number): void {
    const before = this.#reachable;
    const isThere = answers && this.state !== "unreachable";
    if (before?.state !== isThere && mayFollow(before, isThere, now, standings.reachable))
      this.#reachable = { state: isThere, since: now };
    const reachable = this.#reachable?.state ?? isThere;
    if (this.#reachable === before && answers === this.#answers) return;
    this.#answers = answers;
    for (const listener of this.#reachListeners) listener(reachable, answers);
  }

  /** When the shown states may change. */
  #givesWay(): readonly number[] {
    const [shown, reachable] = [this.#shown, this.#reachable];
    return [
      ...(shown === null ? [] : [givesWayAt(shown, "online", standings.platform)]),
      ...(reachable === null ? [] : [givesWayAt(reachable, true, standings.reachable)]),
    ];
  }

  #cause(): Cause {
    if (this.#away.business) return "business";
    return this.#unusable().length > 0 ? "operations" : "budget";
  }

  #unusable(): HostFacts["unusable"] {
    const { realtime, business } = this.#facts;
    return [...realtime.unusable, ...business.unusable];
  }

  #report(before: PlatformState | null, state: PlatformState): void {
    const message = this.#sentence(state);
    const wasAway = before === "unreachable" || before === "unauthorized";
    if (state === "online") {
      this.#log.info(before === null ? "the platform answers" : message);
      if (wasAway) this.#onEvent({ type: "platform_back", severity: "info", message, at: this.#clock.now() });
      return;
    }
    this.#log.warn(message);
    if (state === "degraded" && !wasAway) return;
    const type =
      state === "unauthorized" ? "unauthorized" : state === "degraded" ? "platform_back" : "platform_lost";
    this.#onEvent({
      type,
      severity: state === "degraded" ? "warning" : "error",
      message,
      at: this.#clock.now(),
    });
  }

  /** The event's sentence for a state, with its cause and its consequence. */
  #sentence(state: PlatformState): string {
    const { realtime } = this.#facts;
    switch (state) {
      case "online":
        return "the platform answers again";
      case "degraded":
        return this.#degradedSentence();
      case "unauthorized":
        return "the platform refuses the credential: check platform.token, platform.token_file or platform.sign_in";
      case "unreachable":
        return `the platform's realtime host does not answer${because(realtime)}. All readings are stale and commands are refused until it does`;
    }
  }

  #degradedSentence(): string {
    switch (this.#degradedBy) {
      case "budget":
        return "platform.requests_per_minute stretches the intervals; readings and commands go on";
      case "business":
        return `the platform's business host is gone${because(this.#facts.business)}. Readings and commands of known controllers go on; new controllers, names and stations wait for it`;
      case "operations": {
        const [first, ...others] = this.#unusable();
        const more = others.length === 0 ? "" : ` (also: ${others.map((one) => one.operation).join(", ")})`;
        return `the platform is there, but a part of it cannot be used: ${first?.trouble ?? ""}${more}. Everything else goes on`;
      }
    }
  }
}

const because = ({ trouble }: HostFacts): string => (trouble === null ? "" : `: ${trouble}`);
