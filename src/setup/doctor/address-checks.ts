import { clauses, statements } from "../../language/lists.js";
import { msg, row, type Text } from "../../language/text.js";
import { sameValue, stateAddresses, textOf } from "../../greenhouse/actuator-kinds.js";
import { type ParameterGroup, parameterGroup, typeName } from "../../greenhouse/device-types.js";
import { PlatformError } from "../../greenhouse/ports.js";
import { notTried, ok, type Verdict, warning } from "./finding.js";
import { commentText } from "../../saving/yaml-text.js";
import { mirroredActuators } from "../../settings/controllers.js";
import { platformVerdict, sampleControllers } from "./platform-checks.js";
import type { Check, DoctorContext } from "./context.js";

/** What the configuration says of addresses, against what the platform shows of them. */
export const addressChecks: readonly Check[] = [
  { id: "interface", needs: ["realtime"], run: interfaceVerdict },
  { id: "addresses", needs: ["realtime"], run: addressesVerdict },
  { id: "both_reads", needs: ["realtime"], run: bothReadsVerdict },
  { id: "fresh_reads", needs: ["realtime"], run: freshReadsVerdict },
];

/** What the single-device status tells of the interface; it decides nothing, and a helper asks for it. */
async function interfaceVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const online = sampleControllers(context).filter((device) => device.online !== false);
  if (online.length === 0) return notTried(msg`no controller is online`);
  const told = new Map<string, Text>();
  for (const { code } of online) {
    const { version, description, marker = null } = await context.platform.connection(code, signal);
    const parts: readonly Text[] = [
      ...(version === null ? [] : [msg`interface version ${commentText(version, 20)}`]),
      ...(marker === null ? [] : [msg`type ${commentText(marker, 20)}`]),
      ...(description === null ? [] : [`"${commentText(description, 60)}"`]),
    ];
    const whole = clauses(parts);
    if (parts.length > 0) told.set(String(whole), whole);
  }
  return told.size === 0
    ? ok(msg`the platform does not say which version its interface has`)
    : ok(msg`the platform says: ${statements([...told.values()])}`);
}

/** Each costs a request. */
const mostGroups = 24;
const mostNamed = 5;

interface WantedGroup {
  readonly code: string;
  readonly group: ParameterGroup;
  /** Below the controller, with the address: `left_skylight (101)`. */
  readonly things: readonly { readonly id: string; readonly address: string }[];
}

/** Whether the platform lists each address below the `type_id` that the configuration gives it. */
async function addressesVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const groups = wantedGroups(context);
  if (groups.length === 0) return notTried(msg`no actuator of a controller that is online has a type_id`);
  const tried = groups.slice(0, mostGroups);
  const left = groups.length - tried.length;
  const unlisted: Text[] = [];
  for (const { code, group, things } of tried) {
    const values = await context.platform.values(code, group, signal).catch((error: unknown) => {
      if (error instanceof PlatformError && !signal.aborted) return platformVerdict(error);
      throw error;
    });
    if (values === null) continue;
    if ("status" in values) return { ...values, status: "warning" };
    for (const { id, address } of things)
      if (!values.has(address))
        unlisted.push(msg`${typeName(group)} of ${code} does not list ${id} (${address})`);
  }
  const rest = left > 0 ? msg`, ${left} more not tried` : "";
  if (unlisted.length === 0)
    return ok(msg`each address is listed below its type_id (${tried.length} tried${rest})`);
  const more = unlisted.length > mostNamed ? msg`, and ${unlisted.length - mostNamed} more` : "";
  return warning(
    msg`${clauses(unlisted.slice(0, mostNamed))}${more}: the bridge reads them one by one${rest}`,
    msg`correct type_id or the address there, or leave type_id out`,
  );
}

const mostCompared = 12;

