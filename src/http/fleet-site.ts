import type { RestoreAccount } from "../page/settings-source.js";
import { isoOrNull } from "../greenhouse/documents.js";
import type { AccountReport, Accounts } from "../page/protocol.js";
import type { Text } from "../language/text.js";
import { nextTurn } from "../runtime/clock.js";
import { AccountMetrics, pageOf, register, Registry, type Sample } from "../runtime/metrics.js";
import { servesPage, type Visitor } from "./access.js";
import { type Answer, failure, json, loginRequired, notFound } from "./answer.js";
import { LiveViews } from "./live.js";
import { loginRoutes, sessionOf } from "./login-routes.js";
import type { Port } from "./port.js";
import {
  aboutBridge,
  type Asked,
  metricsRoute,
  nothing,
  type Route,
  routeAt,
  type Routes,
  routeTo,
  watchedRoutes,
  type Served,
} from "./route.js";
import { apiRoutes } from "./routes.js";
import { pageRoutes, servePort } from "./server.js";
import { restoreRoute } from "./settings.js";
import type { PageService } from "./service.js";

/*
 * One page for all accounts of a fleet. An account answers below `api/accounts/<name>/` what one bridge answers below
 * `api/`.
 */

export interface ShownAccount {
  readonly report: () => AccountReport;
  /** Null while the account does not run. */
  readonly page: PageService | null;
}

export interface FleetSources {
  readonly version: string;
  /** Why the configuration files were not applied when last read; null where they were. */
  readonly mistake: () => Text | null;
  /** By name, in alphabetical order. */
  readonly accounts: () => ReadonlyMap<string, ShownAccount>;
  readonly account: (name: string) => ShownAccount | undefined;
  /** Whether other members of the cluster run all accounts, and whether this one could. */
  readonly isStandby: () => boolean;
  readonly canTakeOver: () => boolean;
  /** Metrics of the cluster for an account that another member runs; null outside of a cluster. */
  readonly clusterMetrics: (account: string) => Registry | null;
  /** Whether at least one running account has a link to its broker, and to its platform. */
  readonly isHealthy: () => boolean;
  readonly isReady: () => boolean;
  /** The health of the process as a whole. */
  readonly health: () => Readonly<Record<string, unknown>>;
  readonly restore: RestoreAccount;
  /** Runs a function on behalf of an account, which gets the work's errors. */
  readonly within: <Result>(account: string, run: () => Result) => Result;
}

/** Serves until the signal aborts. */
export const serveFleet = (port: Port, sources: FleetSources, signal: AbortSignal): Promise<void> =>
  servePort(port, () => new FleetSite(port, sources, signal), signal);

const underAccount = /^\/api\/accounts\/([a-z0-9_-]+)(\/.*)$/;

class FleetSite implements Served {
  readonly #port: Port;
  readonly #sources: FleetSources;
  readonly #signal: AbortSignal;
  readonly #hasPage: boolean;
  readonly #startedAt: string;
  readonly #routes: ReadonlyMap<string, Route>;
  /** Routes of one account, by path without the account. */
  readonly #ofAccount = new Map(Object.entries(apiRoutes));
  /** By the accounts that their viewers see. */
  readonly #lives = new Map<string, LiveViews>();
  /** Metrics pages being made, by the accounts in them. */
  readonly #gathering = new Map<string, Promise<string>>();

  constructor(port: Port, sources: FleetSources, signal: AbortSignal) {
    this.#port = port;
    this.#sources = sources;
    this.#signal = signal;
    this.#hasPage = servesPage(port.listener());
    this.#startedAt = isoOrNull(port.clock.now()) ?? "";
    this.#routes = new Map(Object.entries(this.#hasPage ? this.#pageRoutes() : this.#plainRoutes()));
  }

