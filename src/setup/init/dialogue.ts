import { type Readable, Writable } from "node:stream";
import { confirm, log, password, select, text } from "@clack/prompts";

/** The objection to an answer, or null. */
export type Judge = (answer: string) => string | null;

/** Who is asked. Every question may reject with GoneAway. */
export interface Dialogue {
  say(words: string): void;
  /** Asks until an answer passes; trimmed. The suggestion stands where nothing is typed. */
  ask(question: string, judge: Judge, suggestion?: string): Promise<string>;
  /** Asks until an answer passes; as it was typed, blanks and all, and not shown. */
  secret(question: string, judge: Judge): Promise<string>;
  /** `before` is the one to begin with, or the first. */
  choose<const Word extends string>(
    question: string,
    options: readonly (readonly [word: Word, text: string])[],
    before?: NoInfer<Word>,
  ): Promise<Word>;
  agreed(question: string, before: boolean): Promise<boolean>;
}

/** The person went away: end of input, Ctrl-C, or the program was stopped. */
export class GoneAway extends Error {
  override name = "GoneAway" as const;

  constructor() {
    super("stopped; nothing was written");
  }
}

interface Terminal {
  readonly input: Readable;
  readonly output: { write(text: string): unknown };
  readonly stop: AbortSignal;
}

/** Questions over a terminal. */
export function terminalDialogue({ input, output: screen, stop }: Terminal): Dialogue {
  const ended = new AbortController();
  input.once("end", () => ended.abort());
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      screen.write(chunk.toString());
      done();
    },
  });
  const common = { input, output, signal: AbortSignal.any([stop, ended.signal]) };
  return {
    say: (words) => log.message(words, { output }),
    ask: async (question, judge, suggestion = "") => {
      const whole = (answer = "") => (answer.trim() === "" ? suggestion : answer.trim());
      const shown = suggestion === "" ? {} : { placeholder: suggestion, defaultValue: suggestion };
      const validate = (answer?: string) => judge(whole(answer)) ?? undefined;
      return whole(await given(text({ ...common, ...shown, message: question, validate })));
    },
    secret: (question, judge) =>
      given(
        password({ ...common, message: question, validate: (answer = "") => judge(answer) ?? undefined }),
      ),
    choose: async (question, words, before) => {
      const options = words.map(([value, label]): { value: string; label: string } => ({ value, label }));
      const chosen = await given(
        select<string>({ ...common, message: question, options, initialValue: before }),
      );
      const found = words.find(([word]) => word === chosen);
      if (found === undefined) throw new GoneAway();
      return found[0];
    },
    agreed: (question, before) => given(confirm({ ...common, message: question, initialValue: before })),
  };
}

async function given<Answer>(asked: Promise<Answer>): Promise<Exclude<Answer, symbol>> {
  const answer = await asked;
  if (typeof answer === "symbol") throw new GoneAway();
  return answer as Exclude<Answer, symbol>;
}
