import { missingPaths } from "./run-seeds.js";

/** Before the shards start: one place for what they see. After the last: every rare path must have occurred. */
export default function setup(): () => void {
  process.env["SIMULATION_RUN"] ??= `${process.pid}`;
  return () => {
    const missing = missingPaths();
    if (missing.length > 0) throw new Error(`the simulation never saw: ${missing.join("; ")}`);
  };
}
