import { createInterface } from "node:readline/promises";
import { hashPassword } from "../broker/password.js";
import { GoneAway } from "../setup/init/dialogue.js";
import { terminalDialogue } from "../setup/init/terminal-dialogue.js";
import { CommandFailure, exitCodes, type Surroundings } from "./surroundings.js";

export interface PasswordInput {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
}

/** `greenhouse2mqtt passwd`: a password from the terminal, unseen, or one line of a pipe, becomes the hash for `broker.users`. */
export async function passwd(
  around: Surroundings,
  { input }: PasswordInput = { input: process.stdin },
): Promise<void> {
  const password = input.isTTY === true ? await typed(input, around) : await firstLine(input, around.stop);
  if (around.stop.aborted || password === null) throw new CommandFailure("stopped; no hash was made");
  if (password === "") throw new CommandFailure("no password was given", exitCodes.usage);
  around.out(`${await hashPassword(password)}\n`);
}

/** Asked for twice, as nobody sees what is typed; null when the person went away. */
async function typed(input: NodeJS.ReadableStream, { err, stop }: Surroundings): Promise<string | null> {
  const dialogue = terminalDialogue({ input, output: err });
  stop.addEventListener("abort", () => {
    dialogue.close();
  });
  try {
    const password = await dialogue.secret("Password for the embedded broker");
    if (password === "") return "";
    if ((await dialogue.secret("The same again")) !== password)
      throw new CommandFailure("these were two different passwords; no hash was made", exitCodes.usage);
    return password;
  } catch (error) {
    if (error instanceof GoneAway) return null;
    throw error;
  } finally {
    dialogue.close();
  }
}

async function firstLine(input: NodeJS.ReadableStream, stop: AbortSignal): Promise<string> {
  for await (const line of createInterface({ input, signal: stop })) return line;
  return "";
}
