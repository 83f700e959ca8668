import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { GoneAway, type Dialogue } from "./dialogue.js";

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
