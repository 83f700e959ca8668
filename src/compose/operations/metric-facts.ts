import type { MetricFacts } from "./metrics.js";
import type { OperationsParts } from "./operations.js";

/** What only the operations side knows. */
type OwnFacts = Pick<
  MetricFacts,
  | "clockJumps"
  | "wrongTokens"
  | "commands"
  | "platformReconnects"
  | "overdue"
  | "hasOtherBridge"
  | "isDeaf"
  | "selfTests"
> & { readonly startedAt: number };

/** Asks every part for its figures. */
export function metricFacts(parts: OperationsParts, { startedAt, ...own }: OwnFacts): MetricFacts {
  const { around, live, journal, mirror, outputs, desk, reads, lagMs } = parts;
  const { platform, watch, budget, poller, store } = mirror;
  const now = around.clock.monotonic();
  const since = (at: number | null) => (at === null ? null : now - at);
  return {
    ...own,
    version: around.version,
    nodeVersion: process.version,
    uptimeMs: now - startedAt,
    memory: process.memoryUsage(),
    lagMs: lagMs(),
    openCommands: desk.commander.open.length,
    resultsWaiting: desk.outbox.waiting,
    isReadOnly: live.current.commands.read_only,
    platformState: watch.state,
    contactMs: {
      business: since(platform.lastContact("business")),
      realtime: since(platform.lastContact("realtime")),
    },
    reads,
    platform: platform.counters(),
    budgetLeft: budget.left(now),
    stretch: poller.stretch,
    callsPerHour: poller.callsPerHour(),
    push: platform.pushCounters(),
    unreadableShapes: platform.shapeReports().length,
    controllers: store.controllers(),
    isConnected: outputs.connection.state === "online",
    broker: outputs.connection.counters(),
    journal: journal.state(),
  };
}