  #plainRoutes(): Routes {
    const { isHealthy, isReady, isStandby, canTakeOver } = this.#sources;
    return watchedRoutes({
      state: () => (isStandby() ? "standby" : "ok"),
      healthProblem: () => (isStandby() || isHealthy() ? null : "no account has a link to its broker"),
      readyProblem: () =>
        (isStandby() && canTakeOver()) || isReady()
          ? null
          : "no account has both its broker and its platform",
      metrics: ({ visitor }) => this.#metrics(visitor),
    });
  }

  #pageRoutes(): Routes {
    return {
      ...this.#plainRoutes(),
      ...loginRoutes,
      "/api/session": routeTo("GET", null, nothing, (_, asked: Asked) =>
        json({ ...sessionOf(asked), fleet: true }),
      ),
      "/api/metrics": metricsRoute(({ visitor }) => this.#metrics(visitor)),
      "/api/accounts": routeTo("GET", "viewer", nothing, (_, { visitor }: Asked) =>
        json(this.#document(visitor)),
      ),
      "/api/health": routeTo("GET", "viewer", nothing, (_, { visitor }: Asked) =>
        json({ ...this.#document(visitor), ...this.#sources.health() }),
      ),
      "/api/restore": restoreRoute(this.#sources.restore),
      ...pageRoutes(),
    };
  }

  route(path: string, visitor: Visitor): { readonly route: Route; readonly id: string } | Answer | null {
    const [, name, rest = ""] = underAccount.exec(path) ?? [];
    if (name === undefined || !this.#hasPage) return routeAt(this.#routes, path);
    const account = this.#accountFor(name, visitor);
    if ("status" in account) return account;
    if (rest === "/session") return { route: sessionIn(account.report()), id: "" };
    const found = routeAt(this.#ofAccount, `/api${rest}`);
    if (found === null || account.page === null) return found && away(name, account.report());
    const route = this.#within(name, aboutBridge(found.route, account.page));
    return { route, id: found.id };
  }

  #within(name: string, { answer, other, ...how }: Route): Route {
    return {
      ...how,
      answer: (asked) => this.#sources.within(name, () => answer(asked)),
      ...(other !== undefined && { other: this.#within(name, other) }),
    };
  }

  /** An account that the visitor may not see is answered like one that does not exist. */
  #accountFor(name: string, visitor: Visitor): ShownAccount | Answer {
    if (visitor.role === null) return loginRequired;
    const account = sees(visitor, name) ? this.#sources.account(name) : undefined;
    return account ?? notFound("account", name);
  }

  isLive(path: string): boolean {
    return this.#hasPage && (path === "/api/live" || underAccount.exec(path)?.[2] === "/live");
  }

  live(path: string, visitor: Visitor): LiveViews | Answer {
    const [, name] = underAccount.exec(path) ?? [];
    if (name === undefined) return this.#liveFor(visitor);
    const account = this.#accountFor(name, visitor);
    if ("status" in account) return account;
    return account.page?.live ?? away(name, account.report());
  }

  /** Visitors who see the same accounts share a view. */
  #liveFor(visitor: Visitor): LiveViews {
    const key = keyOf(visitor);
    const { clock, faults } = this.#port;
    const view = (name: string) => (name === "accounts" ? this.#document(visitor) : null);
    const held = this.#lives.get(key);
    if (held !== undefined) return held;
    const live = new LiveViews(clock, view, faults, () => true);
    this.#lives.set(key, live);
    live.run(this.#signal).catch((error: unknown) => faults.note(error));
    return live;
  }

  review(): void {
    for (const live of this.#lives.values()) live.review();
    for (const { page } of this.#sources.accounts().values()) page?.live.review();
  }

  run(): Promise<void> {
    return Promise.resolve();
  }

  #shownTo(visitor: Visitor): ReadonlyMap<string, ShownAccount> {
    return new Map([...this.#sources.accounts()].filter(([name]) => sees(visitor, name)));
  }

  #document(visitor: Visitor): Accounts {
    return {
      at: isoOrNull(this.#port.clock.now()) ?? "",
      version: this.#sources.version,
      started_at: this.#startedAt,
      // The message may name accounts that this visitor does not see.
      mistake: visitor.accounts === undefined ? this.#sources.mistake() : null,
      accounts: Object.fromEntries(
        [...this.#shownTo(visitor)].map(([name, { report }]) => [name, report()] as const),
      ),
    };
  }

  /** Requests that come meanwhile get the same page. */
  #metrics(visitor: Visitor): Promise<string> {
    const key = keyOf(visitor);
    const gathering =
      this.#gathering.get(key) ??
      this.#gather(this.#shownTo(visitor)).finally(() => this.#gathering.delete(key));
    this.#gathering.set(key, gathering);
    return gathering;
  }

  /** Yields between two accounts, so that other work gets its turn. */
  async #gather(accounts: ReadonlyMap<string, ShownAccount>): Promise<string> {
    const all = new AccountMetrics();
    for (const [name, { page }] of accounts) {
      if (page === null) {
        const metrics = this.#sources.clusterMetrics(name);
        if (metrics !== null) await all.add(name, metrics);
        continue;
      }
      await all.add(
        name,
        this.#sources.within(name, () => page.sources.metrics.registry()),
      );
      await nextTurn();
    }
    const reports = new Map([...accounts].map(([name, { report }]) => [name, report()]));
    return `${await pageOf(fleetMetrics(reports))}\n${await all.page(nextTurn)}`;
  }
}

const states = ["starting", "running", "waiting", "stopping", "refused", "standby"] as const;

/** Metrics of accounts that only the fleet knows. */
export function fleetMetrics(accounts: ReadonlyMap<string, AccountReport>): Registry {
  const stateOf = "1 for the state that `fleet status` shows of the account";
  const samples = [...accounts].flatMap(([account, report]) =>
    states.map((state): Sample => [{ account, state }, Number(state === report.state)]),
  );
  const again = "How often the account ended by an error and was started again";
  const restarts = [...accounts].map(([account, report]): Sample => [{ account }, report.restarts]);
  const all = new Registry();
  register(all, [
    ["account_state", stateOf, samples, "account", "state"],
    ["account_restarts_total", again, restarts, "account"],
  ]);
  return all;
}

const sees = ({ accounts }: Visitor, name: string): boolean => accounts?.includes(name) ?? true;

const keyOf = ({ accounts }: Visitor): string => JSON.stringify(accounts ?? "all");

const sessionIn = (account: AccountReport): Route =>
  routeTo("GET", null, nothing, (_, asked: Asked) => json({ ...sessionOf(asked), fleet: true, account }));

function away(name: string, { state, error }: AccountReport): Answer {
  const why = error === null ? "" : `: ${String(error)}`;
  return failure(503, "account_away", `The account ${name} does not run (${state})${why}`, {
    "retry-after": "5",
  });
}
