import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { pageOf, type Registry } from "../runtime/metrics.js";
import type { Listener } from "./access.js";
import { failure, json } from "./answer.js";
import { Faults } from "./faults.js";
import type { Port } from "./port.js";
import { nothing, type Routes, routeAt, routeTo, watchedRoutes } from "./route.js";
import { servePort } from "./server.js";

/* What a cluster member answers at its page's port while another one runs the account: that it lives and stands by. */

export interface StandbySources {
  readonly clock: Clock;
  readonly log: Logger;
  readonly listener: Pick<Listener, "host" | "port" | "token" | "users" | "allowed_hosts">;
  /** Whether this member could take over. */
  readonly isReady: () => boolean;
  /** For people and programs: who this member is, and which one was last seen to run the account. */
  readonly facts: () => Readonly<Record<string, unknown>>;
  /** Null while it has not joined the cluster. */
  readonly metrics: () => Registry | null;
}

const withoutPage = {
  overview: [],
  settings: false,
  mdns: false,
  past_readings: false,
  ingress: { enabled: false, role: "viewer", address: "" },
} as const;

/** Serves until the signal aborts. Nobody logs in here; other computers need `http.token`. */
export async function serveStandby(sources: StandbySources, signal: AbortSignal): Promise<void> {
  const { clock, log } = sources;
  const faults = new Faults(log, clock);
  const port: Port = {
    clock,
    log,
    faults,
    listener: () => ({ ...withoutPage, ...sources.listener }),
    status: { loggedIn: () => undefined, refusedLogin: () => undefined },
    sessions: { read: () => Promise.resolve(null), write: () => Promise.resolve() },
    firstOperator: nobody,
  };
  const routes = new Map(Object.entries(routesOf(sources)));
  const served = {
    route: (path: string) => routeAt(routes, path) ?? standingBy,
    isLive: () => false,
    live: () => standingBy,
    review: () => undefined,
    run: () => Promise.resolve(),
  };
  await servePort(port, () => served, signal).catch((error: unknown) => faults.note(error));
}

const standingBy = failure(
  503,
  "standby",
  "This member of the cluster stands by; the page is at the member that runs the account.",
  { "retry-after": "5" },
);

/** No user can be made at a member that stands by. */
const nobody: Port["firstOperator"] = {
  code: null,
  isOffered: () => false,
  load: () => Promise.resolve(),
  make: () => Promise.resolve(standingBy),
};

const routesOf = ({ isReady, facts, metrics }: StandbySources): Routes => ({
  ...watchedRoutes({
    state: () => "standby",
    healthProblem: () => null,
    readyProblem: () =>
      isReady() ? null : "the NATS servers do not answer, so this member could not take over",
    metrics: () => {
      const all = metrics();
      return all === null ? Promise.resolve("") : pageOf(all);
    },
  }),
  "/api/health": routeTo("GET", "viewer", nothing, () =>
    json({ state: "standby", ready: isReady(), ...facts() }),
  ),
});
