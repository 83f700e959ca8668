import { CommandBench, type CommandBenchOptions } from "../support/command-bench.js";

/* Benches with one actuator, `roof`, that has been read and does nothing yet. */

export const fan = { id: "roof", kind: "circulation_fan", address: "140", confirmWithinMs: 60_000 } as const;

export const fanBench = (over: CommandBenchOptions = {}): CommandBench =>
  new CommandBench({ actuators: [fan], registers: { "140": "1001" }, ...over });

/** A window. */
export const roofBench = (over: CommandBenchOptions = {}): CommandBench =>
  new CommandBench({ registers: { "101": "10001" }, ...over });

/** A window whose stop has an address of its own. */
export const stopBench = (registers: CommandBenchOptions["registers"] = {}): CommandBench =>
  roofBench({
    actuators: [{ stop: { address: "109", value: "00000100" } }],
    registers: { "101": "10001", ...registers },
  });

/** A platform that accepts a POST and does nothing. */
export const ignored = () => Promise.resolve({ code: "200", requestId: null });
