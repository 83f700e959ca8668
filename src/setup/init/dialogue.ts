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
