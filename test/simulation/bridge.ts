import { createCommands, joinReading } from "../../src/bridge.js";
import { restoreCommands } from "../../src/commands/restore.js";
import type { CommandService, CommandServiceParts } from "../../src/commands/service.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { PlatformError, type RawValue } from "../../src/greenhouse/ports.js";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import { Journal } from "../../src/journal/journal.js";
import type { IncomingMessage } from "../../src/mqtt/connection/settings.js";
import { RetainedTopics } from "../../src/mqtt/retained-topics.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import type { PlatformClient } from "../../src/platform/client.js";
import type { Files } from "../../src/runtime/file-system.js";
import type { LimitRequestPorts } from "../../src/status/requests.js";
import type { Mirror } from "../../src/sync/mirror.js";
import type { GreenhouseStore } from "../../src/sync/store.js";
import type { Post } from "../judge/history.js";
import { type Read, Violation } from "./history.js";
import type { Question } from "./judging.js";
import type { Measured } from "./limits/surroundings.js";
import { BootClock } from "./time.js";
import type { World } from "./world.js";
import { silentLog } from "../support/builders.js";

const directory = "/data/journal";
const topics = topicsUnder("greenhouse");

/** One run of the program: the product's parts, joined as `compose` joins them, in the simulated world. */
export class Bridge {
  readonly boot: number;
  /** How far the machine's clock was ahead at its start. */
  readonly clockOff: number;
  readonly clock: BootClock;
  readonly retained: RetainedTopics;
  readonly #world: World;
  readonly #stopping = new AbortController();
  #desk: CommandService | null = null;
  #journal: Journal | null = null;
  #mirror: Mirror | null = null;
  /** What every part's `run` returned. */
  #running: Promise<unknown> = Promise.resolve();
  #link: object | null = null;
  isLinked = false;
  isStarting = true;
  isStopping = false;

  constructor(world: World, boot: number) {
    this.#world = world;
    this.boot = boot;
    this.clockOff = world.clockOff;
    this.clock = new BootClock(world.time, world.wall, world.wire);
    this.retained = this.#createRetained();
  }

  get store(): GreenhouseStore | null {
    return this.#mirror?.store ?? null;
  }

  get journal(): Journal | null {
    return this.#journal;
  }

  get waitingResults(): number {
    return this.#desk?.outbox.waiting ?? 0;
  }

