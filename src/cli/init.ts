import { systemClock } from "../runtime/clock.js";
import { systemRandom } from "../runtime/random.js";
import { usualBrokers } from "../setup/init/find-broker.js";
import type { GivenAnswers } from "../setup/init/given-answers.js";
import { writeFirstConfiguration } from "../setup/init/init.js";
import { terminalDialogue } from "../setup/init/terminal-dialogue.js";
import type { CommonOptions } from "./configuration.js";
import { CommandFailure, exitCodes, type Surroundings } from "./surroundings.js";

export interface InitCommandOptions extends CommonOptions, GivenAnswers {
  readonly try: boolean;
}

/** `greenhouse2mqtt init`: asks for hosts, credential and broker, tries them, and writes the configuration once. */
export async function init(options: InitCommandOptions, around: Surroundings): Promise<void> {
  const { config: file, try: tries, ...given } = options;
  const isAsked = process.stdin.isTTY && around.isTerminal;
  const dialogue = isAsked ? terminalDialogue({ input: process.stdin, output: process.stdout }) : null;
  const say = (text: string) => {
    around.out(`${text}\n`);
  };
  try {
    await writeFirstConfiguration(
      { file, given, tries },
      {
        clock: systemClock,
        random: systemRandom,
        env: around.env,
        stop: around.stop,
        dialogue,
        say,
        brokers: usualBrokers,
      },
    );
  } catch (error) {
    throw failureOf(error);
  } finally {
    dialogue?.close();
  }
}

const endings: Readonly<Record<string, number>> = {
  FileExists: exitCodes.failed,
  NotWritten: exitCodes.failed,
  PlaceUnusable: exitCodes.failed,
  GoneAway: exitCodes.failed,
  IncompleteAnswers: exitCodes.usage,
};

function failureOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = endings[error.name];
  return code === undefined ? error : new CommandFailure(error.message, code);
}
