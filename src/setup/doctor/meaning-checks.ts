import { statements } from "../../language/lists.js";
import { msg, type Text } from "../../language/text.js";
import {
  decodeValue,
  type KindRow,
  kindRows,
  kindsWith,
  spellingOf,
  stateAddresses,
  textOf,
} from "../../greenhouse/actuator-kinds.js";
import {
  deviceTypes,
  isWithoutClient,
  type ParameterGroup,
  parameterGroup,
  typeName,
  typeRows,
} from "../../greenhouse/device-types.js";
import { unnamedTwins } from "../../greenhouse/sensor-identity.js";
import { statusState } from "../../greenhouse/fold-statuses.js";
import { degreePlaces, type FreeAddress, freeText, listingOf } from "../../greenhouse/group-listing.js";
import { type DeviceRecord, PlatformError } from "../../greenhouse/ports.js";
import { isIdlePulse, maybePulse, readingsOf } from "../../greenhouse/readings.js";
import { commentText } from "../../saving/yaml-text.js";
import { askEach, type Doubt, doubtsVerdict } from "./doubts.js";
import { notTried, type Verdict, warning } from "./finding.js";
import { sampleControllers } from "./platform-checks.js";
import { mirroredActuators } from "../../settings/controllers.js";
import type { Check, DoctorContext } from "./context.js";

/**
 * Whether the configuration gives a meaning to what the platform shows. What it does not understand may be another
 * reading of the interface.
 */
export const meaningChecks: readonly Check[] = [
  { id: "values", needs: ["realtime"], run: valuesVerdict },
  { id: "statuses", needs: ["realtime"], run: statusesVerdict },
  { id: "types", needs: ["token"], run: typesVerdict },
  { id: "twins", needs: ["realtime"], run: twinsVerdict },
];

/** Most of each; every one costs a request. */
const mostValues = 12;
const mostTwins = 4;

type Settings = Parameters<typeof decodeValue>[0] & {
  readonly id: string;
  /** The address of the mode, or of both. */
  readonly address: string;
  /** The address of the degree, if it has one of its own. */
  readonly position: string | null;
  /** The register returns to idle by itself. */
  readonly pulse: boolean | undefined;
  /** Mode and degree share an address. */
  readonly isShared: boolean;
  /** Reading the mode there counts as reading the degree. */
  readonly isModeEnough: boolean;
  /** Null if the configuration does not say it. */
  readonly group: ParameterGroup | null;
};

async function valuesVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const all = configuredActuators(context);
  const tried = all.slice(0, mostValues);
  if (tried.length === 0) return notTried(msg`no actuator of a controller that is online is configured`);
  const named = ({ code, settings }: (typeof tried)[number]) => nameOf(code, settings);
  const { answers, refused } = await askEach(tried, named, async ({ code, settings }) => {
    const raw = await context.platform.value(code, settings.address, false, signal);
    if (raw === null) return { isRead: false, doubt: await writeOnlyDoubt(code, settings, context, signal) };
    const text = textOf(raw);
    const degree = await degreeDoubt(code, settings, text, context, signal);
    return { isRead: true, doubt: degree ?? doubtAbout(code, settings, text) };
  });
  const read = answers.filter(({ answer }) => answer.isRead).length;
  const doubts = [...refused, ...answers.flatMap(({ answer }) => answer.doubt ?? [])];
  if (read === 0 && refused.length === 0)
    return warning(
      msg`none of the ${tried.length} addresses tried gives a value`,
      msg`compare the addresses with what \`greenhouse2mqtt discover\` finds, and the answer of \`greenhouse2mqtt get get-value\``,
    );
  const rest = all.length > tried.length ? msg`, ${all.length - tried.length} more not tried` : "";
  return doubtsVerdict(
    doubts,
    msg`actuator states are understood: ${read} of ${tried.length} addresses have a value${rest}`,
  );
}

