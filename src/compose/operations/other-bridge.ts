import type { BridgeEvent } from "../../greenhouse/bridge-events.js";
import type { RecordBody } from "../../journal/records.js";
import type { Clock } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/logger.js";
import {
  atTime,
  clientOf,
  isShared,
  isSuspected,
  nobody,
  type Presence,
  withExchange,
  withHeard,
  withLeft,
} from "./presence.js";
import type { SelfTestMessage } from "./self-test-message.js";

export interface OtherBridgePorts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Id of this run. */
  readonly instance: string;
  /** Device codes of the account as mirrored here. */
  readonly knows: (code: string) => boolean;
  readonly onEvent: (event: BridgeEvent) => void;
  readonly note: (record: RecordBody) => void;
  /** Lets the other hear us without waiting for the next test. */
  readonly answer: () => void;
}

/**
 * Whether a message means a rival: under our base topic any other bridge is one; under another only a bridge that commands
 * controllers of ours.
 */
export function isRival(
  { commands, controllers }: Pick<SelfTestMessage, "commands" | "controllers">,
  isOurBase: boolean,
  knows: (code: string) => boolean,
): boolean {
  return isOurBase || (commands && controllers.some(knows));
}

/** Finds another bridge of the same account at the same broker, and says so once, and once when it is gone. */
export class OtherBridge {
  readonly #ports: OtherBridgePorts;
  #presence: Presence = nobody;
  #told = false;
  #since: number | null = null;
  /** The link whose exchange has been counted. */
  #countedLink = 0;

  constructor(ports: OtherBridgePorts) {
    this.#ports = ports;
  }

  get isPresent(): boolean {
    return this.#told;
  }

  /** Whether somebody was heard who may be another bridge; it is one when it speaks again. */
  get isSuspected(): boolean {
    return isSuspected(this.#presence);
  }

  state(): { readonly present: boolean; readonly client: string | null; readonly since: number | null } {
    return { present: this.#told, client: clientOf(this.#presence), since: this.#since };
  }

  heard(message: SelfTestMessage, isOurBase: boolean): void {
    const { instance, clock, knows, answer } = this.#ports;
    if (message.instance === instance || !isRival(message, isOurBase, knows)) return;
    const isNew = !this.#presence.heard.has(message.instance);
    this.#change(
      message.leaving
        ? withLeft(this.#presence, message.instance)
        : withHeard(this.#presence, message.instance, message.client, clock.monotonic()),
    );
    if (isNew && !message.leaving) answer();
  }

  /** Link number `link` was preceded by one of another client with our client id, or by another's `bridge/info`. */
  exchanged(link: number): void {
    if (link === this.#countedLink) return;
    this.#countedLink = link;
    this.#change(withExchange(this.#presence, this.#ports.clock.monotonic()));
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#ports.clock.wait(1_000, signal).catch(() => undefined);
      this.#change(atTime(this.#presence, this.#ports.clock.monotonic()));
    }
  }

  #change(presence: Presence): void {
    this.#presence = presence;
    const present = isShared(presence);
    if (present === this.#told) return;
    this.#told = present;
    this.#tell(present);
  }

  #tell(present: boolean): void {
    const { clock, log, onEvent, note } = this.#ports;
    const at = clock.now();
    const client = clientOf(this.#presence);
    const message = present ? found : gone;
    this.#since = present ? at : null;
    if (present) log.error({ client }, message);
    else log.info(message);
    note({ type: "other_bridge", present, client });
    const severity = present ? "error" : "info";
    onEvent({ type: "other_bridge", severity, message, at, facts: { present, client } });
  }
}

const found =
  "Another bridge works for the same account at this broker; commands but stops are refused until one of the two is stopped. Give every bridge its own account, mqtt.client_id and mqtt.base_topic";
const gone = "The other bridge is gone; commands are taken again";
