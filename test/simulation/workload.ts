import { kindRows, type KindRow } from "../../src/greenhouse/actuator-kinds.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import { mirrorSettings } from "../../src/compose/mirror-settings.js";
import type { IncomingMessage } from "../../src/mqtt/connection.js";
import type { Bridge } from "./bridge.js";
import { Chance } from "./chance.js";
import type { Ask } from "./history.js";
import type { World } from "./world.js";

const hourMs = 3_600_000;
const trustedSkewMs = 121_000;

interface Point {
  readonly code: string;
  readonly controllerId: string;
  readonly settings: ActuatorSettings;
}

interface Message {
  readonly point: Point | null;
  readonly target: string;
  readonly payload: string;
  readonly word: string | null;
  readonly ownId: string | null;
  readonly retained: boolean;
  readonly force: boolean;
  readonly dryRun: boolean;
  /** The sender's own limit, from the sending. */
  readonly goodForMs: number;
  readonly expiryS: number | null;
  /** The sender's clock, world ms. */
  readonly at: number | null;
  readonly mustNotPost: string | null;
}

/** People and automations: what they send, and how their broker hands it over. */
export class Workload {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #points: readonly Point[];
  #asks = 0;
  #ids = 0;
  /** Messages that went out before, to be repeated under the same id. */
  #sent: { readonly message: Message; readonly at: number }[] = [];
  #retained: Message[] = [];

