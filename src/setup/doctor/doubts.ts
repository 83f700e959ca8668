import { clauses, statements } from "../../language/lists.js";
import { msg, row, type Text } from "../../language/text.js";
import { PlatformError } from "../../greenhouse/ports.js";
import { ok, type Verdict, warning } from "./finding.js";
import { platformVerdict } from "./platform-checks.js";

/* A doubt about one of several things that share a line of the report. */

export interface Doubt {
  readonly what: Text;
  readonly remedy?: Text | undefined;
  readonly foreign?: readonly string[];
}

const mostNamed = 4;

export function doubtsVerdict(doubts: readonly Doubt[], fine: Text): Verdict {
  if (doubts.length === 0) return ok(fine);
  const named = doubts.slice(0, mostNamed);
  const more = doubts.length > mostNamed ? msg`, and ${doubts.length - mostNamed} more` : "";
  const remedies = new Map(named.flatMap(({ remedy }) => (remedy ? [[String(remedy), remedy]] : [])));
  return {
    ...warning(row`${clauses(named.map(({ what }) => what))}${more}`, statements([...remedies.values()])),
    foreign: named.flatMap(({ foreign = [] }) => foreign),
  };
}

interface Asked<Thing, Answer> {
  readonly answers: readonly { readonly thing: Thing; readonly answer: Answer }[];
  readonly refused: readonly Doubt[];
}

/**
 * Asks about one after the other. A refusal by the platform is a doubt about that one alone; rejects with any other
 * error.
 */
export async function askEach<Thing, Answer>(
  things: readonly Thing[],
  nameOf: (thing: Thing) => Text,
  ask: (thing: Thing) => Promise<Answer>,
): Promise<Asked<Thing, Answer>> {
  const answers: { readonly thing: Thing; readonly answer: Answer }[] = [];
  const refused: Doubt[] = [];
  for (const thing of things)
    try {
      answers.push({ thing, answer: await ask(thing) });
    } catch (error) {
      const told = platformVerdict(error);
      if (told === null || !(error instanceof PlatformError) || error.facts.kind !== "rejected") throw error;
      const { summary, remedy, foreign = [] } = told;
      refused.push({ what: msg`${nameOf(thing)}: ${summary}`, remedy, foreign });
    }
  return { answers, refused };
}
