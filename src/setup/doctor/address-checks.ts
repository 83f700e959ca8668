import { clauses, statements } from "../../language/lists.js";
import { msg, type Text } from "../../language/text.js";
import { sameValue, stateAddresses, textOf } from "../../greenhouse/actuator-kinds.js";
import { type ParameterGroup, parameterGroup, typeName } from "../../greenhouse/device-types.js";
import { readingsOf } from "../../greenhouse/readings.js";
import { askEach, type Doubt, doubtsVerdict } from "./doubts.js";
import { notTried, type Verdict } from "./finding.js";
import { commentText } from "../../saving/yaml-text.js";
import { mirroredActuators } from "../../settings/controllers.js";
import { platformVerdict, sampleControllers } from "./platform-checks.js";
import type { Check, DoctorContext } from "./context.js";

/** Compares the configured addresses with what the platform shows of them. */
export const addressChecks: readonly Check[] = [
  { id: "interface", needs: ["realtime"], run: interfaceVerdict },
  { id: "addresses", needs: ["realtime"], run: addressesVerdict },
  { id: "both_reads", needs: ["realtime"], run: bothReadsVerdict },
  { id: "fresh_reads", needs: ["realtime"], run: freshReadsVerdict },
];

/** What the single-device status says of the interface. It decides nothing, but helpers ask for it. */
async function interfaceVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const online = sampleControllers(context).filter((device) => device.online !== false);
  if (online.length === 0) return notTried(msg`no controller is online`);
  const told = new Map<string, Text>();
  const { answers, refused } = await askEach(
    online,
    ({ code }) => code,
    ({ code }) => context.platform.connection(code, signal),
  );
  for (const { answer } of answers) {
    const { version, description, marker = null } = answer;
    const parts: readonly Text[] = [
      ...(version === null ? [] : [msg`interface version ${commentText(version, 20)}`]),
      ...(marker === null ? [] : [msg`type ${commentText(marker, 20)}`]),
      ...(description === null ? [] : [`"${commentText(description, 60)}"`]),
    ];
    const whole = clauses(parts);
    if (parts.length > 0) told.set(String(whole), whole);
  }
  return doubtsVerdict(
    refused,
    told.size === 0
      ? msg`the platform does not say which version its interface has`
      : msg`the platform says: ${statements([...told.values()])}`,
  );
}

/** Most types asked for; each costs a request. */
const mostGroups = 24;
const mostNamed = 5;

interface WantedGroup {
  readonly code: string;
  readonly group: ParameterGroup;
  /** Names below the controller with their addresses: `left_skylight (101)`. */
  readonly things: readonly { readonly id: string; readonly address: string }[];
}

const nameOf = ({ code, group }: WantedGroup): Text => msg`${typeName(group)} of ${code}`;

/** Whether the platform lists each address below its configured `type_id`. */
async function addressesVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  const groups = wantedGroups(context);
  if (groups.length === 0) return notTried(msg`no actuator of a controller that is online has a type_id`);
  const tried = groups.slice(0, mostGroups);
  const left = groups.length - tried.length;
  const read = ({ code, group }: WantedGroup) => context.platform.values(code, group, signal);
  const asked = await askEach(tried, nameOf, read).catch(asWarning(signal));
  if ("status" in asked) return asked;
  const unlisted = asked.answers.flatMap(({ thing: { code, group, things }, answer }) =>
    things.flatMap(({ id, address }) =>
      answer.has(address) ? [] : [msg`${typeName(group)} of ${code} does not list ${id} (${address})`],
    ),
  );
  const rest = left > 0 ? msg`, ${left} more not tried` : "";
  const more = unlisted.length > mostNamed ? msg`, and ${unlisted.length - mostNamed} more` : "";
  const missing: Doubt = {
    what: msg`${clauses(unlisted.slice(0, mostNamed))}${more}: the bridge reads them one by one${rest}`,
    remedy: msg`correct type_id or the address there, or leave type_id out`,
  };
  return doubtsVerdict(
    [...asked.refused, ...(unlisted.length === 0 ? [] : [missing])],
    msg`each address is listed below its type_id (${tried.length} tried${rest})`,
  );
}