/** Whether the group of an address and the address itself agree. What moves just now may differ, and says so. */
async function bothReadsVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const differing: Text[] = [];
  let compared = 0;
  let left = 0;
  for (const { code, group, things } of wantedGroups(context)) {
    const tried = things.slice(0, mostCompared - compared);
    left += things.length - tried.length;
    if (tried.length === 0) continue;
    const read = await comparedReads({ code, group, things: tried }, context, signal).catch(
      (error: unknown) => {
        if (error instanceof PlatformError && !signal.aborted) return platformVerdict(error);
        throw error;
      },
    );
    if (read === null) continue;
    if ("status" in read) return { ...read, status: "warning" };
    compared += read.compared;
    differing.push(...read.differing);
  }
  const rest = left > 0 ? msg`, ${left} more not tried` : "";
  if (compared === 0) return notTried(msg`no address of a controller that is online is read with a group`);
  if (differing.length === 0)
    return ok(msg`group read and single read agree (${compared} addresses tried${rest})`);
  return warning(
    row`${clauses(differing)}${rest}`,
    msg`Look again when nothing moves. If they still differ, the bridge uses get-value. \`greenhouse2mqtt doctor --watch\` says what to set.`,
  );
}

const mostFresh = 4;

/** Whether a fresh read gives at once what the next one gives: one that only orders the device's answer gives the one before. */
async function freshReadsVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const { platform, configuration, evidence, limits, ports } = context;
  const online = evidence.controllers.filter(({ online }) => online !== false);
  const all = online.flatMap(({ code }) =>
    mirroredActuators(configuration.controllers[code]).map(([id, { address }]) => ({
      ...{ code, id, address },
    })),
  );
  const tried = all.slice(0, mostFresh);
  if (tried.length === 0) return notTried(msg`no actuator of a controller that is online is configured`);
  const readAll = () =>
    Promise.all(tried.map(({ code, address }) => platform.value(code, address, true, signal)));
  const first = await readAll();
  await ports.clock.wait(limits.frameMs, signal);
  const second = await readAll();
  const seconds = Math.round(limits.frameMs / 1_000);
  const differing = tried.flatMap(({ code, id, address }, place) => {
    const [one = null, other = null] = [first[place], second[place]];
    if (one === null || other === null || sameValue(textOf(one), textOf(other))) return [];
    return [
      msg`${id} (${address}) of ${code} is ${textOf(one)} by a fresh read and ${textOf(other)} by another one ${seconds} s later`,
    ];
  });
  return differing.length === 0
    ? ok(msg`a fresh read gives at once what the next one gives (${tried.length} addresses tried)`)
    : warning(
        clauses(differing),
        msg`Look again when nothing moves. If they still differ, set flush_lag: 5s: flush=1 answers the value before.`,
      );
}

interface ComparedReads {
  readonly compared: number;
  readonly differing: readonly Text[];
}

async function comparedReads(
  { code, group, things }: WantedGroup,
  { platform }: DoctorContext,
  signal: AbortSignal,
): Promise<ComparedReads> {
  const values = await platform.values(code, group, signal);
  const differing: Text[] = [];
  let compared = 0;
  for (const { id, address } of things) {
    const ofGroup = values.get(address);
    const own = ofGroup === undefined ? null : await platform.value(code, address, true, signal);
    if (ofGroup === undefined || own === null) continue;
    compared += 1;
    if (!sameValue(textOf(ofGroup), textOf(own)))
      differing.push(
        msg`${id} (${address}) of ${code} is ${textOf(ofGroup)} by set-value/flush and ${textOf(own)} by get-value`,
      );
  }
  return { compared, differing };
}

function wantedGroups({ configuration, evidence }: DoctorContext): readonly WantedGroup[] {
  const online = evidence.controllers.filter((device) => device.online !== false);
  return online.flatMap(({ code }) => {
    const section = configuration.controllers[code];
    const { parameters = {} } = section ?? {};
    const things = [
      ...mirroredActuators(section).flatMap(([id, { type_id: type, ...one }]) =>
        stateAddresses({
          kind: one.kind,
          address: one.address,
          modeAddress: one.mode_address,
          positionAddress: one.position_address,
        }).map((address) => ({ id, type, address })),
      ),
      ...Object.entries(parameters).map(([id, { type_id: type, address }]) => ({ id, type, address })),
    ];
    const types = new Set(things.flatMap(({ type }) => (type === undefined ? [] : [type])));
    return [...types].map((type) => ({
      code,
      group: parameterGroup(type),
      things: things.filter((one) => one.type === type),
    }));
  });
}
