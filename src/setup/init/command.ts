import { joined, msg, type Text } from "../../language/text.js";
import type { Readable } from "node:stream";
import { CommandFailure, usageFailure } from "../../runtime/ending.js";
import { systemClock, systemRandom } from "../../runtime/clock.js";
import { readFile, readYaml } from "../../config/load.js";
import { statements } from "../../language/lists.js";
import { fileProblem, problemText } from "../../settings/problem.js";
import { readText } from "../../runtime/file-system.js";
import { hashPassword } from "../../runtime/passwords.js";
import { firstLine } from "../../terminal/common.js";
import { type CommonOptions, type ProcessContext, screenOf } from "../../terminal/context.js";
import { type GivenOptions, givenAnswers } from "./given-answers.js";
import { triedAnswers, writeConfigurationOf, writeFirstConfiguration } from "./init.js";
import { GoneAway, terminalDialogue, usualBrokers } from "./questions.js";

/* `init` and `passwd`: questions in the terminal. */

/**
 * `greenhouse2mqtt passwd`: turns a password from the terminal, unseen, or from one line of a pipe, into the hash for
 * `broker.users`.
 */
export async function passwd(
  context: ProcessContext,
  input: Readable & { readonly isTTY?: boolean } = process.stdin,
): Promise<void> {
  const password =
    input.isTTY === true ? await readInput(input, context) : await firstLine(input, context.stop);
  if (context.stop.aborted || password === null) throw new CommandFailure(msg`stopped; no hash was made`);
  if (password === "") throw usageFailure(msg`no password was given`);
  context.out(`${await hashPassword(password)}\n`);
}

/** Asks twice, as typing is not shown; null if the person left. */
async function readInput(input: Readable, context: ProcessContext): Promise<string | null> {
  const { stop, speech } = context;
  const dialogue = terminalDialogue({ input, output: screenOf(context), stop, tell: speech.tell });
  const notEmpty = (answer: string) => (answer === "" ? msg`it cannot be empty` : null);
  try {
    const password = await dialogue.secret(msg`Password for the embedded broker`, notEmpty);
    if ((await dialogue.secret(msg`The same again`, notEmpty)) !== password)
      throw usageFailure(msg`these were two different passwords; no hash was made`);
    return password;
  } catch (error) {
    if (error instanceof GoneAway) return null;
    throw error;
  }
}

interface InitOptions extends CommonOptions, GivenOptions {
  readonly web?: boolean;
  readonly host?: string;
  readonly answers?: string;
  readonly try: boolean;
}

/**
 * `greenhouse2mqtt init`: asks for hosts, credential and broker, or takes given ones, tries them, and writes the
 * configuration once.
 */
export async function init(context: ProcessContext, options: InitOptions): Promise<void> {
  const { env, stop } = context;
  const { language, tell } = context.speech;
  if (options.web === true) {
    await (await import("./web.js")).initWeb(context, options);
    return;
  }
  if (options.host !== undefined)
    throw usageFailure(msg`--host is for --web: where the page of the questions listens`);
  const { config, dataDir, answers: file, businessUrl, realtimeUrl, tokenEnv, mqttUrl } = options;
  const { stdin: input, stdout: output } = process;
  const say = (text: Text) => context.out(`${context.speech.tell(text)}\n`);
  const given = [file, businessUrl, realtimeUrl, tokenEnv, mqttUrl];
  if (!input.isTTY || !context.isTerminal || given.some((one) => one !== undefined)) {
    const answers = givenAnswers(file === undefined ? "" : await answersIn(file), options, language);
    if (!("platform" in answers)) throw usageFailure(joined([msg`nothing was written:`, ...answers], "\n  "));
    const unasked = { clock: systemClock, random: systemRandom, env, stop, say, tell, dataDir };
    await writeConfigurationOf(() => triedAnswers(answers, options.try, config, unasked), config, unasked);
    return;
  }
  const dialogue = terminalDialogue({ input, output, stop, tell: context.speech.tell });
  const ports = {
    clock: systemClock,
    random: systemRandom,
    env,
    stop,
    dialogue,
    say,
    tell,
    dataDir,
    brokers: usualBrokers,
    speech: context.speech,
  };
  const written = await writeFirstConfiguration(config, ports);
  await (await import("./web.js")).sayPage(context, written, say);
}

async function answersIn(file: string): Promise<string> {
  const read = await readYaml(file, readFile);
  if (!read.ok) {
    const hint = read.missing ? [msg`give --answers the path of the file with the answers`] : [];
    const problems = read.faults.map((fault) =>
      fileProblem(file, statements([fault.message, ...hint]), fault),
    );
    throw usageFailure(joined(problems.map(problemText), "\n"));
  }
  const text = await readText(file);
  if (text.trim() === "")
    throw usageFailure(
      msg`${file}: the file is empty; write the answers into it, platform.business_url first`,
    );
  return text;
}