/** A warning at most: without types, the bridge reads address by address. */
const asWarning =
  (signal: AbortSignal) =>
  (error: unknown): Verdict => {
    const told = platformVerdict(error);
    if (told === null || signal.aborted) throw error;
    return { ...told, status: "warning" };
  };

const mostCompared = 12;

/** Whether the list of a type and a read of the address agree. What is moving may differ, and the result says so. */
async function bothReadsVerdict(context: DoctorContext, signal: AbortSignal): Promise<Verdict> {
  let compared = 0;
  let left = 0;
  const asked = await askEach(wantedGroups(context), nameOf, async ({ code, group, things }) => {
    const tried = things.slice(0, mostCompared - compared);
    left += things.length - tried.length;
    if (tried.length === 0) return [];
    const read = await comparedReads({ code, group, things: tried }, context, signal);
    compared += read.compared;
    return read.doubts;
  }).catch(asWarning(signal));
  if ("status" in asked) return asked;
  const doubts = [...asked.refused, ...asked.answers.flatMap(({ answer }) => answer)];
  const rest = left > 0 ? msg`, ${left} more not tried` : "";
  if (compared === 0 && doubts.length === 0)
    return notTried(msg`no address of a controller that is online is read with a group`);
  return doubtsVerdict(doubts, msg`group read and single read agree (${compared} addresses tried${rest})`);
}

const mostFresh = 4;

/**
 * Whether a fresh read gives at once what the next one gives. One that only orders the device's answer gives the value
 * before.
 */
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
  const readAll = (things: typeof tried) =>
    askEach(
      things,
      ({ code, id, address }) => msg`${id} (${address}) of ${code}`,
      ({ code, address }) => platform.value(code, address, true, signal),
    );
  const first = await readAll(tried);
  await ports.clock.wait(limits.frameMs, signal);
  const second = await readAll(first.answers.map(({ thing }) => thing));
  const seconds = Math.round(limits.frameMs / 1_000);
  const differing = second.answers.flatMap(({ thing, answer: other }): Doubt | readonly Doubt[] => {
    const one = first.answers.find((answer) => answer.thing === thing)?.answer ?? null;
    if (one === null || other === null || sameValue(textOf(one), textOf(other))) return [];
    const { code, id, address } = thing;
    return {
      what: msg`${id} (${address}) of ${code} is ${textOf(one)} by a fresh read and ${textOf(other)} by another one ${seconds} s later`,
      remedy: msg`Look again when nothing moves. If they still differ, set flush_lag: 5s: flush=1 answers the value before.`,
    };
  });
  return doubtsVerdict(
    [...first.refused, ...second.refused, ...differing],
    msg`a fresh read gives at once what the next one gives (${tried.length} addresses tried)`,
  );
}

async function comparedReads(
  { code, group, things }: WantedGroup,
  { platform }: DoctorContext,
  signal: AbortSignal,
): Promise<{ readonly compared: number; readonly doubts: readonly Doubt[] }> {
  const values = await platform.values(code, group, signal);
  const { answers, refused } = await askEach(
    things.filter(({ address }) => values.has(address)),
    ({ id, address }) => msg`${id} (${address}) of ${code}`,
    ({ address }) => platform.value(code, address, true, signal),
  );
  const both = answers.flatMap(({ thing, answer: own }) => {
    const ofGroup = values.get(thing.address);
    return ofGroup === undefined || own === null ? [] : [{ ...thing, ofGroup, own }];
  });
  const differing = both.filter(({ ofGroup, own }) => !sameValue(textOf(ofGroup), textOf(own)));
  const doubts = differing.map(({ id, address, ofGroup, own }): Doubt => ({
    what: msg`${id} (${address}) of ${code} is ${textOf(ofGroup)} by set-value/flush and ${textOf(own)} by get-value`,
    remedy: msg`Look again when nothing moves. If they still differ, the bridge uses get-value. \`greenhouse2mqtt doctor --watch\` says what to set.`,
  }));
  return { compared: both.length, doubts: [...refused, ...doubts] };
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
          ...readingsOf(one, configuration.kinds[one.kind]),
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
