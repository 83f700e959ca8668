import type { PushNews } from "../../greenhouse/push.js";
import { readFlag } from "../decode/devices.js";
import { UnreadableShape } from "../decode/decoding.js";
import { roleReader } from "../decode/roles.js";
import { runningStatusReader } from "../decode/running-statuses.js";
import { isContainer, isFields, type Fields } from "../decode/wire.js";
import type { OperationShape } from "../settings.js";
import type { DecodeScope } from "./frame-decoder.js";
import { scopeTime } from "./scope-time.js";
import type { Scope } from "./scopes.js";

const roles = roleReader(
  {
    online: ["online", "isOnline", "onlineStatus"],
    status: ["status"],
    name: ["name", "statusName", "title", "label", "deviceTypeNumber", "deviceTypeNo", "typeNumber"],
    device: ["deviceCode", "deviceSn", "devCode"],
  },
  {},
);

/** Running statuses as `device_status` answers them, and whether the device is connected: `online`, or a bare `status`. */
export function statusFrame(shape: OperationShape): DecodeScope {
  const read = runningStatusReader(shape);
  const timeOf = scopeTime(shape.time);
  return (scope, decoding) => {
    const { code, node } = scope;
    const news: PushNews[] = [];
    let problems = 0;
    const online = connectionIn(scope);
    const report = (problem: string, found: unknown) => {
      // What says that a device came or went holds no running status, and is no riddle either.
      if (online !== null) return;
      problems += 1;
      decoding.report(problem, found);
    };
    if (online !== null) news.push({ type: "connection", code, online });
    try {
      const items = read({ data: node }, code, { ...decoding, report });
      if (items.length > 0) news.push({ type: "statuses", code, items, at: timeOf(scope, decoding) });
    } catch (error) {
      if (!(error instanceof UnreadableShape)) throw error;
    }
    if (news.length === 0 && problems === 0)
      decoding.report("a frame without a running status or connection", node);
    return news;
  };
}

const maxLooked = 2_000;

/** The connection a scope tells of; null when it does not, or contradicts itself. */
function connectionIn({ code, node }: Scope): boolean | null {
  const flags = new Set<boolean>();
  const open: object[] = [node];
  for (let looked = 0; looked < maxLooked; looked += 1) {
    const next = open.pop();
    if (next === undefined) break;
    if (isFields(next)) {
      const { device } = roles(next);
      if (typeof device === "string" && device.trim() !== code) continue;
      const flag = flagOf(next);
      if (flag !== null) flags.add(flag);
    }
    for (const child of Object.values(next)) if (isContainer(child)) open.push(child);
  }
  const [only] = flags;
  return flags.size === 1 && only !== undefined ? only : null;
}

/** A `status` beside a name or a number is a running status; alone it is the device's own, as its single status is. */
function flagOf(fields: Fields): boolean | null {
  const found = roles(fields);
  if ("online" in found) return readFlag(found.online);
  return "name" in found || !("status" in found) ? null : readFlag(found.status);
}
