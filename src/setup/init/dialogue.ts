import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

/** Who is asked. Every question may reject when the person goes away. */
export interface Dialogue {
  say(text: string): void;
  /** Trimmed; the suggestion where nothing was typed. */
  ask(question: string, suggestion?: string): Promise<string>;
  /** As it was typed, blanks and all; it is not shown. */
  secret(question: string): Promise<string>;
}

/** The person went away: end of input, or Ctrl-C. */
export class GoneAway extends Error {
  override name = "GoneAway" as const;

  constructor() {
    super("stopped; nothing was written");
  }
}

/** Asks until an answer passes; `judge` gives the objection, or null. */
export async function askUntil(
  dialogue: Dialogue,
  question: string,
  judge: (answer: string) => string | null,
  suggestion?: string,
): Promise<string> {
  for (;;) {
    const answer = await dialogue.ask(question, suggestion);
    const objection = judge(answer);
    if (objection === null) return answer;
    dialogue.say(objection);
  }
}

/** A choice by number; `before` is the suggestion, or the first. */
export async function choose<const Word extends string>(
  dialogue: Dialogue,
  question: string,
  options: readonly (readonly [word: Word, text: string])[],
  before?: NoInfer<Word>,
): Promise<Word> {
  dialogue.say(question);
  options.forEach(([, text], index) => {
    dialogue.say(`  ${index + 1}  ${text}`);
  });
  for (;;) {
    const suggested = Math.max(
      0,
      options.findIndex(([word]) => word === before),
    );
    const answer = await dialogue.ask("Number", String(suggested + 1));
    const chosen = /^\d{1,2}$/.test(answer) ? options[Number(answer) - 1] : undefined;
    if (chosen !== undefined) return chosen[0];
    dialogue.say(`a number from 1 to ${options.length}`);
  }
}

export async function agreed(dialogue: Dialogue, question: string, suggestion: "y" | "n"): Promise<boolean> {
  const isYesOrNo = (answer: string) => (/^(y|yes|n|no)$/i.test(answer) ? null : "y or n");
  return /^y/i.test(await askUntil(dialogue, `${question} (y/n)`, isYesOrNo, suggestion));
}

export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: { write(text: string): unknown };
}

export interface TerminalDialogue extends Dialogue {
  close(): void;
}

/** Questions over a terminal. The echo of readline goes through a writer that falls silent while a secret is typed. */
export function terminalDialogue({ input, output }: Terminal): TerminalDialogue {
  let isSilent = false;
  const echo = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (!isSilent) output.write(chunk.toString());
      done();
    },
  });
  const { line, close } = lineReader(input, echo);
  return {
    close,
    say: (text) => {
      output.write(`${text}\n`);
    },
    ask: async (question, suggestion) => {
      const answer = (
        await line(`${question}${suggestion === undefined ? "" : ` [${suggestion}]`}: `)
      ).trim();
      return answer === "" ? (suggestion ?? "") : answer;
    },
    secret: async (question) => {
      output.write(`${question} (not shown): `);
      isSilent = true;
      try {
        return await line("");
      } finally {
        isSilent = false;
        output.write("\n");
      }
    },
  };
}

/** Lines as they are typed; a line still awaited when the input ends rejects with GoneAway. */
function lineReader(input: NodeJS.ReadableStream, output: Writable) {
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  const gone = new AbortController();
  lines.once("close", () => {
    gone.abort();
  });
  return {
    line: (prompt: string): Promise<string> =>
      lines.question(prompt, { signal: gone.signal }).catch(() => {
        throw new GoneAway();
      }),
    close: () => {
      lines.close();
    },
  };
}
