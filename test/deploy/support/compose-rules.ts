/* The keys of the Compose specification that compose.yaml may use, and what we ask of a service of ours. */

type Fields = Readonly<Record<string, unknown>>;

const topKeys = ["name", "services", "networks", "volumes", "secrets", "configs"];
/** Those of the specification that a file like ours may come to need. */
const serviceKeys = (
  "build cap_add cap_drop command container_name depends_on devices entrypoint env_file environment expose " +
  "healthcheck image init logging mem_limit network_mode networks pids_limit ports privileged read_only restart " +
  "secrets security_opt stop_grace_period tmpfs user volumes working_dir"
).split(" ");
const healthKeys = ["test", "interval", "timeout", "retries", "start_period", "start_interval", "disable"];

export function composeProblems(compose: unknown): readonly string[] {
  const top = fieldsOf(compose);
  const services = fieldsOf(top["services"]);
  const named = Object.keys(fieldsOf(top["volumes"]));
  return [
    ...strange("", top, topKeys),
    ...Object.entries(services).flatMap(([name, given]) => {
      const service = fieldsOf(given);
      return [
        ...strange(`${name}.`, service, serviceKeys),
        ...strange(`${name}.healthcheck.`, fieldsOf(service["healthcheck"]), healthKeys),
        ...(service["image"] === undefined && service["build"] === undefined
          ? [`${name}: neither image nor build`]
          : []),
        ...Object.keys(fieldsOf(service["depends_on"]))
          .filter((other) => services[other] === undefined)
          .map((other) => `${name} depends on ${other}, which is not there`),
        ...textsOf(service["volumes"])
          .map((volume) => volume.split(":")[0] ?? "")
          .filter((source) => !/^[./]/.test(source) && !named.includes(source))
          .map((source) => `${name}: the volume ${source} is not declared`),
      ];
    }),
  ];
}

/** What a service may do that it does not need. */
export function liberties(service: unknown): readonly string[] {
  const fields = fieldsOf(service);
  const [uid] = String(fields["user"]).split(":");
  return [
    ...(fields["read_only"] === true ? [] : ["its root file system can be written"]),
    ...(textsOf(fields["cap_drop"]).includes("ALL") && fields["cap_add"] === undefined
      ? []
      : ["it has capabilities"]),
    ...(Number(uid) > 0 ? [] : ["it runs as root"]),
    ...(fields["privileged"] === true ? ["it is privileged"] : []),
    ...(fields["network_mode"] === "host" ? ["it sees the host's network"] : []),
    ...(textsOf(fields["security_opt"]).includes("no-new-privileges:true") ? [] : ["it may gain rights"]),
    ...(fields["mem_limit"] === undefined || fields["pids_limit"] === undefined ? ["it has no limits"] : []),
    ...(fields["healthcheck"] === undefined ? ["its health is not checked"] : []),
  ];
}

const strange = (at: string, fields: Fields, known: readonly string[]): readonly string[] =>
  Object.keys(fields)
    .filter((key) => !known.includes(key))
    .map((key) => `${at}${key}: no such key`);

export const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];

export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
