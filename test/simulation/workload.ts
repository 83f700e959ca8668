import type { CommandRequest } from "../../src/commands/command.js";
import { mirrorSettings } from "../../src/sync/settings.js";
import type { Bridge } from "./bridge.js";
import type { Ask } from "../judge/history.js";
import { trustedSkewMs } from "../judge/timing.js";
import { GroupWorkload } from "./groups.js";
import { type Message, nowhere, packet, plain, type Point, Sender, words } from "./messages.js";
import { Chance } from "./scenario.js";
import type { World } from "./world.js";

const hourMs = 3_600_000;
/** How long before a gap the process may have checked the clock last. */
const lookEveryMs = 1_001;
/** At the end come the probes, and before them a time without new commands, so that all others can end. */
const probesMs = 15 * 60_000;
const quietMs = 8 * 60_000;

/** People and automations: when they send, and how their broker delivers it. */
export class Workload {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #impatience: Chance;
  readonly #floods: Chance;
  readonly #points: readonly Point[];
  readonly #sender: Sender;
  readonly #moves: Chance;
  readonly #scenes: Chance;
  readonly #repeats: Chance;
  readonly #groups: GroupWorkload;
  /** The newest run whose link came up. */
  #metBoot = 0;
  #sames = 0;
  readonly #wanted: Point[] = [];
  #asks = 0;
  #retained: readonly Message[] = [];

