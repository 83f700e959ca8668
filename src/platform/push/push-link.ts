import { msg, Sentence, withStrings, type Text } from "../../language/text.js";
import { ignored } from "../../runtime/failures.js";
import { PlatformError } from "../../greenhouse/ports.js";
import { type Clock, Rest } from "../../runtime/clock.js";
import { endpointOf, openSocket } from "../../runtime/connecting.js";
import type { ReadingTurns } from "../../runtime/paced-reading.js";
import type { PlatformInside } from "../inside.js";
import type { Operation } from "../operations.js";
import type { Credential, CredentialSource } from "../session/credential.js";
import { barredMs } from "../session/sign-in.js";
import type { PlatformSettings } from "../settings.js";
import {
  type ConnectionEvents,
  type End,
  goodLifeMs,
  handshakeOf,
  isUnauthorized,
  pauseMs,
  PushConnection,
  triesAfter,
  whyFailed,
  whyNotOpen,
} from "./connection.js";

/** What all channels share. */
interface Channels extends Pick<
  PlatformInside,
  "names" | "pushTally" | "clock" | "random" | "log" | "redactLine"
> {
  readonly settings: PlatformSettings;
  readonly credential: PushCredential;
  readonly turns: ReadingTurns;
}

type LinkEvents = ConnectionEvents & { onLost(): void; onClosed(why: Text): void };

/** Keeps one connection of a channel open: tries, pauses with full jitter, and tries again. */
export class PushLink {
  readonly #operation: Operation;
  readonly #parts: Channels;
  readonly #events: LinkEvents;
  #complained = false;
  #announced = false;

  constructor(operation: Operation, events: LinkEvents, channels: Channels) {
    this.#operation = operation;
    this.#events = events;
    this.#parts = channels;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { random, pushTally: tally } = this.#parts;
    const isOver = () => signal.aborted;
    for (let tries = 0; !isOver();) {
      const end = await this.#try(signal);
      if (isOver()) return;
      if (end.type === "lost") tally.lost += 1;
      else tally.failures += 1;
      tries = triesAfter(tries, end);
      const pause = pauseMs(end, tries, random());
      this.#tell(end, pause);
      await this.#pause(end, pause, signal);
    }
  }

  /** Pauses; after a refusal a new credential ends the pause. */
  async #pause(end: End, ms: number, signal: AbortSignal): Promise<void> {
    const { clock, credential, settings } = this.#parts;
    const rest = new Rest(clock);
    const isItsMatter = isRefusal(end) && wantsToken(settings.push, this.#operation.path);
    const stop = isItsMatter ? credential.onRenewed(() => rest.wake()) : ignored;
    await rest.for(ms, signal);
    stop();
  }

