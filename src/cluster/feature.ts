import type { Core, Ownership, Running } from "../feature/core.js";
import type { Feature } from "../feature/feature.js";
import { bridgeItself } from "../greenhouse/limits.js";
import { every } from "../runtime/clock.js";
import { privateHost } from "../runtime/redaction.js";
import { clusterDoubts, clusterNeedsBroker, clusterSection, keys } from "./section.js";

/** Several machines, of which one at a time runs an account. */
export const cluster = {
  keys,
  /** A fleet has one section for all its accounts. */
  section: clusterSection,
  errors: clusterNeedsBroker,
  doubts: clusterDoubts,
  privateTexts: (configuration) => (configuration.cluster?.nats ?? []).flatMap(privateHost),
  hosts: (configuration) =>
    (configuration.cluster?.nats ?? []).map((server) =>
      server.includes("://") ? server : `nats://${server}`,
    ),
  checks: async (configuration) =>
    configuration.cluster === undefined ? [] : (await import("./doctor.js")).clusterChecks,
  /** This process as a member. */
  membership: () => import("./member.js"),
  /** Moves a journal between the files of one machine and the cluster. */
  journalMoves: () => import("./journal-moves.js"),
  make: (core) => Promise.resolve(core.ownership === null ? null : heed(core.ownership, core)),
} satisfies Feature<typeof keys> & Readonly<Record<"section" | "membership" | "journalMoves", unknown>>;

const lookMs = 2_000;

/** Tells the account's owner what it does not reach, and raises an alarm when nobody confirms that it is the owner. */
function heed(ownership: Ownership, { commands, clock, connection, mirror }: Core): Running {
  const { alarms } = commands.limits;
  const look = () => {
    alarms.set("cluster", bridgeItself, ownership.alarm());
    ownership.lack([
      ...(connection.state === "online" ? [] : (["broker"] as const)),
      ...(mirror.watch.state === "unreachable" ? (["platform"] as const) : []),
    ]);
  };
  const { member, leaseAgeMs, commandsProblem, metrics } = ownership;
  return {
    part: {
      run: (signal) => every(lookMs, clock, signal, look),
      onDisconnected: () => ownership.linkLost(),
    },
    facts: () => ({
      member,
      lease_age_s: Math.round(leaseAgeMs() / 100) / 10,
      not_taking_because: commandsProblem(),
    }),
    metrics,
  };
}