  constructor(world: World) {
    this.#world = world;
    const { scenario, time, journalist } = world;
    this.#chance = new Chance(scenario.seed, "workload");
    this.#impatience = new Chance(scenario.seed, "impatience");
    this.#floods = new Chance(scenario.seed, "floods");
    this.#moves = new Chance(scenario.seed, "moves");
    this.#scenes = new Chance(scenario.seed, "scenes");
    this.#repeats = new Chance(scenario.seed, "repeats");
    this.#groups = new GroupWorkload(world);
    const { controllers } = mirrorSettings(scenario.configuration);
    this.#points = [...controllers.values()].flatMap(({ code, id, actuators }) =>
      actuators.map((settings) => ({ code, controllerId: id ?? code.toLowerCase(), settings })),
    );
    this.#sender = new Sender(new Chance(scenario.seed, "messages"), {
      terms: scenario.isLimited ? new Chance(scenario.seed, "terms") : null,
      points: this.#points,
      twisted: scenario.twisted,
      now: () => time.now,
      epochNow: () => world.platformNow,
      onRepeat: () => journalist.saw("an id sent again"),
    });
  }

  begin(): void {
    const { commandsPerHour, lengthMs } = this.#world.scenario;
    this.#world.in(lengthMs - probesMs, () => this.#probe());
    const next = () =>
      this.#world.in(this.#chance.gap(hourMs / commandsPerHour), () => {
        if (this.#world.time.now > lengthMs - probesMs - quietMs) return;
        this.send();
        next();
      });
    next();
    this.#nextFlood();
    this.#planScenes();
    this.#groups.begin();
  }

  /** While a controller is silent or slow, somebody moves all its actuators at once, and then presses a stop. */
  #planScenes(): void {
    const { platformFaults, lengthMs } = this.#world.scenario;
    for (const { fault, controller, at = 0, for: forMs = 0 } of platformFaults) {
      if (fault !== "silent_controller" && fault !== "slow_controller") continue;
      const begin = at + this.#scenes.between(0, Math.min(forMs, 120_000));
      const own = this.#points.filter(({ code }) => code === controller);
      if (begin > lengthMs - probesMs - quietMs) continue;
      for (const point of own.slice(0, 10))
        this.#world.in(begin + this.#scenes.between(0, 2_000), () => {
          this.#handOver(plain(point, this.#scenes.of(words(point.settings))));
        });
      for (const point of own.filter(({ settings }) => words(settings).includes("stop")))
        this.#world.in(begin + this.#scenes.between(5_000, 25_000), () => {
          this.#handOver(plain(point, "stop"));
        });
    }
  }

  #nextFlood(): void {
    const { floodsPerHour, lengthMs } = this.#world.scenario;
    if (floodsPerHour === 0) return;
    this.#world.in(this.#floods.gap(hourMs / floodsPerHour), () => {
      if (this.#world.time.now > lengthMs - probesMs - quietMs) return;
      this.#flood();
      this.#nextFlood();
    });
  }

  /** A broken automation: the same command to one target many times a second, while others go on. */
  #flood(): void {
    const point = this.#floods.of(this.#points);
    const word = this.#floods.of(words(point.settings));
    const flood = plain(point, word);
    const isInvented = this.#floods.hits(0.3);
    const everyMs = this.#floods.logUniform(5, 300);
    for (let n = 0; n < 200; n += 1)
      this.#world.in(n * everyMs, () => {
        this.#handOver(isInvented ? { ...nowhere(flood), target: `nowhere-${n}` } : flood);
        if (n > 60 && this.#floods.hits(0.02)) this.#handOver(this.#sender.message());
      });
  }

  /** One message, perhaps with a repetition and others close by. */
  send(): void {
    const message = this.#sender.message();
    const first = this.#handOver(message);
    const { burst, redelivered } = this.#world.scenario;
    this.#askAgain(message);
    if (this.#chance.hits(redelivered)) {
      // QoS 1: the same bytes again, because an acknowledgement was lost.
      this.#world.in(this.#chance.between(0, 1_500), () => {
        this.#handOver(message, first);
      });
    }
    if (!this.#chance.hits(burst)) return;
    const more = this.#chance.whole(1, 4);
    for (let n = 0; n < more; n += 1) {
      const other = this.#sender.message(message.point);
      const inMs = this.#chance.hits(0.4) ? 0 : this.#chance.logUniform(10, 20_000);
      this.#world.in(inMs, () => {
        this.#handOver(other);
        if (this.#chance.hits(0.3)) this.#handOver(this.#sender.message(other.point));
      });
    }
  }

  /** Nothing seems to move, so somebody presses the same button again. */
  #askAgain({ point, word }: Message): void {
    const { impatience } = this.#world.scenario;
    if (point === null || word === null) return;
    if (word === "stop" && impatience > 0) this.#pressStop(point);
    if (!this.#impatience.hits(impatience)) return;
    this.#world.in(this.#impatience.logUniform(2_000, 60_000), () => {
      this.#handOver(plain(point, word));
    });
  }

  /** Somebody who wants a stop presses it more than once. */
  #pressStop(point: Point): void {
    const presses = this.#impatience.whole(1, 5);
    for (let n = 0; n < presses; n += 1)
      this.#world.in(this.#impatience.logUniform(100, 10_000), () => {
        this.#handOver(plain(point, "stop"));
      });
  }

  /** Delivers the broker's retained messages to a new subscriber. */
  linked(bridge: Bridge): void {
    for (const message of this.#retained) this.#deliver(bridge, message, null);
    for (const point of this.#wanted.splice(0))
      this.#world.in(this.#moves.logUniform(100, 20_000), () => {
        this.#handOver(plain(point, this.#moves.of(words(point.settings))));
      });
    if (bridge.boot > 1 && bridge.boot > this.#metBoot) this.#repeatAfterRestart();
    this.#metBoot = bridge.boot;
  }

  /**
   * Somebody who heard nothing of his command while the bridge was away sends it again. If clocks are set, no run knows
   * how old an id is.
   */
  #repeatAfterRestart(): void {
    if (this.#world.scenario.clockJumpsPerHour > 0 || !this.#repeats.hits(0.3)) return;
    this.#world.in(this.#repeats.logUniform(100, 60_000), () => {
      const message = this.#sender.repeated(this.#repeats);
      if (message === null || this.#world.isCalm) return;
      this.#world.journalist.saw("an id sent again after a restart");
      this.#handOver(message);
    });
  }

  /** Somebody commands this actuator as soon as possible. */
  wantAgain({ code, actuator }: Ask): void {
    const point = this.#points.find((one) => one.code === code && one.settings.id === actuator);
    if (point !== undefined) this.#wanted.push(point);
  }

  /** Somebody else, or the same person with another button, repeats the last command. */
  wantTheSame({ code, actuator, word }: Ask): void {
    const point = this.#points.find((one) => one.code === code && one.settings.id === actuator);
    if (point === undefined || word === null || word === "stop") return;
    this.#sames += 1;
    const ownId = `same-${this.#sames}`;
    this.#handOver({ ...plain(point, word), payload: JSON.stringify({ command: word, id: ownId }), ownId });
  }

  /** Without faults, one command to each actuator has to succeed. */
  #probe(): void {
    this.#world.checks.probing();
    for (const point of this.#points) this.#handOver(plain(point, this.#chance.of(words(point.settings))));
  }

  #handOver(message: Message, repeatOf: Ask | null = null): Ask | null {
    if (message.retained) this.#retained = [...this.#retained.slice(-4), message];
    const { bridge } = this.#world;
    if (bridge?.hears !== true) return null;
    return this.#deliver(bridge, message, repeatOf);
  }

  #deliver(bridge: Bridge, message: Message, repeatOf: Ask | null): Ask {
    this.#asks += 1;
    const ask = this.#asked(message, `r${this.#asks}`, bridge.boot, repeatOf);
    this.#world.journalist.asked(ask);
    this.#world.accidents.asking();
    bridge.receive(packet(message, ask.by));
    return ask;
  }

  #asked(message: Message, by: string, boot: number, repeatOf: Ask | null): Ask {
    const { now, due } = this.#world.time;
    const { commands } = this.#world.scenario.configuration;
    const { point, at, expiryS, goodForMs, target, ...said } = message;
    const limitMs = Math.min(commands.max_age, goodForMs);
    // A message from the socket is as old as it is, and may be taken for as old as the gap. A stop is never too old.
    const isOld = this.#world.isFromSocket && message.word !== "stop";
    const sentAt = isOld ? due : now;
    if (isOld) this.#world.journalist.saw("a command that lay in the socket");
    const mayBeOld = isOld || (this.#world.isUnproven && message.word !== "stop");
    const ageMs = mayBeOld ? now - (this.#world.gap?.from ?? now) + lookEveryMs : 0;
    // A lease counts from the arrival, so none begins after its end.
    const leaseMs = 1_000 * Number(/"for":"(\d+)s"/.exec(message.payload)?.[1] ?? Infinity);
    const ownMs = Math.min(limitMs, (expiryS ?? Infinity) * 1_000);
    const latestPostAt = Math.min(
      sentAt + ownMs,
      now + leaseMs,
      at === null ? Infinity : at + limitMs + trustedSkewMs,
    );
    return {
      ...said,
      by,
      at: now,
      boot,
      code: point?.code ?? "GH-0001",
      actuator: target,
      settings: point?.settings ?? null,
      readings: this.#world.platform.readings,
      dryRun: message.dryRun || commands.dry_run,
      rule: null,
      latestPostAt,
      mayExpireAt: Math.min(
        latestPostAt,
        now + ownMs - ageMs,
        now + (point?.settings.limits?.forMs ?? Infinity),
      ),
      mustNotPost: message.mustNotPost ?? this.#standing(message),
      repeatOf,
      phases: [],
      posts: [],
      results: [],
      donor: null,
      inherits: false,
      delivered: false,
      isAnswerKept: false,
    };
  }

  /** A rule's command, as a delivery with its own tag. */
  ruleSends(bridge: Bridge, request: CommandRequest): CommandRequest {
    const { command, id, by } = JSON.parse(Buffer.from(request.payload).toString()) as Record<string, string>;
    const point = this.#points.find(
      ({ controllerId, settings }) =>
        controllerId === request.controllerId && settings.id === request.targetId,
    );
    this.#asks += 1;
    const tag = `r${this.#asks}`;
    const payload = JSON.stringify({ command, id, by: tag });
    if (point === undefined) throw new Error(`a rule sends to nobody: ${payload}`);
    const message = { ...plain(point, command ?? ""), payload, ownId: id ?? null };
    const ask: Ask = {
      ...this.#asked(message, tag, bridge.boot, null),
      rule: request.rule ?? null,
      latestPostAt: Infinity,
      mayExpireAt: Infinity,
      mustNotPost: this.#mayRule(point),
    };
    this.#world.journalist.asked(ask);
    this.#world.checks.limits.ruleSends(ask, by ?? "");
    this.#world.accidents.asking();
    return { ...request, payload: Buffer.from(payload) };
  }

  /** A group's command to a member, as a delivery with its own tag. */
  groupSends(bridge: Bridge, request: CommandRequest): CommandRequest {
    const point = this.#points.find(
      ({ controllerId, settings }) =>
        controllerId === request.controllerId && settings.id === request.targetId,
    );
    const text = Buffer.from(request.payload).toString();
    if (point === undefined) throw new Error(`a group sends to nobody: ${text}`);
    const said = text.startsWith("{") ? (JSON.parse(text) as { command: string; id: string }) : null;
    const message = { ...plain(point, said?.command ?? text), payload: text, ownId: said?.id ?? null };
    this.#asks += 1;
    const ask = this.#asked(message, `r${this.#asks}`, bridge.boot, null);
    this.#world.journalist.asked(ask);
    this.#world.checks.groups.member(request.by ?? "", ask);
    return { ...request, by: ask.by };
  }

  #mayRule(point: Point): string | null {
    const { commands } = this.#world.scenario.configuration;
    if (commands.read_only || point.settings.readOnly) return "read-only";
    return commands.dry_run ? "a dry run" : null;
  }

  /** Why the configuration forbids it; null if it does not. */
  #standing({ point, at, expiryS }: Message): string | null {
    const { commands } = this.#world.scenario.configuration;
    if (commands.read_only || point?.settings.readOnly === true) return "read-only";
    if (commands.dry_run) return "a dry run";
    return commands.require_age && at === null && expiryS === null ? "without an age" : null;
  }
}
