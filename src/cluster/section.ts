import { msg } from "../language/text.js";
import { formatDuration } from "../runtime/duration.js";
import { type Draft, isGiven, sectionOf } from "../settings/draft.js";
import { atKey, type Finding, when } from "../settings/problem.js";
import type { CoreConfiguration } from "../settings/sections/core.js";
import {
  list,
  optional,
  type Parsed,
  required,
  section,
  text,
  whole,
  withDefault,
  writtenText,
} from "../settings/values.js";

/** The name becomes a part of subjects and names of streams. */
const clusterName = () => text(msg`a name of a-z, 0-9, "_" and "-" (at most 32)`, /^[a-z0-9_-]{1,32}$/);

const server = () =>
  text(
    msg`an address such as nats://nats1:4222`,
    /^(?:nats|tls):\/\/[A-Za-z0-9._-]+(?::\d{1,5})?$|^(?:nats|tls):\/\/\[[0-9A-Fa-f:.]+\](?::\d{1,5})?$/,
  );

export const clusterSection = section({
  nats: required(
    list(server()),
    "The NATS servers; all of them, so that one that is away is missed by nobody.",
    {
      example: "[nats://nats1:4222, nats://nats2:4222, nats://nats3:4222]",
    },
  ),
  credentials: optional(
    writtenText(),
    "What lets in there: the content of a credentials file, `name:password`, or a token.",
    { example: "!secret nats", secret: true },
  ),
  replicas: withDefault(
    whole(1, 5),
    3,
    "On so many servers everything is kept; with 1 the loss of that server is the loss of the journal.",
  ),
  name: withDefault(
    clusterName(),
    "greenhouses",
    "Of the cluster: members with the same name share accounts.",
  ),
});

export const keys = {
  cluster: optional(
    clusterSection,
    "Several machines with this configuration, one of which runs it at a time (docs/cluster.md).",
    { off: true },
  ),
};

export type ClusterSettings = Parsed<typeof clusterSection>;

/** Members that take over from each other need one common broker. */
export const clusterNeedsBroker = (root: Draft): Finding[] =>
  isGiven(root, "cluster") && !isGiven(sectionOf(root, "mqtt"), "url")
    ? [atKey(["cluster"], msg`cluster needs mqtt.url: all members use one broker, which runs by itself`)]
    : [];

/**
 * Together with a lease and the start of the next member this is a minute. With more, another member takes commands
 * later for actuators that the dead one was sending to.
 */
const clusterControlMs = 39_000;

export const clusterDoubts = ({
  cluster,
  platform,
}: Pick<CoreConfiguration, "platform"> & { readonly cluster?: ClusterSettings | undefined }): Finding[] =>
  when(
    cluster !== undefined && platform.timeouts.control > clusterControlMs,
    ["platform", "timeouts", "control"],
    msg`with more than ${formatDuration(clusterControlMs)}, when a member dies while it sends to an actuator, another one takes its commands only after more than a minute`,
  );
