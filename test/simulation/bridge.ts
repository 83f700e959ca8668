import { type BridgeOptions, type BridgeView, runBridge } from "../../src/bridge.js";
import type { Reading } from "../../src/core.js";
import { PlatformError, type RawValue } from "../../src/greenhouse/ports.js";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import { Journal } from "../../src/journal/journal.js";
import type { OpenJournal } from "../../src/journal/open.js";
import type { IncomingMessage } from "../../src/mqtt/connection/settings.js";
import type { PlatformClient } from "../../src/platform/client.js";
import type { Files } from "../../src/runtime/file-system.js";
import type { Core } from "../../src/feature/core.js";
import type { PlatformWatch } from "../../src/sync/hosts.js";
import type { Poller } from "../../src/sync/poller.js";
import type { GreenhouseStore } from "../../src/sync/store.js";
import type { Post } from "../judge/history.js";
import { silentLog } from "../support/builders.js";
import { type AroundLink, BrokerLink } from "./broker.js";
import { isOfGroup } from "./groups.js";
import { type Read, Violation } from "./history.js";
import type { Question } from "./judging.js";
import type { Measured } from "./limits/surroundings.js";
import { BootClock } from "./time.js";
import { wayOver } from "./wire.js";
import type { World } from "./world.js";

/** The simulated machine's event loop is late only when time itself is stalled. */
const noDelay = { enable: () => true, disable: () => true, reset: () => undefined, percentile: () => 0 };

/** One run of the program in the simulated world. */
export class Bridge {
  readonly boot: number;
  /** The lead of the machine's clock at its start. */
  readonly clockOff: number;
  readonly clock: BootClock;
  readonly #world: World;
  readonly #stopping = new AbortController();
  #made: BridgeView | null = null;
  #journal: Journal | null = null;
  #link: BrokerLink | null = null;
  #running: Promise<void> = Promise.resolve();
  store: GreenhouseStore | null = null;
  poller: Pick<Poller, "tally" | "stretch"> | null = null;
  watch: Pick<PlatformWatch, "state"> | null = null;
  isStopping = false;

  constructor(world: World, boot: number) {
    this.#world = world;
    this.boot = boot;
    this.clockOff = world.clockOff;
    this.clock = new BootClock(world.time, world.wall);
  }

  get journal(): Journal | null {
    return this.#journal;
  }

  get waitingResults(): number {
    return this.#made?.commands.outbox.waiting ?? 0;
  }

  /** Whether it still takes up what earlier runs left. */
  get isStarting(): boolean {
    return this.#link === null || this.#link.state === "idle";
  }

  get isLinked(): boolean {
    return this.#link?.isLinked === true;
  }

  /** Whether a message sent now reaches it: a link that came up after a gap has no earlier messages in its socket. */
  get hears(): boolean {
    const { isFromSocket, linkedAt, time } = this.#world;
    return this.isLinked && this.clock.isAlive && !(isFromSocket && time.due < linkedAt);
  }

  /** `over`: options of an account of a fleet. */
  run(over: Partial<Pick<BridgeOptions, "live" | "failing" | "setLogLevel">> = {}): Promise<void> {
    const world = this.#world;
    const { clock } = this;
    this.#running = runBridge(
      {
        configuration: world.configuration,
        clock,
        random: world.bridgeChance.random,
        log: silentLog,
        setLogLevel: () => undefined,
        version: "simulated",
        loopDelay: noDelay,
        openJournal: () => this.#openJournal(),
        outside: {
          files: world.files,
          platform: { way: wayOver(world.wire, clock), deriveKey: () => Promise.resolve(Buffer.alloc(32)) },
          connect: (settings, { gaps }) => (this.#link = new BrokerLink(this.#aroundLink(), settings, gaps)),
          forCommands: (reading) => {
            this.#watchMirror(reading);
            return observed(world, this, reading.platform);
          },
          onEvent: (event) => {
            world.journalist.note("event", event);
            world.checks.event(event);
            world.journalist.saw(`event ${event.type}`);
          },
        },
        onMade: (bridge) => {
          this.#watch(bridge);
        },
        ...over,
      },
      this.#stopping.signal,
    );
    return this.#running;
  }

