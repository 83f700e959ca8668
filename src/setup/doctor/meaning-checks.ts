import {
  decodeValue,
  type KindRow,
  kindRows,
  stateAddresses,
  textOf,
} from "../../greenhouse/actuator-kinds.js";
import { deviceTypes, isWithoutClient } from "../../greenhouse/device-types.js";
import { statusState } from "../../greenhouse/fold-statuses.js";
import type { DeviceRecord } from "../../greenhouse/ports.js";
import { commentText } from "../yaml-text.js";
import { notTried, ok, type Verdict, warning } from "./finding.js";
import { sampleControllers } from "./platform-checks.js";
import type { Check, DoctorContext } from "./context.js";

/** Whether what the platform shows means something by the configuration. What stands there may be another reading of the interface. */
export const meaningChecks: readonly Check[] = [
  { id: "values", needs: ["realtime"], run: valuesVerdict },
  { id: "statuses", needs: ["realtime"], run: statusesVerdict },
  { id: "types", needs: ["token"], run: typesVerdict },
];

/** Each costs a request. */
const mostValues = 12;
const mostNamed = 4;

type Settings = Parameters<typeof decodeValue>[0] & {
  readonly id: string;
  readonly address: string;
  /** After a degree this address is to show it. */
  readonly showsDegrees: boolean;
};

interface Doubt {
  readonly what: string;
  readonly remedy: string;
}

async function valuesVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const all = configuredActuators(context);
  const tried = all.slice(0, mostValues);
  if (tried.length === 0) return notTried("no actuator of a controller that is online is configured");
  const doubts: Doubt[] = [];
  let read = 0;
  for (const { code, settings } of tried) {
    const raw = await context.platform.value(code, settings.address, false, signal);
    read += raw === null ? 0 : 1;
    const doubt = raw === null ? null : doubtAbout(code, settings, textOf(raw));
    if (doubt !== null) doubts.push(doubt);
  }
  if (read === 0)
    return warning(
      `none of the ${tried.length} addresses tried gives a value`,
      "compare the addresses with what `greenhouse2mqtt discover` finds, and the answer of `greenhouse2mqtt get get-value`",
    );
  const rest = all.length > tried.length ? `, ${all.length - tried.length} more not tried` : "";
  return verdictOf(
    doubts,
    `what is read of actuators means something (${read} of ${tried.length} addresses have a value${rest})`,
  );
}

const verdictOf = (doubts: readonly Doubt[], fine: string): Verdict => {
  if (doubts.length === 0) return ok(fine);
  const named = doubts.slice(0, mostNamed);
  const more = doubts.length > mostNamed ? `, and ${doubts.length - mostNamed} more` : "";
  return warning(
    `${named.map(({ what }) => what).join(", ")}${more}`,
    [...new Set(named.map(({ remedy }) => remedy))].join("; "),
  );
};

function configuredActuators({ configuration, evidence }: DoctorContext) {
  const online = evidence.controllers.filter((device) => device.online !== false);
  return online.flatMap(({ code }) =>
    Object.entries(configuration.controllers[code]?.actuators ?? {}).map(([id, actuator]) => {
      const ofKind = configuration.kinds[actuator.kind] ?? {};
      const { mode_address: modeAddress, position_address: positionAddress } = actuator;
      const [address, other] = stateAddresses({
        ...actuator,
        modeAddress,
        positionAddress,
      });
      const positionReads = actuator.position_reads ?? ofKind.position_reads;
      const settings: Settings = {
        id,
        kind: actuator.kind,
        values: { ...ofKind.values, ...actuator.values },
        reads: { ...ofKind.reads, ...actuator.reads },
        address,
        showsDegrees: other === undefined && positionReads !== "mode",
      };
      return { code, settings };
    }),
  );
}

/** In automatic the first two bits are set; what stands behind them may be what runs. */
const isAutomatic = ({ kind }: Settings, text: string): boolean => {
  const row: KindRow = kindRows[kind];
  const { auto } = row.values;
  return auto !== undefined && text.length === auto.length && /^11[01]+$/.test(text);
};

function doubtAbout(code: string, settings: Settings, text: string): Doubt | null {
  const { id, kind, address, showsDegrees } = settings;
  const { state, position } = decodeValue(settings, text);
  const where = `${id} (${address}) of ${code}`;
  if (state === "position" && position === null && showsDegrees)
    return {
      what: `${where} reads the mode ${commentText(text, 20)} and no degree`,
      remedy: `where a degree was sent before, set position_reads: mode`,
    };
  if (state !== "unknown") return null;
  const shown = commentText(text, 20);
  return {
    what: `${where} reads ${shown}, which means nothing for the kind ${kind}`,
    remedy: isAutomatic(settings, text)
      ? `where it is left to automatic, add reads: { auto: ["${shown}"] }`
      : `say what it means with values or reads, which \`greenhouse2mqtt doctor --watch ${code}/${id}\` finds out`,
  };
}

async function statusesVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const online = sampleControllers(context).filter((device) => device.online !== false);
  if (online.length === 0) return notTried("no controller is online");
  const { reads } = context.configuration.running_status;
  const strange = new Map<string, string>();
  let count = 0;
  for (const { code } of online)
    for (const { name, number, value } of await context.platform.runningStatuses(code, signal)) {
      count += 1;
      const text = value === null ? "" : String(value).trim();
      const isKnown = ["on", "off", "unknown", ...Object.keys(reads ?? {})].includes(
        statusState(value, reads),
      );
      if (!isKnown && !strange.has(text))
        strange.set(text, `${String(number ?? "")} ${commentText(name, 20)} of ${code}`.trim());
    }
  const doubts = [...strange].map(([text, where]): Doubt => ({
    what: `running status ${where} reads ${commentText(text, 20)}`,
    remedy: "say what that means: running_status: { reads: { on: [...], off: [...] } }",
  }));
  return verdictOf(doubts, `running statuses are on or off (${count} of ${online.length} controllers tried)`);
}

/** What is no fault: devices of which the interface says less than of others. */
async function typesVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const { controllers, devices } = context.evidence;
  const all = [...new Map([...devices, ...controllers].map((device) => [device.code, device])).values()];
  const unknown = all.filter(({ type }) => type !== null && !deviceTypes.has(type));
  const texts = [
    ...(unknown.length === 0
      ? []
      : [
          `types that the interface does not name: ${nameDevices(unknown)}: what answers decides, and is asked for`,
        ]),
    ...(await findDispute(controllers, context, signal)),
  ];
  return ok(
    texts.length === 0 ? `the interface names the types of all ${all.length} devices` : texts.join("; "),
  );
}

function nameDevices(devices: readonly DeviceRecord[]): string {
  const byType = new Map(devices.toReversed().map((device) => [device.type ?? "", device.code]));
  return [...byType].map(([type, code]) => `${commentText(type, 20)} (${commentText(code, 20)})`).join(", ");
}

const mostDisputed = 3;

/** Stations and cameras that a list shows online and that have no status of their own. */
async function findDispute(
  controllers: readonly DeviceRecord[],
  { platform }: DoctorContext,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const asked = controllers.filter(({ type, online }) => online === true && isWithoutClient(type));
  const found: string[] = [];
  for (const { code } of asked.slice(0, mostDisputed)) {
    const { state } = await platform.connection(code, signal);
    if (state === "offline") found.push(commentText(code, 20));
  }
  return found.length === 0
    ? []
    : [
        `${found.join(", ")}: listed as online, and not found by a status of its own: shown as unknown, with its readings as they are`,
      ];
}
