import type { Finding } from "../problem.js";
import { fittingOptions } from "./actuator-rules.js";
import { distinctAddresses } from "./address-rules.js";
import {
  distinctPorts,
  distinctUsers,
  readableHashes,
  strongPasswordsBeyondLoopback,
  usersBeyondLoopback,
} from "./broker-rules.js";
import { distinctControllerIds, distinctSensors } from "./controller-rules.js";
import { asDraft, type Draft } from "./draft.js";
import { orderedLimits, sendableLimits } from "./limit-rules.js";
import {
  certificateWithKey,
  harmlessResponseTopics,
  passwordWithUser,
  separateTopics,
  tlsNeedsTlsUrl,
} from "./mqtt-rules.js";
import { encryptedPlatform, oneCredential } from "./platform-rules.js";

const rules: readonly ((root: Draft) => Finding[])[] = [
  oneCredential,
  encryptedPlatform,
  tlsNeedsTlsUrl,
  certificateWithKey,
  passwordWithUser,
  separateTopics,
  harmlessResponseTopics,
  usersBeyondLoopback,
  strongPasswordsBeyondLoopback,
  readableHashes,
  distinctUsers,
  distinctPorts,
  distinctControllerIds,
  distinctSensors,
  distinctAddresses,
  fittingOptions,
  orderedLimits,
  sendableLimits,
];

/** Everything wrong between keys, in a file as it was read; never throws, whatever was read. */
export function brokenRules(read: unknown): Finding[] {
  const root = asDraft(read);
  return rules.flatMap((rule) => rule(root));
}
