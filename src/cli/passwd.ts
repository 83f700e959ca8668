import { createInterface } from "node:readline/promises";
import { hashPassword } from "../broker/password.js";
import { CommandFailure, exitCodes, type Surroundings } from "./surroundings.js";

/** `greenhouse2mqtt passwd`: one line of stdin becomes the hash for `broker.users`. */
export async function passwd({ out, err, isTerminal, stop }: Surroundings): Promise<void> {
  if (isTerminal) err.write("Password for the embedded broker (it is shown while you type): ");
  const lines = createInterface({ input: process.stdin, signal: stop });
  let password = "";
  for await (const line of lines) {
    password = line;
    break;
  }
  if (stop.aborted) throw new CommandFailure("stopped; no hash was made");
  if (password === "") throw new CommandFailure("no password was given on stdin", exitCodes.usage);
  out(`${await hashPassword(password)}\n`);
}
