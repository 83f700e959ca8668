import { secretValues } from "../config/load.js";
import type { Configuration } from "../config/schema.js";
import type { CommandCall } from "../feature/command.js";
import { CommandFailure } from "../runtime/ending.js";
import { readConfiguration } from "../terminal/common.js";
import type { CommonOptions, ProcessContext } from "../terminal/context.js";
import { NotAsked, retainedTexts } from "../terminal/running-bridge.js";
import { request } from "./bridge-request.js";
import { msg } from "../language/text.js";

/** What a feature's command gets. */
export function callOf(context: ProcessContext, options: CommonOptions): CommandCall<Configuration> {
  let reading: Promise<Configuration> | undefined;
  const read = () => (reading ??= readConfiguration(options, context));
  const { stop, isTerminal, out, speech } = context;
  return {
    ...{ stop, isTerminal, out, read },
    options: { ...options },
    secrets: async () => secretValues(await read()),
    tell: speech.tell,
    request: async (name, fields) => request(context, await read(), name, fields),
    retained: async (filter) => {
      const texts = await retainedTexts(await read(), filter);
      if (!(texts instanceof NotAsked)) return texts;
      throw new CommandFailure(msg`the running bridge could not be asked: ${texts.reason}`);
    },
  };
}
