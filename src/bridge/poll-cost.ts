import type { PollJob } from "./poll-jobs.js";

/** Reads that polling makes, in the words of health and metrics; `register` is one address, `registers` one parameter group of a controller. */
export const pollOperations = [
  "controllers",
  "devices",
  "connection",
  "sensors",
  "running_status",
  "register",
  "registers",
] as const;

export type PollOperation = (typeof pollOperations)[number];

/** Calls an hour, by operation. */
export type PollCost = Readonly<Record<PollOperation, number>>;

const hourMs = 3_600_000;

export function operationOf(job: PollJob): PollOperation {
  if (job.kind !== "registers") return job.kind;
  return job.read.type === "group" ? "registers" : "register";
}

/** What these jobs cost when each is asked for once in its interval (ms), as whole calls. */
export function callsPerHour(jobs: Iterable<PollJob>, intervalMs: (job: PollJob) => number): PollCost {
  const cost = {
    controllers: 0,
    devices: 0,
    connection: 0,
    sensors: 0,
    running_status: 0,
    register: 0,
    registers: 0,
  };
  for (const job of jobs) cost[operationOf(job)] += hourMs / intervalMs(job);
  const whole = pollOperations.map((operation) => [operation, Math.round(cost[operation])] as const);
  return { ...cost, ...Object.fromEntries(whole) };
}
