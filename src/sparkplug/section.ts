import { msg, type Text } from "../language/text.js";
import type { CoreConfiguration } from "../settings/sections/core.js";
import { flag, optional, type Parsed, section, text, withDefault } from "../settings/values.js";

/** The pattern of one level in a Sparkplug topic. */
const sparkplugName = () =>
  text(
    msg`a name without "/", "+" and "#", and not STATE`,
    /^(?!STATE$)(?!\s)(?!.*\s$)[^/+#\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,64}$/,
  );

export const sparkplugSection = section({
  enabled: withDefault(flag(), false, "Show everything as a Sparkplug B 3.0 edge node too, for SCADA."),
  group: withDefault(sparkplugName(), "greenhouses", "Group id of the edge node."),
  node: withDefault(
    sparkplugName(),
    "greenhouse2mqtt",
    "Edge node id; of its own for each bridge in the group. Its devices are the controllers.",
  ),
  primary_host: optional(
    sparkplugName(),
    "Host id of the host application whose presence births wait for; without one they wait for nobody.",
    "# scada1",
  ),
});

export type SparkplugSettings = Parsed<typeof sparkplugSection>;

type Configured = Pick<CoreConfiguration, "mqtt"> & { readonly sparkplug: SparkplugSettings };

/** Sentences about the section `sparkplug`; none where it is off. */
export function sparkplugSentences({ sparkplug, mqtt }: Configured): readonly Text[] {
  const { enabled, group, node, primary_host: host } = sparkplug;
  if (!enabled) return [];
  const wait =
    host === undefined ? msg`births wait for no host` : msg`births wait until ${host} says that it is online`;
  return [
    msg`sparkplug: hosts see the edge node ${group}/${node} with a device for each controller that is online, on a connection of its own (client id ${mqtt.client_id}-sparkplug); ${wait}; commands to spBv1.0/${group}/DCMD/${node}/<controller> are taken as those on MQTT are.`,
  ];
}