  /** One attempt; a refused credential is replaced once. */
  async #try(signal: AbortSignal): Promise<End> {
    const { credential, settings } = this.#parts;
    const kind = this.#operation.name;
    try {
      if (!wantsToken(settings.push, this.#operation.path)) return await this.#connect(null, signal);
      const first = await credential.obtain(signal);
      const end = await this.#connect(first, signal);
      if (!isRefusal(end) || !(await credential.renew(first, kind, signal))) return end;
      const second = await credential.obtain(signal);
      const again = await this.#connect(second, signal);
      if (isRefusal(again)) await credential.renew(second, kind, signal);
      return again;
    } catch (error) {
      if (!(error instanceof PlatformError) && !signal.aborted)
        this.#parts.log.error({ err: error, channel: kind }, "a push channel failed unexpectedly");
      return {
        type: "failed",
        why: error instanceof PlatformError ? error.text : msg`it failed unexpectedly`,
      };
    }
  }

  async #connect(credential: Credential | null, signal: AbortSignal): Promise<End> {
    const { settings, pushTally: tally, names } = this.#parts;
    const { name, path } = this.#operation;
    const { push, realtime_url: realtimeUrl, timeouts } = settings;
    const handshake = handshakeOf(realtimeUrl, path, credential, push);
    const onOpen = () => {
      tally.open += 1;
      tally.connects += 1;
      this.#parts.credential.onAccepted(name);
      this.#announce();
      this.#events.onOpen();
    };
    const socket = await openSocket({
      ...endpointOf(handshake.url),
      names,
      connectMs: timeouts.connect,
      signal,
    }).catch(whyFailed);
    if (typeof socket === "string" || socket instanceof Sentence) return { type: "failed", why: socket };
    const message = firstMessage(push.subscribe, path);
    const first = message?.replaceAll(tokenMark, credential?.token ?? "") ?? null;
    const parts = { ...this.#parts, first };
    const connection = new PushConnection(socket, handshake, { ...this.#events, onOpen }, parts);
    const end = await connection.run(signal);
    if (end.type === "lost") {
      tally.open -= 1;
      this.#events.onLost();
    }
    return end;
  }

  #announce(): void {
    if (!this.#announced)
      this.#parts.log.info({ channel: this.#operation.label }, "the push channel is open");
    this.#announced = true;
  }

  /** Logs a lasting problem once, as a channel that comes and goes must not fill the log. */
  #tell(end: End, pause: number): void {
    const { log, credential, redactLine } = this.#parts;
    const channel = this.#operation.label;
    const why = withStrings(whyNotOpen(end, credential.key), redactLine);
    this.#events.onClosed(why);
    const isGood = end.type === "lost" && end.livedMs >= goodLifeMs;
    if (isGood) this.#complained = false;
    const isLoud = !isGood && !this.#complained;
    if (isLoud) {
      this.#complained = true;
      this.#announced = false;
    }
    const facts = { channel, next_try_s: Math.ceil(pause / 1000) };
    const text = `the push channel is not open: ${String(why)}. Polling carries on.`;
    if (isLoud) log.warn(facts, text);
    else log.debug(facts, text);
  }
}

/** The first message by the channel's path, in which `{deviceCode}` matches its last part. */
function firstMessage(subscribe: PlatformSettings["push"]["subscribe"], path: string): string | null {
  const own = subscribe[path];
  if (own !== undefined) return own;
  const [, plain = "", code = ""] = /^(.*\/)([^/]*)$/.exec(path) ?? [];
  return subscribe[`${plain}{deviceCode}`]?.replaceAll("{deviceCode}", decodeURIComponent(code)) ?? null;
}

/** The placeholder of the token in a first message. */
const tokenMark = "{token}";

/** Whether the token is sent with the handshake or the first message. */
const wantsToken = ({ credential, subscribe }: PlatformSettings["push"], path: string): boolean =>
  credential !== "none" || firstMessage(subscribe, path)?.includes(tokenMark) === true;

const isRefusal = (end: End): boolean => end.type === "refused" && isUnauthorized(end.status);

const none = { renewedTo: -1, barredUntil: -Infinity };

/**
 * The credential of handshakes. A refused one is renewed once, as for a read. But a channel's refusal says less about
 * the token, so a useless renewal blocks the next one for this kind of channel.
 */
export class PushCredential {
  readonly #source: CredentialSource;
  readonly #clock: Clock;
  /** By kind of channel: the generation that replaced a refused one, and until when no other is asked for. */
  readonly #refusals = new Map<string, typeof none>();
  readonly #listeners = new Set<() => void>();

  constructor(source: CredentialSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  /** The configuration key to look at after a refusal. */
  get key(): string {
    return this.#source.key;
  }

  /** Rejects with a PlatformError where there is none now. */
  async obtain(signal: AbortSignal): Promise<Credential> {
    return this.#source.current() ?? (await this.#source.obtain(signal));
  }

  /** Tells the listeners about a new credential. */
  renewed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Calls back when there is a new credential; the returned function ends that. */
  onRenewed(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onAccepted(kind: string): void {
    this.#refusals.delete(kind);
  }

  /** After 401 or 403: resolves to whether another credential can be tried at once. Never rejects. */
  async renew(refused: Credential, kind: string, signal: AbortSignal): Promise<boolean> {
    const now = this.#clock.monotonic();
    const { renewedTo, barredUntil } = this.#refusals.get(kind) ?? none;
    if (refused.generation === renewedTo) {
      this.#refusals.set(kind, { renewedTo, barredUntil: now + barredMs });
      return false;
    }
    if (now < barredUntil || !(await this.#renew(refused, kind, signal))) return false;
    const newest = this.#source.current()?.generation ?? refused.generation + 1;
    this.#refusals.set(kind, { renewedTo: newest, barredUntil });
    return true;
  }

  async #renew(refused: Credential, kind: string, signal: AbortSignal): Promise<boolean> {
    try {
      const newest = this.#source.current();
      if (newest !== null && newest.generation > refused.generation) return true;
      return await this.#source.renew(refused, "realtime", `WS ${kind}`, signal);
    } catch {
      return false;
    }
  }
}
