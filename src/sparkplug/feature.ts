import { lazy } from "../runtime/lazy.js";
import { msg } from "../language/text.js";
import type { Core, Running } from "../feature/core.js";
import type { Configured, Feature } from "../feature/feature.js";
import { privateOwnNames } from "../runtime/redaction.js";
import { withDefault } from "../settings/values.js";
import { forAnyActuator } from "../commands/command.js";
import { endAll } from "./alarms.js";
import type { EdgeNode } from "./edge-node.js";
import { sparkplugSection, sparkplugSentences } from "./section.js";

const keys = {
  sparkplug: withDefault(sparkplugSection, {}, "Sparkplug B, on a connection of its own to the same broker."),
};

const code = lazy(() => import("./edge-node.js"));

/** The bridge as a Sparkplug edge node. */
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

/** Its code is loaded while the first polls are on their way. */
function edgeNode(core: Core, { sparkplug: settings, mqtt }: Configured<typeof keys>) {
  const { version, clock, gaps, random, log, broker, mirror, commands, file } = core;
  const { alarms } = commands.limits;
  const { store, inventory, watch } = mirror;
  const made: { node: EdgeNode | null } = { node: null };
  const run = async (signal: AbortSignal) => {
    const { EdgeNode, edgeNodeBroker } = await code();
    const node = new EdgeNode({
      settings,
      broker: edgeNodeBroker(mqtt, broker),
      version,
      store,
      isAccountKnown: () => inventory.isKnown,
      platformState: () => watch.state,
      submit: (request) => commands.commander.submit(request),
      onSurplus: (device, count, isUrgent) => {
        const about = device === null ? null : forAnyActuator(device.code, device.id);
        commands.onSurplus(about, { count, isUrgent, ids: [] });
      },
      alarms: () => alarms.list,
      setAlarm: (type, about, message) => alarms.set(type, about, message),
      memory: file("sparkplug.json"),
      clock,
      gaps,
      random,
      log,
    });
    made.node = node;
    alarms.onChange(() => node.onAlarms());
    watch.onState(() => node.platformState());
    commands.listen(node);
    await node.run(signal);
  };
  return { link: { run }, facts: () => made.node?.facts() ?? null } satisfies Running;
}
