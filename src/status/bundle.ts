import { arch, cpus, freemem, platform, release, totalmem } from "node:os";
import { secretValues } from "../config/load.js";
import { privateIn, privateTexts } from "../config/private-texts.js";
import type { Configuration } from "../config/schema.js";
import {
  actuatorDocument,
  isoOrNull,
  parameterDocument,
  sensorDocument,
  statusDocument,
} from "../greenhouse/documents.js";
import type { Controller, Register } from "../greenhouse/model.js";
import { newestRecords } from "../journal/reader.js";
import type { RecentLog } from "../runtime/log.js";
import { type PrivateText, strangerSafe, withoutSecrets } from "../runtime/redaction.js";
import type { Core } from "../feature/core.js";

/*
 * The support bundle: one document for a helper who was not there. Its secrets are removed first, wherever they stand;
 * before it leaves the house, `fitForStrangers` also hides hosts, codes and names, as `doctor --redact` does.
 */

export type Bundle = Readonly<Record<string, unknown>>;

interface AboutProgram {
  readonly configuration: Configuration;
  readonly version: string;
  /** Epoch ms. */
  readonly now: number;
  /** Known secrets beside those of the configuration. */
  readonly secrets: readonly string[];
}

/** A bundle of these parts with facts about the program; all secrets are hidden. */
export function bundleOf(about: AboutProgram, parts: Bundle): Bundle {
  const { configuration, version, now } = about;
  const secrets = [...secretValues(configuration), ...about.secrets];
  const bundle = {
    format: "greenhouse2mqtt support bundle 1",
    at: new Date(now).toISOString(),
    version,
    node: process.version,
    system: {
      platform: platform(),
      release: release(),
      arch: arch(),
      processors: cpus().length,
      memory_mb: mebibytes(totalmem()),
      free_memory_mb: mebibytes(freemem()),
      container: process.env["container"] ?? null,
    },
    configuration: withoutWhole(configuration, new Set(secrets)),
    ...parts,
  };
  return { ...(JSON.parse(withoutSecrets(() => secrets)(JSON.stringify(bundle))) as object) };
}

const mebibytes = (bytes: number): number => Math.round(bytes / 1024 ** 2);

/** Hides short secrets where they are a whole value; inside of words they cannot be searched for. */
function withoutWhole(value: unknown, secrets: ReadonlySet<string>): unknown {
  if (typeof value === "string" || typeof value === "number")
    return secrets.has(String(value)) ? "[hidden]" : value;
  if (Array.isArray(value)) return value.map((one) => withoutWhole(one, secrets));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutWhole(inner, secrets)]));
}

/** The most of each in a bundle: the first controllers, and the newest of everything else. */
export const mostOf = { controllers: 1_000, log: 1_000, journal: 500 };

interface OfBundle {
  /** The configuration in force. */
  readonly configuration: Configuration;
  readonly events: { readonly newest: unknown };
  readonly recentLog?: Pick<RecentLog, "newest"> | undefined;
}

/**
 * The parts that a running bridge adds: its health, its controllers and commands, and recent events. `share` divides
 * the bounds of `mostOf`.
 */
export async function bridgeBundle(
  core: Core,
  { configuration, events, recentLog }: OfBundle,
  health: unknown,
  share = 1,
): Promise<Bundle> {
  const most = (of: keyof typeof mostOf) => Math.floor(mostOf[of] / share);
  const { version, clock, platform: client, mirror, commands, journal } = core;
  const controllers = [...mirror.store.controllers()];
  const { directory } = journal;
  const parts = {
    health,
    controllers: controllers.slice(0, most("controllers")).map(controllerPart),
    controllers_left_out: Math.max(0, controllers.length - most("controllers")),
    commands: commands.commander.print(null),
    alarms: commands.limits.alarms.list,
    events: events.newest,
    journal: await newestRecords(directory, { limit: most("journal") }).catch((error: unknown) =>
      String(error),
    ),
    log: recentLog?.newest(most("log")) ?? [],
  };
  const about = { configuration, version, now: clock.now(), secrets: client.secrets() };
  return bundleOf(about, parts);
}

/** The size that embedded and other brokers accept in one message by default. */
const mostBytes = 200_000;

/** A bundle that fits into one message: made with half of the bounds of `mostOf`, then a quarter, and so on. */
export async function bundleForMessage(make: (share: number) => Promise<Bundle>): Promise<Bundle> {
  for (let share = 2; ; share *= 2) {
    const bundle = await make(share);
    if (share > mostOf.controllers || Buffer.byteLength(JSON.stringify(bundle)) <= mostBytes) return bundle;
  }
}

/** The bundle with placeholders for hosts, codes, names, users and paths; equal texts get equal placeholders. */
export function fitForStrangers(bundle: Bundle, configuration: Configuration, more: readonly PrivateText[]) {
  const safe = strangerSafe();
  safe.learn([...privateTexts(configuration), ...more]);
  const { controllers } = bundle;
  if (Array.isArray(controllers)) for (const one of controllers) safe.learn(namesIn(one));
  safe.learn(privateIn(bundle));
  return { ...(safe.document(bundle) as object) };
}

function namesIn(controller: unknown): readonly PrivateText[] {
  if (typeof controller !== "object" || controller === null) return [];
  return Object.entries(controller).flatMap(([key, text]): readonly PrivateText[] => {
    if (typeof text !== "string" || text === "") return [];
    if (key === "code") return [["controller", text]];
    return ["id", "name", "area", "station"].includes(key) ? [["name", text]] : [];
  });
}

function controllerPart(controller: Controller) {
  const { info, availability, availabilityBy, problem, absentSince, layout } = controller;
  const { code, id, name, area, type, record, client } = info;
  return {
    code,
    id,
    name,
    area,
    station: record?.stationName ?? null,
    type,
    type_name: record?.typeName ?? null,
    brand: record?.brand ?? null,
    availability,
    availability_by: availabilityBy,
    absent_since: isoOrNull(absentSince),
    problem,
    version: record?.version ?? null,
    interface_version: client?.version ?? null,
    sensors: each(controller.sensors, (sensor) => ({ ...sensorDocument(sensor), fault: sensor.fault })),
    // Sensors that the answers hold but the configuration ignores or cannot tell apart.
    unused: layout.flatMap((slot) => (slot.definition === null ? [slot] : [])),
    status: each(controller.statuses, statusDocument),
    actuators: each(controller.actuators, (actuator) => ({
      kind: actuator.settings.kind,
      ...actuatorDocument(actuator),
      registers: each(new Map(Object.entries(actuator.registers)), registerPart),
    })),
    parameters: each(controller.parameters, (parameter) => ({
      ...parameterDocument(parameter),
      register: parameter.register && registerPart(parameter.register),
    })),
  };
}

const each = <T, Part>(all: ReadonlyMap<string, T>, part: (one: T) => Part) =>
  Object.fromEntries([...all].map(([id, one]) => [id, part(one)]));

const registerPart = ({ raw, readAt, fresh, source }: Register) => ({
  raw,
  read_at: isoOrNull(readAt),
  fresh,
  source,
});
