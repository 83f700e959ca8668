import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { createFile } from "../runtime/durable-file.js";
import { CommandFailure, exitCodes } from "./surroundings.js";

/* Files that a command writes for its user: new ones, mode 600, never over another. */

/** Before the work begins, which takes minutes. */
export function refuseToOverwrite(file: string, remedy: string): void {
  if (existsSync(file))
    throw new CommandFailure(`${file} exists and is never overwritten; ${remedy}`, exitCodes.usage);
  if (!existsSync(dirname(file)))
    throw new CommandFailure(`${file}: there is no such folder; make it first`, exitCodes.usage);
}

export async function writeNew(file: string, text: string): Promise<void> {
  try {
    if (!(await createFile(file, text))) throw new Error(`EEXIST: file already exists, open '${file}'`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandFailure(
      `${file} could not be written (${why}); run the command again with another name`,
    );
  }
}
