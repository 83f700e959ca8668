import type { FleetSettings } from "../config/fleet.js";
import type { Listener } from "../http/access.js";
import { Faults } from "../http/faults.js";
import { FirstOperator } from "../http/first-operator.js";
import { type FleetSources, serveFleet, type ShownAccount } from "../http/fleet-site.js";
import type { Port } from "../http/port.js";
import type { Clock } from "../runtime/clock.js";
import { textFile } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { Registry } from "../runtime/metrics.js";
import type { AccountState, Fleet } from "./fleet.js";
import { accountReport } from "./status-file.js";

/* The page of a fleet, which shows all accounts. */

type Http = Exclude<FleetSettings["http"], false>;

interface FleetPageParts {
  readonly http: () => Http;
  readonly dataDir: string;
  readonly fleet: Pick<Fleet, "states" | "state" | "within" | "mistake">;
  readonly version: string;
  /** Health of the process as a whole. */
  readonly health: () => Readonly<Record<string, unknown>>;
  /** In a cluster: whether this member could run accounts that others run now. */
  readonly canTakeOver: () => boolean;
  /** In a cluster: metrics of an account, whichever member runs it. */
  readonly clusterMetrics: (account: string) => Registry | null;
  readonly restore: FleetSources["restore"];
  readonly onListening: Port["onListening"];
  readonly clock: Clock;
  readonly log: Logger;
}

/** Runs until the signal aborts. A failure here ends no account. */
export async function runFleetPage(parts: FleetPageParts, signal: AbortSignal): Promise<void> {
  const { fleet, log, clock, version, health, canTakeOver, clusterMetrics, restore } = parts;
  const faults = new Faults(log, clock);
  const running = () => [...fleet.states().values()].flatMap(({ bridge }) => bridge ?? []);
  const sources = {
    version,
    mistake: () => fleet.mistake,
    accounts: () => new Map([...fleet.states()].map(([name, state]) => [name, shownOf(state)] as const)),
    account: (name: string) => {
      const state = fleet.state(name);
      return state && shownOf(state);
    },
    isStandby: () => {
      const phases = [...fleet.states().values()].map(({ phase }) => phase);
      return phases.includes("standby") && !phases.includes("running");
    },
    canTakeOver,
    clusterMetrics,
    isHealthy: () => running().some(({ status }) => status.isHealthy()),
    isReady: () => running().some(({ status }) => status.isHealthy() && status.isReady()),
    health,
    restore,
    within: <Result>(name: string, run: () => Result) => fleet.within(name, run),
  };
  await serveFleet(portOf(parts, faults), sources, signal).catch((error: unknown) => faults.note(error));
}

const shownOf = (state: AccountState): ShownAccount => ({
  report: () => accountReport(state),
  page: state.bridge?.page ?? null,
});

const tokenSaidEveryMs = 60_000;

function portOf({ http, dataDir, fleet, onListening, clock, log }: FleetPageParts, faults: Faults): Port {
  const firstOperator = new FirstOperator(textFile(dataDir, "page-users.json"), log);
  const listener = () => firstOperator.complete(listenerOf(http()));
  let tokenSaidAt = -Infinity;
  return {
    clock,
    log,
    listener,
    status: {
      /** Each account that the user may see notes the login in its journal. */
      loggedIn: (user, address) => {
        const { accounts } = listener().users.find(({ username }) => username === user) ?? {};
        for (const [name, { bridge }] of fleet.states())
          if (accounts?.includes(name) ?? true)
            fleet.within(name, () => bridge?.page?.sources.status.loggedIn(user, address));
      },
      refusedLogin: (shown, address) => {
        const now = clock.monotonic();
        if (shown === "http.token" && now - tokenSaidAt < tokenSaidEveryMs) return;
        if (shown === "http.token") tokenSaidAt = now;
        log.warn({ address }, `somebody came over HTTP with a wrong ${shown}`);
      },
    },
    sessions: textFile(dataDir, "sessions.json"),
    firstOperator,
    onListening,
    faults,
  };
}

const listenerOf = (http: Http): Listener => ({
  ...http,
  past_readings: false,
  ingress: { enabled: false, role: "viewer", address: "" },
});