function configuredActuators({ configuration, evidence }: DoctorContext) {
  const online = evidence.controllers.filter((device) => device.online !== false);
  return online.flatMap(({ code }) =>
    mirroredActuators(configuration.controllers[code]).map(([id, actuator]) => {
      const ofKind = configuration.kinds[actuator.kind] ?? {};
      const { mode_address: modeAddress, position_address: positionAddress } = actuator;
      const { modeReads, positionReads, reads = {}, pulse } = readingsOf(actuator, ofKind);
      const [address, other] = stateAddresses({
        ...actuator,
        modeAddress,
        positionAddress,
        modeReads,
      });
      const settings: Settings = {
        id,
        kind: actuator.kind,
        values: { ...ofKind.values, ...actuator.values },
        reads,
        address,
        isShared: other === undefined && modeReads !== "never",
        position: other ?? null,
        pulse,
        isModeEnough: positionReads === "mode",
        group: actuator.type_id === undefined ? null : parameterGroup(actuator.type_id),
      };
      return { code, settings };
    }),
  );
}

/** In automatic the first two bits are set, and the bits behind them may show what runs. */
const isAutomatic = ({ kind }: Settings, text: string): boolean => {
  const row: KindRow = kindRows[kind];
  const { auto } = row.values;
  return auto !== undefined && text.length === auto.length && /^11[01]+$/.test(text);
};

function doubtAbout(code: string, settings: Settings, text: string): Doubt | null {
  const { id, kind } = settings;
  if (decodeValue(settings, text).state !== "unknown" || isIdlePulse(settings, text)) return null;
  const shown = commentText(text, 20);
  const others = kindsWith(text);
  if (maybePulse(settings, text, null))
    return {
      what: msg`${nameOf(code, settings)} is idle (${shown}), which is no word of the kind ${kind}`,
      remedy: msg`where it moved and is idle again, its register is a pulse: set pulse: true; \`greenhouse2mqtt doctor --watch ${code}/${id}\` shows it`,
    };
  return {
    what: msg`${nameOf(code, settings)} reads ${shown}, which means nothing for the kind ${kind}`,
    remedy:
      others.length > 0
        ? msg`it is a value of the kind ${others.join(", ")}: check kind and address`
        : isAutomatic(settings, text)
          ? msg`check kind and address; if they are right and it is left to automatic, add reads: { auto: ["${shown}"] }`
          : msg`check kind and address; if they are right, say what it means with values or reads, which \`greenhouse2mqtt doctor --watch ${code}/${id}\` finds out`,
  };
}

/**
 * The mode's address gives no value, while the degree's does or is unknown: it may be write-only. For kinds without
 * degrees, an address without a value is only counted.
 */
async function writeOnlyDoubt(
  code: string,
  settings: Settings,
  { platform }: DoctorContext,
  signal: AbortSignal,
): Promise<Doubt | null> {
  if (settings.position === null) {
    const row: KindRow = kindRows[settings.kind];
    if (row.positionMode === null || !settings.isShared) return null;
    return {
      what: msg`${nameOf(code, settings)} gives no value`,
      remedy: msg`check the address; where it is right and can only be written, its degree has an address of its own: set position_address and mode_reads: never`,
    };
  }
  const degree = await platform.value(code, settings.position, false, signal);
  return degree === null
    ? null
    : {
        what: msg`${nameOf(code, settings)} gives no value, and its degree (${settings.position}) reads ${commentText(textOf(degree), 20)}`,
        remedy: msg`check mode_address; where it is right and can only be written, set mode_reads: never: the degree alone is the proof then`,
      };
}

const nameOf = (code: string, { id, address }: Settings): Text => msg`${id} (${address}) of ${code}`;

/**
 * An address that shows a positioner's mode and no degree: the degree may have its own address, or never be shown. The
 * other addresses of its type tell which. They are also looked at where the weaker proof is configured.
 */