  #aroundLink(): AroundLink {
    const world = this.#world;
    const { checks, journalist, linkChance: chance, retained } = world;
    return {
      ...{ clock: this.clock, chance, retained },
      fail: (error) => world.fail(error),
      onLinked: () => world.linked(this),
      onStood: () => checks.topicsLookedAt(this),
      onGroupResult: (result) => checks.groups.result(result),
      onResult: (result) => {
        checks.result(this, result);
        const ask = journalist.asks.get(result.by ?? "");
        return () => {
          if (ask) ask.delivered = true;
        };
      },
    };
  }

  async #openJournal(): Promise<OpenJournal> {
    const journal = await Journal.open("/data/journal", {
      clock: this.clock,
      log: silentLog,
      boot: `boot${this.boot}`,
      kernel: `power${this.#world.disk.powerCuts}`,
      files: this.#world.disk.mount(this.clock),
    });
    this.#journal = journal;
    if (journal.history().open.length > 0) this.#world.journalist.saw("a command is recovered after a crash");
    return { journal, inPlace: () => Promise.resolve(), close: () => journal.close() };
  }

  /** The broker's side of the link comes up; retained commands are delivered again. */
  connect(): void {
    this.#link?.connect();
  }

  disconnect(): void {
    this.#link?.disconnect();
  }

  /** Delivers a message on a command topic. */
  receive(message: IncomingMessage): void {
    this.#link?.receive(message);
  }

  /** Delivers a message on a weather topic. */
  measured(message: Measured, protocolVersion: 4 | 5): void {
    const payload = Buffer.from(message.payload);
    this.#link?.receive({ ...message, payload, properties: {} }, protocolVersion);
  }

  /** The parts that requests over MQTT use; null while it starts. */
  get asked(): Pick<Core, "commands" | "clock" | "journal" | "onEvent"> | null {
    if (this.#made === null || this.#journal === null) return null;
    const onEvent = ({ type }: BridgeEvent) => this.#world.journalist.saw(`event ${type}`);
    return { commands: this.#made.commands, clock: this.clock, journal: this.#journal, onEvent };
  }

  /** SIGTERM: resolves once everything has ended. */
  async stop(): Promise<void> {
    this.isStopping = true;
    this.#world.journalist.stoppedAt.set(this.boot, this.#world.time.now);
    this.#stopping.abort();
    await this.#running;
    this.clock.kill();
  }

  /** Lets nothing go on: Node.js would keep everything that waits for its end, and with it the whole world. */
  letGo(): void {
    this.kill();
    this.#stopping.abort();
  }

  /** kill -9. */
  kill(): void {
    this.clock.kill();
    if (this.#link !== null) this.#link.state = "ended";
  }

  #watchMirror({ mirror: { store, watch, poller } }: Reading): void {
    const { journalist, checks } = this.#world;
    this.store = store;
    this.poller = poller;
    this.watch = watch;
    watch.onState((state) => {
      journalist.note("platform", { state });
      checks.platform(this, state);
    });
    store.onChange((earlier, later) => checks.mirrorChanged(this, earlier, later));
  }

  #watch(made: BridgeView): void {
    this.#made = made;
    this.#watchAlarms(made);
    this.#watchPhases(made);
    this.#watchRules(made);
  }

  /** Notes alarms as they are wanted at the broker, whether or not it is connected. */
  #watchAlarms({ retained }: BridgeView): void {
    const wanted = retained.wanted.bind(retained);
    retained.wanted = (topic, ...rest) => {
      if (!this.clock.isAlive) return;
      const alarm = /^greenhouse\/alarm\/(.+)$/.exec(topic)?.[1];
      if (alarm !== undefined) this.#world.checks.limits.alarms.published(alarm, rest[0]);
      wanted(topic, ...rest);
    };
  }

  /** Notes the phases of every command, also of those no longer shown because of a newer one. */
  #watchPhases({ commands: { phases } }: BridgeView): void {
    const show = phases.show.bind(phases);
    phases.show = (command, phase) => {
      const isNewest = show(command, phase);
      this.#world.checks.phase(this, command.by, phase);
      if (phase === "checking") this.#world.accidents.checking();
      return isNewest;
    };
  }

  /** Commands of rules and groups take the same path; each gets a tag, like every delivery. */
  #watchRules({ commands: { commander } }: BridgeView): void {
    const submit = commander.submit.bind(commander);
    const { workload } = this.#world;
    commander.submit = (request) => {
      if (isOfGroup(request)) return submit(workload.groupSends(this, request));
      return submit(request.rule === undefined ? request : workload.ruleSends(this, request));
    };
  }
}

/** The small files of the data directory, which outlive the program. */
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

/** The product's client for commands, with every read and write noted in the history. Polling bypasses it. */
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
  /** Gives each question a signal of its own; several are asked at once with one of the command's. */
  const departing = async <Answer>(
    given: AbortSignal,
    what: Question,
    answer: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> => {
    const signal = AbortSignal.any([given]);
    departures.asked(signal, { ...what, isFirst: world.checks.goesFirst(bridge, what) });
    world.in(1, look);
    try {
      return await answer(signal);
    } finally {
      departures.answered(signal);
      world.in(1, look);
    }
  };
  return {
    ...client,
    value: async (code, address, fresh, given, pace = "urgent") => {
      const read = begin(code, address, fresh);
      const raw = await departing(given, { code, kind: "read", address }, (signal) =>
        client.value(code, address, fresh, signal, pace),
      );
      const isLie = raw !== null && world.isLie(read, raw);
      end(read, raw, isLie);
      journalist.note("read", { of: `${code}/${address}`, raw, ...(isLie ? { lie: true } : {}) });
      return raw;
    },
    connection: async (code, given, pace = "urgent") => {
      const read = begin(code, "", true);
      const connection = await departing(given, { code, kind: "read", address: "" }, (signal) =>
        client.connection(code, signal, pace),
      );
      end(read, connection.state);
      return connection;
    },
    write: (code, address, value, given, { pace = "urgent", mayPost } = {}) =>
      observedWrite(world, bridge, { code, address, value }, (begins) =>
        departing(given, { code, kind: "post", address }, (signal) =>
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
  const owner = checks.owner(what.code, what.address);
  if (owner !== null) world.caretaker.connecting(what.code, owner);
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
