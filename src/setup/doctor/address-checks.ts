import { type ParameterGroup, parameterGroup, typeName } from "../../greenhouse/device-types.js";
import { stateAddresses } from "../../greenhouse/fold-registers.js";
import { PlatformError } from "../../greenhouse/ports.js";
import { notTried, ok, type Verdict, warning } from "./finding.js";
import { platformVerdict } from "./platform-checks.js";
import type { Check, Scene } from "./scene.js";

/** What the configuration says of addresses, against what the platform shows of them. */
export const addressChecks: readonly Check[] = [
  { id: "addresses", needs: ["realtime"], run: addressesVerdict },
];

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
async function addressesVerdict(scene: Scene, signal: AbortSignal): Promise<Verdict> {
  const groups = wantedGroups(scene);
  if (groups.length === 0) return notTried("no actuator of a controller that is online has a type_id");
  const tried = groups.slice(0, mostGroups);
  const left = groups.length - tried.length;
  const unlisted: string[] = [];
  for (const { code, group, things } of tried) {
    const values = await scene.platform.values(code, group, signal).catch((error: unknown) => {
      if (error instanceof PlatformError && !signal.aborted) return platformVerdict(error);
      throw error;
    });
    if (values === null) continue;
    if ("status" in values) return { ...values, status: "warning" };
    for (const { id, address } of things)
      if (!values.has(address))
        unlisted.push(`${typeName(group)} of ${code} does not list ${id} (${address})`);
  }
  const rest = left > 0 ? `, ${left} more not tried` : "";
  if (unlisted.length === 0)
    return ok(`each address is listed below its type_id (${tried.length} tried${rest})`);
  const more = unlisted.length > mostNamed ? `, and ${unlisted.length - mostNamed} more` : "";
  return warning(
    `${unlisted.slice(0, mostNamed).join(", ")}${more}: the bridge reads them one by one${rest}`,
    "correct type_id or the address there, or leave type_id out",
  );
}

function wantedGroups({ configuration, evidence }: Scene): readonly WantedGroup[] {
  const online = evidence.controllers.filter((device) => device.online !== false);
  return online.flatMap(({ code }) => {
    const { actuators = {}, parameters = {} } = configuration.controllers[code] ?? {};
    const things = [
      ...Object.entries(actuators).flatMap(([id, { type_id: type, ...one }]) =>
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