async function degreeDoubt(
  code: string,
  settings: Settings,
  text: string,
  context: DoctorContext,
  signal: AbortSignal,
): Promise<Doubt | null> {
  const { state, position } = decodeValue(settings, text);
  const isModeAlone = state === "position" && position === null;
  if (!settings.isShared || !(isModeAlone || settings.isModeEnough)) return null;
  const found = await freeIn(code, settings, context, signal);
  if (settings.isModeEnough && (found === null || found.free.length === 0)) return null;
  const reads = msg`${nameOf(code, settings)} reads the mode ${commentText(text, 20)} and no degree`;
  const weak = msg`${nameOf(code, settings)} has position_reads: mode, so a degree may be confirmed although nothing moves`;
  return { what: settings.isModeEnough ? weak : reads, remedy: placeRemedy(found) };
}

interface FreeInGroup {
  readonly group: ParameterGroup;
  readonly free: readonly FreeAddress[];
}

function placeRemedy(found: FreeInGroup | null): Text {
  if (found === null)
    return msg`its degree may have an address of its own: look at what its type lists (\`greenhouse2mqtt discover\`) and set position_address`;
  const { group, free } = found;
  return free.length > 0
    ? msg`its degree may have an address of its own: ${typeName(group)} also lists ${freeText(free)}, which belongs to nothing here; set position_address to the one that follows it, and list others as parameters`
    : msg`where a degree was sent before: if it stands still, its degree has another address (position_address); only if you saw it go there, set position_reads: mode`;
}

/** Unowned addresses of its type that may be its degree; null if its type is not found. */
async function freeIn(
  code: string,
  settings: Settings,
  { configuration, platform }: DoctorContext,
  signal: AbortSignal,
): Promise<FreeInGroup | null> {
  const owned = new Set(ownedAddresses(configuration.controllers[code]).map(spellingOf));
  for (const group of groupsOf(settings)) {
    const values = await platform.values(code, group, signal).catch((error: unknown) => {
      if (error instanceof PlatformError && !signal.aborted) return null;
      throw error;
    });
    if (values === null) continue;
    const listing = listingOf(values, (address) => owned.has(spellingOf(address)));
    const isOwnType = settings.group !== null || listing.owned.includes(settings.address);
    const free = isOwnType ? degreePlaces(settings, listing) : "unknown";
    if (free !== "unknown") return { group, free };
  }
  return null;
}

/** Its configured type, or those that the interface gives its kind. */
const groupsOf = ({ group, kind }: Settings): readonly ParameterGroup[] =>
  group !== null
    ? [group]
    : [...typeRows].flatMap(([id, row]) => (row.role === "actuator" && row.kind === kind ? [id] : []));

function ownedAddresses(section: DoctorContext["configuration"]["controllers"][string] | undefined) {
  const { actuators = {}, parameters = {} } = section ?? {};
  return [
    ...Object.values(actuators).flatMap(({ address, mode_address, position_address, stop }) => [
      address,
      ...(mode_address === undefined ? [] : [mode_address]),
      ...(position_address === undefined ? [] : [position_address]),
      ...(stop === undefined ? [] : [stop.address]),
    ]),
    ...Object.values(parameters).map(({ address }) => address),
  ];
}

async function statusesVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const online = sampleControllers(context).filter((device) => device.online !== false);
  if (online.length === 0) return notTried(msg`no controller is online`);
  const { reads } = context.configuration.running_status;
  const strange = new Map<string, Text>();
  let count = 0;
  const { answers, refused } = await askEach(
    online,
    ({ code }) => code,
    ({ code }) => context.platform.runningStatuses(code, signal),
  );
  for (const { thing, answer } of answers)
    for (const { name, number, value } of answer) {
      count += 1;
      const text = value === null ? "" : String(value).trim();
      const isKnown = ["on", "off", "unknown", ...Object.keys(reads ?? {})].includes(
        statusState(value, reads),
      );
      if (!isKnown && !strange.has(text))
        strange.set(text, msg`${`${number ?? ""} ${commentText(name, 20)}`.trim()} of ${thing.code}`);
    }
  const doubts = [...strange].map(([text, where]): Doubt => ({
    what: msg`running status ${where} reads ${commentText(text, 20)}`,
    remedy: msg`say what that means: running_status: { reads: { on: [...], off: [...] } }`,
  }));
  return doubtsVerdict(
    [...refused, ...doubts],
    msg`running statuses are on or off (${count} of ${online.length} controllers tried)`,
  );
}

