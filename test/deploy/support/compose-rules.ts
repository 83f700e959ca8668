import { z } from "zod";

/* The keys of the Compose specification that compose.yaml uses, and what we ask of a service of ours. */

const text = z.string();
const texts = z.array(text);
const anything = z.unknown().optional();

const serviceRules = z
  .strictObject({
    ...{ image: text.optional(), build: anything, restart: text.optional(), user: text.optional() },
    ...{
      init: z.boolean().optional(),
      read_only: z.boolean().optional(),
      privileged: z.boolean().optional(),
    },
    ...{ cap_drop: texts.optional(), cap_add: texts.optional(), security_opt: texts.optional() },
    ...{ pids_limit: z.number().optional(), mem_limit: text.optional(), network_mode: text.optional() },
    ...{ command: texts.optional(), hostname: text.optional() },
    ...{ ports: texts.optional(), volumes: texts.default([]), tmpfs: texts.optional() },
    ...{ depends_on: z.record(text, z.unknown()).default({}), environment: anything, logging: anything },
    ...{ stop_grace_period: text.optional(), healthcheck: healthRules().optional() },
  })
  .refine(({ image, build }) => image !== undefined || build !== undefined, "neither image nor build");

function healthRules() {
  const optional = { interval: anything, timeout: anything, retries: anything, start_period: anything };
  return z.strictObject({ test: texts, ...optional });
}

export type Service = z.input<typeof serviceRules>;

/** What begins with `x-` is for the file itself, whose other parts take it in by name. */
const withoutExtensions = (compose: unknown): unknown =>
  typeof compose !== "object" || compose === null
    ? compose
    : Object.fromEntries(Object.entries(compose).filter(([key]) => !key.startsWith("x-")));

const composeRules = z.strictObject({
  name: text.optional(),
  services: z.record(text, serviceRules),
  volumes: z.record(text, z.unknown()).default({}),
});

export const servicesOf = (compose: unknown) => composeRules.parse(withoutExtensions(compose)).services;

export function composeProblems(compose: unknown): readonly string[] {
  const { data, error } = composeRules.safeParse(withoutExtensions(compose));
  if (error) return error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  return Object.entries(data.services).flatMap(([name, { depends_on: others, volumes }]) => [
    ...Object.keys(others)
      .filter((other) => data.services[other] === undefined)
      .map((other) => `${name} depends on ${other}, which is not there`),
    ...volumes
      .map((volume) => volume.split(":")[0] ?? "")
      .filter((source) => !/^[./]/.test(source) && !Object.hasOwn(data.volumes, source))
      .map((source) => `${name}: the volume ${source} is not declared`),
  ]);
}

/** What a service may do that it does not need. */
export function liberties(service: Service | undefined): readonly string[] {
  const {
    read_only,
    cap_drop = [],
    cap_add,
    user,
    privileged,
    network_mode,
    security_opt = [],
  } = service ?? {};
  const [uid] = (user ?? "").split(":");
  const found: readonly (readonly [boolean, string])[] = [
    [read_only !== true, "its root file system can be written"],
    [!cap_drop.includes("ALL") || cap_add !== undefined, "it has capabilities"],
    [!(Number(uid) > 0), "it runs as root"],
    [privileged === true, "it is privileged"],
    [network_mode === "host", "it sees the host's network"],
    [!security_opt.includes("no-new-privileges:true"), "it may gain rights"],
    [service?.mem_limit === undefined || service.pids_limit === undefined, "it has no limits"],
    [service?.healthcheck === undefined, "its health is not checked"],
  ];
  return found.flatMap(([is, liberty]) => (is ? [liberty] : []));
}
