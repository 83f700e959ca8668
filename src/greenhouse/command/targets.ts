import { addressPattern } from "../address.js";
import type { Controller } from "../model.js";
import type { ActuatorSettings, ParameterSettings } from "../settings.js";
import { contradiction, contradictionRemedy } from "../type-check.js";
import type { Refusal } from "./outcomes.js";

/** What a command is addressed to, as in its topic. */
export interface Addressee {
  readonly controllerId: string;
  readonly target: "actuator" | "parameter" | "address";
  readonly targetId: string;
}

export interface TargetRules {
  readonly rawAddresses: boolean;
  /** Least time between two commands to one parameter or raw address. */
  readonly minIntervalMs: number;
}

const settleMs = 2_000;
const confirmWithinMs = 60_000;

/** How the addressee is commanded, or why it cannot be. Parameters and raw addresses take the path of a plain actuator. */
export function targetOf(
  controller: Controller | undefined,
  addressee: Addressee,
  rules: TargetRules,
): ActuatorSettings | Refusal {
  const { target, targetId } = addressee;
  if (target === "address") return rawTarget(controller, addressee, rules);
  if (target === "actuator") return actuatorTarget(controller, addressee);
  const parameter = controller?.parameters.get(targetId)?.settings;
  return parameter ? parameterTarget(parameter, rules) : unknown(addressee);
}

function actuatorTarget(
  controller: Controller | undefined,
  addressee: Addressee,
): ActuatorSettings | Refusal {
  const settings = controller?.actuators.get(addressee.targetId)?.settings;
  if (controller === undefined || settings === undefined) return unknown(addressee);
  const why = contradiction(settings, controller.info.type);
  if (why === null) return settings;
  return {
    reason: "unknown_actuator",
    message: `Nobody knows what "${addressee.targetId}" is: ${why}; ${contradictionRemedy}.`,
  };
}

const plain = (id: string, address: string, { minIntervalMs }: TargetRules): ActuatorSettings => ({
  id,
  kind: "custom",
  address,
  values: {},
  leadIn: "never",
  settleMs,
  travelMs: 0,
  confirmWithinMs,
  minIntervalMs,
  tolerance: 0,
  readOnly: false,
  homeAssistant: { enabled: false },
});

function parameterTarget(parameter: ParameterSettings, rules: TargetRules): ActuatorSettings | Refusal {
  const { id, address, writable, scale } = parameter;
  if (writable === undefined) {
    return {
      reason: "read_only",
      message: `Parameter "${id}" is only mirrored; give it writable: {min, max, step} in the configuration to allow commands.`,
    };
  }
  return { ...plain(id, address, rules), accepts: { type: "number", ...writable, scale } };
}

function rawTarget(
  controller: Controller | undefined,
  addressee: Addressee,
  rules: TargetRules,
): ActuatorSettings | Refusal {
  const { targetId: address } = addressee;
  if (controller === undefined || !addressPattern.test(address)) return unknown(addressee);
  if (!rules.rawAddresses) {
    return {
      reason: "unknown_actuator",
      message: "Raw addresses take no commands here; set commands.raw_addresses to true to allow them.",
    };
  }
  const owner = ownerOf(controller, address);
  if (owner !== null) {
    return {
      reason: "unknown_actuator",
      message: `Address ${address} belongs to ${owner}; send the command there, so that commands stay in order.`,
    };
  }
  return { ...plain(address, address, rules), accepts: { type: "raw" } };
}

/** The actuator or parameter an address belongs to; null for an address of nobody. */
export function ownerOf(controller: Controller, address: string): string | null {
  for (const { settings } of controller.actuators.values()) {
    const { modeAddress, positionAddress, stop } = settings;
    if ([settings.address, modeAddress, positionAddress, stop?.address].includes(address))
      return `actuator "${settings.id}"`;
  }
  for (const { settings } of controller.parameters.values())
    if (settings.address === address) return `parameter "${settings.id}"`;
  return null;
}

const unknown = ({ controllerId, target, targetId }: Addressee): Refusal => ({
  reason: "unknown_actuator",
  message: `There is no ${target} "${targetId}" on a controller "${controllerId}"; see the configuration and bridge/controllers.`,
});
