import { statements } from "../language/lists.js";
import { msg, row } from "../language/text.js";
import { type Check, failed, notTried, ok, type Scene, type Verdict, warning } from "../feature/doctor.js";
import type { Configured } from "../feature/feature.js";
import { namedAccount } from "./cluster.js";
import {
  inspectCluster,
  type Inspection,
  type JournalFacts,
  type OwnerFacts,
  type ServerFacts,
} from "./inspect.js";
import type { keys } from "./section.js";

/* Checks of a bridge in a cluster: its NATS servers, its journal and its owner. */

type Looked = Scene<Configured<typeof keys>>;

const inspections = new WeakMap<Looked, Promise<Inspection>>();

/** All checks share one inspection. */
function inspection(context: Looked): Promise<Inspection> {
  const known = inspections.get(context) ?? inspect(context);
  inspections.set(context, known);
  return known;
}

async function inspect({ configuration, account }: Looked): Promise<Inspection> {
  const { cluster } = configuration;
  if (cluster === undefined) return { servers: [], journal: null, owner: null };
  return inspectCluster(cluster, namedAccount(configuration, account));
}

export function serversVerdict(servers: readonly ServerFacts[]): Verdict {
  const away = servers.filter(({ problem }) => problem !== null);
  const said = statements(away.map(({ server, problem }) => row`${server}: ${problem ?? ""}`));
  const versions = [...new Set(servers.flatMap(({ version }) => version ?? []))].join(", ");
  if (away.length === servers.length)
    return failed(
      msg`none of the NATS servers can be used: ${said}`,
      msg`start them with jetstream enabled, and check cluster.nats, cluster.credentials and the network; no command is taken without them`,
    );
  if (away.length > 0)
    return warning(
      msg`${servers.length - away.length} of ${servers.length} NATS servers can be used: ${said}`,
      msg`bring it back before another one is lost`,
    );
  return ok(msg`${servers.length} NATS servers answer; nats-server ${versions}`);
}

/** From this share of its limit on, a stream is nearly full. */
const nearlyFull = 0.8;

export function journalVerdict(journal: JournalFacts | null, wanted: number): Verdict {
  if (journal === null) return notTried(msg`no member of the cluster has run the account yet`);
  const { stream, problem, records, bytes, replicas, current, mostBytes, takenBytes } = journal;
  if (problem !== null) return failed(problem, msg`correct cluster.name`);
  if (!journal.hasLeader)
    return failed(
      msg`too few of the ${replicas} NATS servers that have the stream ${stream} run, so it takes nothing`,
      msg`start them; commands are refused until then`,
    );
  if (journal.dropsOldest)
    return failed(
      msg`the stream ${stream} has limits by which NATS drops its oldest entries, locks among them`,
      msg`take max_age, max_bytes and max_msgs from it with NATS's own program`,
    );
  if (mostBytes !== null && takenBytes > nearlyFull * mostBytes)
    return warning(
      msg`the journal's NATS servers have ${mebibytes(takenBytes)} of the ${mebibytes(mostBytes)} MiB that they may take`,
      msg`raise the limit of the stream or of the NATS account; when it is reached commands are refused`,
    );
  if (replicas < wanted)
    return warning(
      msg`the stream ${stream} is kept on ${replicas} servers, and cluster.replicas is ${wanted}`,
      msg`change the stream's replicas with NATS's own program`,
    );
  if (current < replicas)
    return warning(
      msg`${current} of ${replicas} copies of the journal are complete`,
      msg`start the NATS servers that are away, and stop no other one before all are complete`,
    );
  return ok(msg`${records} entries, ${mebibytes(bytes)} MiB, complete on ${replicas} servers`);
}

const mebibytes = (bytes: number): string => (bytes / 1_048_576).toFixed(1);

export function ownerVerdict(facts: OwnerFacts | null): Verdict {
  if (facts === null) return notTried(msg`no member of the cluster has started yet`);
  const { owner, leaseAgeMs, members } = facts;
  const others = members.filter((member) => member !== owner);
  if (owner === null)
    return warning(
      msg`no member of the cluster runs the account`,
      msg`start a member; one that stands by takes half a minute`,
    );
  const runs = msg`${owner} runs the account, which was confirmed ${seconds(leaseAgeMs ?? 0)} s ago`;
  if (others.length === 0)
    return warning(msg`${runs}; no other member stands by`, msg`start another member, or nobody takes over`);
  return ok(msg`${runs}; beside it there are ${others.join(", ")}`);
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

export const clusterChecks: readonly Check<Looked>[] = [
  {
    id: "cluster.nats",
    needs: [],
    run: async (context) => serversVerdict((await inspection(context)).servers),
  },
  {
    id: "cluster.journal",
    needs: ["cluster.nats"],
    run: async (context) =>
      journalVerdict((await inspection(context)).journal, context.configuration.cluster?.replicas ?? 1),
  },
  {
    id: "cluster.owner",
    needs: ["cluster.nats"],
    run: async (context) => ownerVerdict((await inspection(context)).owner),
  },
];