  async run(): Promise<void> {
    const { configuration } = this.#world.scenario;
    const { clock } = this;
    const journal = await Journal.open(directory, {
      clock,
      log: silentLog,
      boot: `boot${this.boot}`,
      files: this.#world.disk.mount(clock),
    });
    this.#journal = journal;
    const { mirror, platform } = simulatedMirror(this.#world, this);
    this.#mirror = mirror;
    const { store } = mirror;
    const desk = createCommands({
      ...this.#broker(),
      platform,
      mirror,
      journal,
      topics,
      clock,
      log: silentLog,
      configuration,
      rules: () => ({ ...configuration.commands, readOnlyForRules: configuration.commands.read_only }),
      otherBridge: () => false,
      overdue: () => ({ late: [], upToDate: new Set<null>() }),
      onEvent: (event) => {
        this.#world.journalist.note("event", event);
        this.#world.checks.event(event);
        this.#world.journalist.saw(`event ${event.type}`);
      },
    });
    this.#desk = desk;
    this.retained.onFound([], desk.earlier);
    this.#watchPhases(desk);
    this.#watchRules(desk);
    const recovered = journal.history().open.length;
    const files = this.#world.disk.mount(clock);
    const onUnreadable = () => undefined;
    await restoreCommands(desk, { journal, store, clock, log: silentLog, onUnreadable, files });
    if (recovered > 0) this.#world.journalist.saw("a command is recovered after a crash");
    const { signal } = this.#stopping;
    this.#running = Promise.all([
      desk.run(signal),
      this.retained.run(signal),
      desk.limits.run(signal),
      mirror.store.run(signal),
      mirror.watch.run(signal),
      mirror.poller.run(signal),
    ]);
    this.isStarting = false;
    this.connect();
  }

  #broker(): Pick<CommandServiceParts, "link" | "retained"> {
    const { retained } = this;
    return {
      link: { publish: (topic, payload) => this.#publish(topic, payload) },
      retained: {
        wanted: (topic, payload) => {
          if (!this.clock.isAlive) return;
          const alarm = /^greenhouse\/alarm\/(.+)$/.exec(topic)?.[1];
          if (alarm !== undefined) this.#world.checks.limits.alarms.published(alarm, payload);
          retained.wanted(topic, payload);
        },
        forget: (topic) => retained.forget(topic),
        showAgain: () => undefined,
        hasten: () => undefined,
      },
    };
  }

  /** The keeper of what is retained; of the states the simulation looks at the mirror itself. */
  #createRetained(): RetainedTopics {
    return new RetainedTopics({
      topics,
      qos: 0,
      link: {
        publish: (topic, payload) => {
          if (this.isLinked && topic.endsWith("/command")) this.#world.commandTopics.set(topic, payload);
          return this.#publish(topic, payload);
        },
        scan: (_, found) => {
          for (const [topic, payload] of this.#world.commandTopics) found(topic, Buffer.from(payload));
          return Promise.resolve(true);
        },
      },
      view: { controllers: () => [], get: () => undefined, byId: () => undefined },
      gate: null,
      isLeftOut: () => false,
      clock: this.clock,
      log: silentLog,
    });
  }

  /** The broker's side of the link comes up; retained commands are handed over again. */
  connect(): void {
    if (this.#desk === null || this.isLinked) return;
    this.isLinked = true;
    const link = {};
    this.#link = link;
    void this.#online(this.#desk, link);
    this.#world.linked(this);
    this.clock.in(30_000, () => {
      if (this.#link === link) this.#world.checks.topicsLookedAt(this);
    });
  }

  async #online(desk: CommandService, link: object): Promise<void> {
    await this.retained.linked();
    if (this.#link !== link) return;
    this.retained.online();
    desk.connected();
  }

  disconnect(): void {
    this.isLinked = false;
    this.#link = null;
    this.retained.unlinked();
    this.#desk?.disconnected();
  }

  /** A message on a command topic; what the bridge cannot hear is lost, as its sessions are always clean. */
  receive(message: IncomingMessage): void {
    const where = topics.parse(message.topic);
    if (this.#desk === null || !this.isLinked || !this.clock.isAlive) return;
    if (where?.type === "command") this.#desk.received(message, where, null);
  }

  /** A message on a weather topic. */
  measured(message: Measured, protocolVersion: 4 | 5): void {
    if (this.#desk?.limits.isWeatherTopic(message.topic))
      this.#desk.limits.onWeather(message, protocolVersion);
  }

  /** What requests over MQTT work with; null while it starts. */
  get requestPorts(): (LimitRequestPorts & Pick<CommandService, "limits">) | null {
    if (this.#desk === null || this.#journal === null) return null;
    const { limits } = this.#desk;
    const onEvent = ({ type }: BridgeEvent) => this.#world.journalist.saw(`event ${type}`);
    return { limits, clock: this.clock, journal: this.#journal, onEvent };
  }

  /** SIGTERM: resolves once everything has ended. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.#world.journalist.stoppedAt.set(this.boot, this.#world.time.now);
    this.#stopping.abort();
    await this.#running;
    this.isLinked = false;
    await this.#journal?.close();
    this.clock.kill();
  }

  /** kill -9. */
  kill(): void {
    this.clock.kill();
    this.isLinked = false;
  }

  /** Of every command, also of those whose phases are no longer shown because a newer one is. */
  #watchPhases({ phases }: CommandService): void {
    const show = phases.show.bind(phases);
    phases.show = (command, phase) => {
      show(command, phase);
      this.#world.checks.phase(this, command.by, phase);
      if (phase === "checking") this.#world.accidents.checking();
    };
  }

  /** What rules send comes on the same path; each is given a tag, as every delivery is. */
  #watchRules({ commander }: CommandService): void {
    const submit = commander.submit.bind(commander);
    commander.submit = (request) =>
      submit(request.rule === undefined ? request : this.#world.workload.ruleSends(this, request));
  }

  #publish(topic: string, payload: string): Promise<void> {
    if (!this.clock.isAlive) return new Promise(() => undefined);
    if (!/\/actuator\/[^/]+\/result$/.test(topic))
      return this.isLinked ? Promise.resolve() : Promise.reject(new Error("away"));
    const result = JSON.parse(payload) as CommandResult;
    this.#world.checks.result(this, result);
    if (!this.isLinked) return Promise.reject(new Error("the broker is away"));
    const ask = this.#world.journalist.asks.get(result.by ?? "");
    const { linkChance } = this.#world;
    return new Promise((resolve, reject) => {
      this.clock.in(linkChance.between(0, 20), () => {
        const arrives = this.isLinked || linkChance.hits(0.5);
        if (arrives && ask) ask.delivered = true;
        if (this.isLinked) resolve();
        else reject(new Error("the link broke before the acknowledgement"));
      });
    });
  }
}

/** The product's reading half in the simulated world; its connections are doubles that lead there (see hooks.mjs). */
function simulatedMirror(
  world: World,
  bridge: Bridge,
): { readonly mirror: Mirror; readonly platform: PlatformClient } {
  const { platform, mirror } = joinReading({
    configuration: { ...world.scenario.configuration, data_dir: "/data" },
    clock: bridge.clock,
    random: world.bridgeChance.random,
    log: silentLog,
    files: world.files,
    onEvent: () => undefined,
  });
  mirror.watch.onState((state) => world.journalist.note("platform", { state }));
  mirror.store.onChange((earlier, later) => world.checks.mirrorChanged(bridge, earlier, later));
  return { mirror, platform: observed(world, bridge, platform) };
}

/** The small files of the data directory; they outlive the program. */
export function filesInMemory(): Files {
  const held = new Map<string, string>();
  return {
    read: (path) => Promise.resolve(held.get(path) ?? null),
    version: (path) => Promise.resolve(held.has(path) ? path : null),
    writePrivate: (path, text) => {
      held.set(path, text);
      return Promise.resolve();
    },
  };
}

type WriteAnswer = ReturnType<PlatformClient["write"]>;

/** The product's client as commands see it, with every read and write noted in the history. Polling goes past it. */
function observed(world: World, bridge: Bridge, client: PlatformClient): PlatformClient {
  const { journalist, time } = world;
  const begin = (code: string, address: string, fresh: boolean): Read => {
    const read: Read = {
      boot: bridge.boot,
      code,
      address,
      fresh,
      begunAt: time.now,
      begunMono: bridge.clock.monotonic(),
      endedAt: null,
      raw: null,
      answered: false,
      isLie: false,
    };
    journalist.read(read);
    return read;
  };
  const end = (read: Read, raw: RawValue | null, isLie = false) =>
    Object.assign(read, { endedAt: time.now, answered: true, raw, isLie });
  const { departures } = bridge.clock;
  /** S24: without a credential everything waits for a new one. */
  const look = () => {
    const isReady = bridge.clock.signInsOpen === 0 && !client.link("realtime").unauthorized;
    if (!bridge.clock.isAlive) return;
    const heldUp = isReady ? departures.heldUp() : null;
    if (heldUp !== null) world.fail(new Violation("S24", `${heldUp} waits although nothing keeps it back`));
    const crowded = departures.crowded();
    if (crowded !== null) world.fail(new Violation("S24", crowded));
  };
  const departing = async <Answer>(
    signal: AbortSignal,
    what: Question,
    answer: () => Promise<Answer>,
  ): Promise<Answer> => {
    departures.asked(signal, { ...what, isFirst: world.checks.goesFirst(bridge, what) });
    world.in(1, look);
    try {
      return await answer();
    } finally {
      departures.answered(signal);
      world.in(1, look);
    }
  };
  return {
    ...client,
    value: async (code, address, fresh, signal, pace = "urgent") => {
      const read = begin(code, address, fresh);
      const raw = await departing(signal, { code, kind: "read", address }, () =>
        client.value(code, address, fresh, signal, pace),
      );
      const isLie = raw !== null && world.isLie(read, raw);
      end(read, raw, isLie);
      journalist.note("read", { of: `${code}/${address}`, raw, ...(isLie ? { lie: true } : {}) });
      return raw;
    },
    connection: async (code, signal, pace = "urgent") => {
      const read = begin(code, "", true);
      const connection = await departing(signal, { code, kind: "read", address: "" }, () =>
        client.connection(code, signal, pace),
      );
      end(read, connection.state);
      return connection;
    },
    write: (code, address, value, signal, { pace = "urgent", mayPost } = {}) =>
      observedWrite(world, bridge, { code, address, value }, (begins) =>
        departing(signal, { code, kind: "post", address }, () =>
          client.write(code, address, value, signal, {
            pace,
            mayPost: () => {
              if (mayPost?.() === false) return false;
              begins();
              return true;
            },
          }),
        ),
      ),
  };
}

async function observedWrite(
  world: World,
  bridge: Bridge,
  what: Pick<Post, "code" | "address" | "value">,
  send: (begins: () => void) => WriteAnswer,
): WriteAnswer {
  const { journalist, time, checks } = world;
  let begun: Post | null = null;
  const begins = () => {
    const ask = checks.sender(what.code, what.address);
    const isSame = (one: Post) => one.address === what.address && one.value === what.value;
    const isSecond = ask?.posts.some(isSame) === true;
    begun = {
      ask,
      boot: bridge.boot,
      ...what,
      begunAt: time.now,
      endedAt: null,
      outcome: null,
      sent: false,
      bodyCode: null,
      wires: 0,
      arrived: null,
    };
    journalist.posting(begun);
    checks.posting(begun);
    world.accidents.posting(isSecond);
  };
  const ended = (facts: Partial<Post>) => {
    if (begun === null) return;
    Object.assign(begun, facts, { endedAt: time.now });
    journalist.posted(begun);
  };
  try {
    const answer = await send(begins);
    ended({ outcome: "accepted", sent: true, bodyCode: answer.code });
    return answer;
  } catch (error) {
    if (error instanceof PlatformError) {
      const { kind, sent, code: bodyCode } = error.facts;
      journalist.saw(`POST ${kind}`);
      ended({ outcome: kind, sent, bodyCode: bodyCode ?? null });
    } else ended({ outcome: "defect" });
    throw error;
  }
}
