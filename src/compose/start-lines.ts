import type { Configuration } from "../config/schema.js";
import type { Controller } from "../greenhouse/model.js";
import type { Logger } from "../runtime/logger.js";

/** What the bridge may do, for the log of a start. */
export function mayDo({ read_only: readOnly, dry_run: dryRun }: Configuration["commands"]): string {
  if (readOnly) return "read-only: every command is refused";
  if (dryRun) return "dry run: commands are checked, and nothing is sent";
  return "commands are taken and sent to the platform";
}

/** One line for each actuator of a controller that was found. */
export function logActuators(log: Logger, { info, actuators }: Controller): void {
  for (const { settings } of actuators.values()) {
    const { id, kind, address, readOnly } = settings;
    const about = { controller: info.id, actuator: id, kind, address };
    log.info(about, `actuator found${readOnly ? ", read-only" : ""}: ${info.id}/${id}`);
  }
}
