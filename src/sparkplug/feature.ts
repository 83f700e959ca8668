import { lazy } from "../runtime/lazy.js";
import { msg } from "../language/text.js";
import type { Core, Running } from "../feature/core.js";
import type { Configured, Feature } from "../feature/feature.js";
import { privateOwnNames } from "../runtime/redaction.js";
import { withDefault } from "../settings/values.js";
import { endAll } from "./alarms.js";
import type { EdgeNode } from "./edge-node.js";
import { sparkplugSection, sparkplugSentences } from "./section.js";

const keys = {
  sparkplug: withDefault(sparkplugSection, {}, "Sparkplug B, on a connection of its own to the same broker."),
};

const code = lazy(() => import("./edge-node.js"));

/** The feature `sparkplug`: the bridge as a Sparkplug edge node. */
export const sparkplug = {
  keys,
  sentences: sparkplugSentences,
  privateTexts: ({ sparkplug: { group, node, primary_host: host } }) => privateOwnNames([group, node, host]),
  claims: ({ sparkplug: { enabled, group, node } }, broker) =>
    enabled
      ? [
          {
            what: msg`the same Sparkplug node at the same broker`,
            path: ["sparkplug", "node"],
            key: [broker, group, node],
          },
        ]
      : [],
  checks: async () => (await import("./doctor.js")).sparkplugChecks,
  load: async ({ sparkplug: { enabled } }) => (enabled ? code() : null),
  make: (core, configuration) =>
    Promise.resolve(configuration.sparkplug.enabled ? edgeNode(core, configuration) : noEdgeNode(core)),
} satisfies Feature<typeof keys>;

function noEdgeNode({ commands }: Core) {
  const { alarms } = commands.limits;
  const run = () => {
    endAll(
      () => alarms.list,
      (type, about, message) => alarms.set(type, about, message),
    );
    return Promise.resolve();
  };
  return { part: { run } } satisfies Running;
}

/** Loads the code of the edge node while the first polls run. */
function edgeNode(core: Core, { sparkplug: settings, mqtt }: Configured<typeof keys>) {
  const made: { node: EdgeNode | null } = { node: null };
  const run = async (signal: AbortSignal) => {
    const { EdgeNode, edgeNodeBroker } = await code();
    const node = new EdgeNode(core, settings, edgeNodeBroker(mqtt, core.broker));
    made.node = node;
    core.commands.limits.alarms.onChange(() => node.onAlarms());
    core.mirror.watch.onState(() => node.platformState());
    core.commands.listen(node);
    await node.run(signal);
  };
  return { link: { run }, facts: () => made.node?.facts() ?? null } satisfies Running;
}
