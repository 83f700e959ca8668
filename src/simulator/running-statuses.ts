import type { Role } from "./levels.js";
import { planRoles } from "./levels.js";
import type { SimulatedController } from "./simulated-controller.js";

export interface RunningStatusRow {
  readonly name: string;
  /** Device-status type number (system 3); several rows of one device may share one. */
  readonly number: number;
  readonly role: Role | null;
}

const sunlightGreenhouse: readonly RunningStatusRow[] = [
  { name: "一级风机", number: 16, role: "fan_1" },
  { name: "二级风机", number: 17, role: "fan_2" },
  { name: "三级风机", number: 18, role: "fan_3" },
  { name: "湿帘", number: 19, role: "wet_curtain" },
  { name: "室外顶喷淋", number: 37, role: null },
  { name: "灌溉方案1", number: 49, role: "plan_1" },
  { name: "灌溉方案2", number: 49, role: "plan_2" },
];

const fertilizerMachine: readonly RunningStatusRow[] = planRoles.map((role, index) => ({
  name: `灌溉方案${index + 1}`,
  number: 49,
  role,
}));

const tables = new Map<string, readonly RunningStatusRow[]>([
  ["C001", sunlightGreenhouse],
  ["C003", fertilizerMachine],
]);

export interface RunningStatus extends RunningStatusRow {
  readonly isRunning: boolean;
}

/** What runs at a device now, as the motors show it rather than the registers. */
export function runningStatuses(controller: SimulatedController): readonly RunningStatus[] {
  return (tables.get(controller.device.type) ?? []).map((row) => ({
    ...row,
    isRunning: row.role !== null && controller.plant.level(row.role) > 0.05,
  }));
}
