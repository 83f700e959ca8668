import type { Configuration } from "../config/schema.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { HistoryParts } from "../journal/records.js";
import { AlarmDesk, bridgeItself } from "./alarm-desk.js";
import { LimitKeeper } from "./keeper.js";
import type { KeeperPorts } from "./ledger.js";

type AlarmPorts = ConstructorParameters<typeof AlarmDesk>[0];

interface LimitPorts extends Pick<
  KeeperPorts,
  "clock" | "store" | "isReadOnly" | "newId" | "submit" | "recheck"
> {
  readonly configuration: Pick<Configuration, "weather" | "polling">;
  readonly journal: KeeperPorts["journal"] & {
    state(): { readonly reason: string | null };
    history(): HistoryParts;
    readonly unread: Error | null;
    readonly newestAt: number;
  };
  readonly outputs: { send(topic: string, payload: string): void };
  readonly onEvent: (event: BridgeEvent) => void;
  readonly topics: { alarm(id: string): string; readonly bridge: { readonly alarms: string } };
  readonly otherBridge: () => boolean;
  readonly overdue: Watched["overdue"];
}

type Watched = ReturnType<AlarmPorts["watched"]>;

/** Where the bridge listens for measured values. */
export const weatherTopics = (weather: Configuration["weather"]): readonly string[] => [
  ...new Set(Object.values(weather).map(({ topic }) => topic)),
];

/** A message on a weather topic. */
interface Measured {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retain: boolean;
}

const ofLimits: ReadonlySet<string> = new Set(["guard_blind", "guard_unmet", "lease_overrun"]);

/** What limits commands, and what is wrong: one part for the bridge. They are not a safety layer. */
export class LimitDesk {
  readonly keeper: LimitKeeper;
  readonly alarms: AlarmDesk;
  readonly #topics: ReadonlySet<string>;
  readonly #journal: LimitPorts["journal"];
  readonly #store: LimitPorts["store"];
  /** Epoch ms of the newest record of earlier runs, by the clock of then. */
  readonly #newestAt: number;

  constructor(ports: LimitPorts) {
    const { configuration, journal, outputs, topics, otherBridge, overdue } = ports;
    const { weather, polling } = configuration;
    this.#journal = journal;
    this.#store = ports.store;
    this.#newestAt = journal.newestAt;
    this.#topics = new Set(weatherTopics(weather));
    this.alarms = new AlarmDesk({
      ...{ ...ports, publish: (id, payload) => outputs.send(topics.alarm(id), payload) },
      publishAll: (payload) => outputs.send(topics.bridge.alarms, payload),
      watched: () => ({
        ...{ journalProblem: journal.state().reason, hasOtherBridge: otherBridge(), overdue },
      }),
    });
    this.keeper = new LimitKeeper({
      ...{ ...ports, weather, staleAfterMs: polling.stale_after },
      alarm: (type, about, message) => this.alarms.set(type, about, message),
    });
  }

  /** Before anything is commanded or published: what an earlier run left. */
  restore(): void {
    const history = this.#journal.history();
    this.alarms.restore(history.alarms ?? []);
    const gone = this.keeper.restore(history, this.#newestAt);
    for (const { type, controller, actuator } of this.alarms.list)
      if (ofLimits.has(type) && !this.#isLimited(controller, actuator))
        this.alarms.set(type, { controller, actuator }, null);
    if (gone !== null) this.alarms.set("lease_overrun", bridgeItself, gone);
    const lost = this.#journal.unread?.message ?? null;
    this.alarms.set("state_lost", bridgeItself, lost);
  }

  /** Nobody else would clear the alarms of one that is not. */
  #isLimited(controller: string | null, actuator: string | null): boolean {
    const { settings, restrictions } =
      this.#store.byId(controller ?? "")?.actuators.get(actuator ?? "") ?? {};
    return settings?.limits !== undefined || (restrictions ?? null) !== null;
  }

  hears(topic: string): boolean {
    return this.#topics.has(topic);
  }

  /**
   * On 3.1.1 the retain flag says that a message comes from the broker's store, and nobody knows its age; on 5 such a message
   * is not asked for, and a live one may carry the flag.
   */
  measured({ topic, payload, retain }: Measured, protocolVersion: 4 | 5 | undefined): void {
    if (!retain || protocolVersion === 5) this.keeper.measured(topic, payload);
  }

  /** Somebody else moved an actuator: the book says so in an event. */
  told({ type, facts = {} }: BridgeEvent): void {
    const { controller, actuator, from, to } = facts;
    if (type === "changed_elsewhere" && typeof controller === "string" && typeof actuator === "string")
      this.keeper.changedElsewhere(controller, actuator, String(from), String(to));
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.keeper.run(signal), this.alarms.run(signal)]);
  }
}
