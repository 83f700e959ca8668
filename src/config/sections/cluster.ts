import {
  list,
  optional,
  required,
  section,
  text,
  whole,
  withDefault,
  writtenText,
} from "../../settings/values.js";

/** Levels of subjects and names of streams are made of it. */
const clusterName = () => text('a name of a-z, 0-9, "_" and "-" (at most 32)', /^[a-z0-9_-]{1,32}$/);

const server = () =>
  text(
    "an address such as nats://nats1:4222",
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