/** Sensors that differ only by their place in the list: the second is left out unless the configuration names it. */
async function twinsVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const tried = sampleControllers(context).filter((device) => device.online !== false);
  if (tried.length === 0) return notTried(msg`no controller is online`);
  const lines: string[] = [];
  let first = "";
  const { answers, refused } = await askEach(
    tried,
    ({ code }) => code,
    ({ code }) => context.platform.sensors(code, signal),
  );
  for (const { thing, answer } of answers) {
    const { code } = thing;
    const sensors = context.configuration.controllers[code]?.sensors ?? {};
    const named = new Set(Object.values(sensors).map(({ from }) => from));
    for (const from of unnamedTwins(answer))
      if (!named.has(from)) {
        first ||= commentText(from, 40);
        lines.push(`${commentText(from, 40)} (${code})`);
      }
  }
  const twins: Doubt = {
    what: msg`only their place in the list tells these from others, so they are left out: ${lines.slice(0, mostTwins).join(", ")}`,
    remedy: msg`write such a one below the controller's sensors, with a key of its own: second: { from: "${first}" }`,
  };
  return doubtsVerdict(
    [...refused, ...(lines.length === 0 ? [] : [twins])],
    msg`no two sensors of a controller differ by their place alone (${tried.length} tried)`,
  );
}

/** Not faults: devices about which the interface says less than about others. */
async function typesVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const { controllers, devices } = context.evidence;
  const all = [...new Map([...devices, ...controllers].map((device) => [device.code, device])).values()];
  const unknown = all.filter(({ type }) => type !== null && !deviceTypes.has(type));
  const disputes = await findDisputes(controllers, context, signal);
  const texts = [
    ...(unknown.length === 0
      ? []
      : [
          msg`types that the interface does not name: ${nameDevices(unknown)}; the bridge asks them and uses what answers`,
        ]),
    ...disputes.found,
  ];
  return doubtsVerdict(
    disputes.refused,
    texts.length === 0 ? msg`the interface names the types of all ${all.length} devices` : statements(texts),
  );
}

function nameDevices(devices: readonly DeviceRecord[]): string {
  const byType = new Map(devices.toReversed().map((device) => [device.type ?? "", device.code]));
  return [...byType].map(([type, code]) => `${commentText(type, 20)} (${commentText(code, 20)})`).join(", ");
}

const mostDisputed = 3;

/** Stations and cameras that a list shows online although they have no status of their own. */
async function findDisputes(
  controllers: readonly DeviceRecord[],
  { platform }: DoctorContext,
  signal: AbortSignal,
): Promise<{ readonly found: readonly Text[]; readonly refused: readonly Doubt[] }> {
  const asked = controllers.filter(({ type, online }) => online === true && isWithoutClient(type));
  const { answers, refused } = await askEach(
    asked.slice(0, mostDisputed),
    ({ code }) => code,
    ({ code }) => platform.connection(code, signal),
  );
  const offline = answers.filter(({ answer }) => answer.state === "offline");
  const names = offline.map(({ thing }) => commentText(thing.code, 20)).join(", ");
  const found =
    offline.length === 0
      ? []
      : [
          msg`${names}: listed as online, and not found by a status of its own: shown as unknown, with its readings as they are`,
        ];
  return { found, refused };
}