  constructor(world: World) {
    this.#world = world;
    this.#chance = new Chance(world.scenario.seed, "workload");
    const { controllers } = mirrorSettings(world.scenario.configuration);
    this.#points = [...controllers.values()].flatMap((controller) =>
      controller.actuators.map((settings) => ({
        code: controller.code,
        controllerId: controller.id ?? controller.code.toLowerCase(),
        settings,
      })),
    );
  }

  begin(): void {
    const { commandsPerHour, lengthMs } = this.#world.scenario;
    const next = () => {
      this.#world.time.in(this.#chance.gap(hourMs / commandsPerHour), () => {
        if (this.#world.time.now > lengthMs - 15 * 60_000) {
          this.#probe();
          return;
        }
        this.#guarded(() => {
          this.#send();
        });
        next();
      });
    };
    next();
  }

  /** What is retained on the broker is handed to a new subscriber. */
  linked(bridge: Bridge): void {
    for (const message of this.#retained) this.#deliver(bridge, message, null);
  }

  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#world.fail(error);
    }
  }

  /** With every fault gone, one command to each actuator in turn has to work. */
  #probe(): void {
    this.#world.time.in(60_000, () => {
      this.#world.checks.probesFrom = this.#world.time.now;
      for (const point of this.#points) {
        const word = this.#chance.of(words(point.settings));
        this.#guarded(() => {
          this.#handOver(plain(point, word));
        });
      }
    });
  }

  #send(): void {
    const message = this.#message();
    this.#handOver(message);
    const { burst, redelivered } = this.#world.scenario;
    if (this.#chance.hits(redelivered)) {
      // QoS 1: the same bytes once more, because an acknowledgement was lost.
      const first = this.#world.journalist.asks.get(`r${this.#asks}`) ?? null;
      this.#world.time.in(this.#chance.between(0, 1_500), () => {
        this.#guarded(() => {
          this.#handOver(message, first);
        });
      });
    }
    if (!this.#chance.hits(burst)) return;
    const more = this.#chance.whole(1, 4);
    for (let n = 0; n < more; n += 1) {
      const other = this.#message(message.point);
      const inMs = this.#chance.hits(0.4) ? 0 : this.#chance.logUniform(10, 20_000);
      this.#world.time.in(inMs, () => {
        this.#guarded(() => {
          this.#handOver(other);
          if (this.#chance.hits(0.3)) this.#handOver(this.#message(other.point));
        });
      });
    }
  }

  #message(near: Point | null = null): Message {
    const chance = this.#chance;
    const point = near ?? chance.of(this.#points);
    if (chance.hits(this.#world.scenario.twisted)) return this.#twisted(point);
    const message = plain(point, chance.of(words(point.settings)));
    if (!chance.hits(0.4)) return message;
    return this.#detailed(message);
  }

  /** A JSON payload with some of the optional keys. */
  #detailed(message: Message): Message {
    const chance = this.#chance;
    const { now } = this.#world.time;
    const shared = chance.hits(0.1);
    const ownId = chance.hits(0.7)
      ? shared
        ? `scene-${Math.floor(this.#ids / 4)}`
        : `own-${++this.#ids}`
      : null;
    const at = chance.hits(0.3) ? now - chance.logUniform(10, 20_000) : null;
    const maxAgeS = chance.hits(0.2) ? chance.whole(5, 90) : null;
    const force = chance.hits(0.1);
    const dryRun = chance.hits(0.05);
    const fields = {
      command: /^\d+$/.test(message.word ?? "") && chance.hits(0.5) ? Number(message.word) : message.word,
      ...(ownId === null ? {} : { id: ownId }),
      ...(at === null ? {} : { at: new Date(this.#world.platformNow - now + at).toISOString() }),
      ...(maxAgeS === null ? {} : { max_age: `${maxAgeS}s` }),
      ...(force ? { force } : {}),
      ...(dryRun ? { dry_run: dryRun } : {}),
    };
    if (ownId !== null) this.#ids += shared ? 1 : 0;
    return {
      ...message,
      payload: JSON.stringify(fields),
      ownId,
      force,
      dryRun,
      at,
      goodForMs: Math.min(message.goodForMs, (maxAgeS ?? Infinity) * 1_000),
      expiryS: chance.hits(0.2) ? chance.whole(1, 60) : null,
      mustNotPost: dryRun ? "a dry run" : null,
    };
  }

  /** Something no actuator may follow, or one that was sent before. */
  #twisted(point: Point): Message {
    const chance = this.#chance;
    const word = chance.of(words(point.settings));
    const message = plain(point, word);
    const { now } = this.#world.time;
    switch (chance.whole(0, 6)) {
      case 0:
        return { ...message, retained: true, mustNotPost: "retained" };
      case 1: {
        const at = now - chance.logUniform(300_000, 30 * 24 * hourMs);
        const payload = JSON.stringify({
          command: word,
          at: new Date(this.#world.platformNow - now + at).toISOString(),
        });
        return { ...message, payload, at, mustNotPost: "stale" };
      }
      case 2: {
        const at = now + chance.logUniform(200_000, 30 * 24 * hourMs);
        const payload = JSON.stringify({
          command: word,
          at: new Date(this.#world.platformNow - now + at).toISOString(),
        });
        return { ...message, payload, mustNotPost: "of the future" };
      }
      case 3: {
        const payload = chance.of([
          "",
          "{",
          "dance",
          "101",
          "-1",
          "050",
          "1e1",
          '{"command":"open","comand":1}',
          "null",
          "[]",
        ]);
        return { ...message, payload, word: null, mustNotPost: "no command" };
      }
      case 4:
        return { ...message, target: "nowhere", point: null, word: null, mustNotPost: "an unknown actuator" };
      default: {
        const earlier = this.#sent.filter((one) => one.message.ownId !== null);
        if (earlier.length === 0) return message;
        const again = chance.of(earlier.slice(-8)).message;
        this.#world.journalist.saw("an id sent again");
        return chance.hits(0.8)
          ? { ...again, expiryS: null }
          : { ...again, ...other(again), mustNotPost: null };
      }
    }
  }

  #handOver(message: Message, repeatOf: Ask | null = null): void {
    this.#sent.push({ message, at: this.#world.time.now });
    if (this.#sent.length > 50) this.#sent = this.#sent.slice(-25);
    if (message.retained) this.#retained = [...this.#retained.slice(-4), message];
    const { bridge } = this.#world;
    if (bridge === null || !bridge.isLinked || !bridge.clock.isAlive) return;
    this.#deliver(bridge, message, repeatOf);
  }

  #deliver(bridge: Bridge, message: Message, repeatOf: Ask | null): void {
    const { now } = this.#world.time;
    const { configuration } = this.#world.scenario;
    const by = `r${++this.#asks}`;
    const limitMs = Math.min(configuration.commands.max_age, message.goodForMs);
    const settings = message.point?.settings ?? null;
    const latest = Math.min(
      now + Math.min(limitMs, (message.expiryS ?? Infinity) * 1_000),
      message.at === null ? Infinity : message.at + limitMs + trustedSkewMs,
    );
    const standing =
      configuration.commands.read_only || settings?.readOnly === true
        ? "read-only"
        : configuration.commands.dry_run
          ? "a dry run"
          : configuration.commands.require_age && message.at === null && message.expiryS === null
            ? "without an age"
            : null;
    const isRepeatedRetained = message.retained;
    const ask: Ask = {
      by,
      at: now,
      boot: bridge.boot,
      code: message.point?.code ?? "GH-0001",
      actuator: message.target,
      settings,
      payload: message.payload,
      ownId: message.ownId,
      word: message.word,
      retained: isRepeatedRetained,
      force: message.force,
      dryRun: message.dryRun || configuration.commands.dry_run,
      latestPostAt: latest,
      mustNotPost: message.mustNotPost ?? standing,
      repeatOf,
      phases: [],
      writes: [],
      results: [],
      donor: null,
      inherits: false,
      delivered: false,
    };
    this.#world.journalist.asked(ask);
    this.#world.asking();
    bridge.receive(packet(message, by));
  }
}

const plain = (point: Point, word: string): Message => ({
  point,
  target: point.settings.id,
  payload: word,
  word,
  ownId: null,
  retained: false,
  force: false,
  dryRun: false,
  goodForMs: Infinity,
  expiryS: null,
  at: null,
  mustNotPost: null,
});

/** The same id for another command. */
function other(message: Message): Partial<Message> {
  const word =
    message.point === null
      ? "open"
      : (words(message.point.settings).find((one) => one !== message.word) ?? "open");
  const payload = JSON.stringify({ command: word, id: message.ownId });
  return { payload, word, at: null, expiryS: null, goodForMs: Infinity, force: false, dryRun: false };
}

const packet = (message: Message, by: string): IncomingMessage => ({
  topic: `greenhouse/${message.point?.controllerId ?? "gh-0001"}/actuator/${message.target}/set`,
  payload: Buffer.from(message.payload),
  retain: message.retained,
  qos: 1,
  dup: false,
  properties: {
    userProperties: { by },
    ...(message.expiryS === null ? {} : { messageExpiryIntervalS: message.expiryS }),
  },
});

/** Command words of an actuator; degrees for those that take them. */
export function words(settings: ActuatorSettings): readonly string[] {
  const row: KindRow = kindRows[settings.kind];
  const own = Object.keys({ ...row.values, ...settings.values });
  const stop = settings.stop && !own.includes("stop") ? ["stop"] : [];
  const degrees = row.positionMode === null ? [] : ["0", "25", "45", "100", "45"];
  return [...own, ...stop, ...degrees];
}

/** The value a word finally sends, and where. */
export function targetOf(
  settings: ActuatorSettings,
  word: string,
): { readonly address: string; readonly value: string } {
  const row: KindRow = kindRows[settings.kind];
  if (word === "stop" && settings.stop) return settings.stop;
  if (row.positionMode !== null && /^\d+$/.test(word))
    return { address: settings.positionAddress ?? settings.address, value: word };
  const address = row.positionMode === null ? settings.address : (settings.modeAddress ?? settings.address);
  return { address, value: { ...row.values, ...settings.values }[word] ?? "" };
}
