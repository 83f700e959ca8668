import { joined, msg, row, type Text, textOf } from "../../language/text.js";
import type { Tell } from "../../language/words.js";
import { ignored } from "../../runtime/failures.js";
import { resolve } from "node:path";
import type { Command } from "commander";
import { type ParameterGroup, scannedTypes } from "../../greenhouse/device-types.js";
import { systemClock } from "../../runtime/clock.js";
import type { Configuration } from "../../config/schema.js";
import { parseDuration } from "../../runtime/duration.js";
import { readText } from "../../runtime/file-system.js";
import { keysIn } from "../../saving/given.js";
import { discover as discoverAccount, type DiscoverRequest, loadAt } from "./discover.js";
import { ScanEnded } from "./survey.js";
import { Meter } from "./progress.js";

import { codeOf } from "../../terminal/common.js";
import { addLines, writeNew } from "../init/new-file.js";
import { loadedFile, readNamed, refuseToOverwrite, withPlatform } from "../../terminal/common.js";
import { CommandFailure, usageFailure } from "../../runtime/ending.js";
import { type CommonOptions, programVersion, type ProcessContext, screenOf } from "../../terminal/context.js";

interface DiscoverOptions extends CommonOptions {
  readonly controller?: readonly string[];
  readonly types?: readonly ParameterGroup[];
  readonly out?: string;
  readonly merge?: string;
  readonly fresh?: boolean;
  readonly listen?: boolean;
  readonly for?: string;
}

/** `greenhouse2mqtt discover`: writes what the account holds as YAML, to stdout or a new file; only reads are sent. */
export async function discover(
  context: ProcessContext,
  given: DiscoverOptions,
  self: Command,
): Promise<void> {
  // Unless a configuration is named, the file to compare with also leads to the platform.
  const isNamed = given.account !== undefined || self.getOptionValueSource("config") !== "default";
  const options = { ...given, config: isNamed ? given.config : (given.merge ?? given.config) };
  if (options.out !== undefined)
    refuseToOverwrite(
      options.out,
      msg`choose another name, or \`--merge ${options.out}\` to see what is new`,
    );
  if (options.for !== undefined && options.listen !== true)
    throw usageFailure(msg`--for says how long to listen: write --listen too`);
  const { file, configuration } = await readNamed(options, context);
  const request = await requestFor(options, { file, configuration }, context);
  const { requests_per_minute: perMinute } = configuration.platform;
  const meter = new Meter(screenOf(context), systemClock, perMinute, undefined, context.speech.tell);
  const err = { isTTY: context.err.isTTY === true, write: (text: string) => meter.write(text) };
  const found = await withPlatform(configuration, { ...context, err }, (platform) =>
    discoverAccount(request, { platform, clock: systemClock, meter }, context.stop).catch(explain),
  );
  const { out } = options;
  const say = (text: Text) => context.err.write(`${context.speech.tell(text)}\n`);
  if (out === undefined) context.out(found.text);
  else {
    await writeFound(out, found);
    say(msg`${out} written: ${whatNext(out, options, file)}`);
  }
  await found.settle().catch((error: unknown) => {
    say(msg`the progress of the scan could not be put away: ${textOf(error)}`);
  });
  for (const note of found.notes) say(note);
  if (found.problems.length > 0) throw notTaken(found.problems);
}

const notTaken = (problems: readonly Text[]): CommandFailure =>
  new CommandFailure(joined([msg`\`check\` will refuse this file:`, ...problems], "\n"));

/** The progress of a scan, or its result. */
type DiscoverStep =
  | { readonly done: number; readonly total: number }
  /** `changes`: the YAML as settings by key. */
  | {
      readonly yaml: string;
      readonly notes: readonly Text[];
      readonly changes: Readonly<Record<string, unknown>>;
    }
  | { readonly problem: Text };

/** For the page: what the account holds and the configuration at `file` does not; only reads are sent. */
export async function* discoverSteps(
  configuration: Configuration,
  file: string,
  context: ProcessContext,
  { tell, stop }: { readonly tell: Tell; readonly stop: AbortSignal },
): AsyncGenerator<DiscoverStep> {
  const unseen = { write: () => true };
  const scan = async (give: (step: DiscoverStep) => void) => {
    const text = await readText(file);
    const perMinute = configuration.platform.requests_per_minute;
    const meter = new Meter(unseen, systemClock, perMinute, (done, total) => give({ done, total }));
    const request = {
      ...{ configuration, file, place: file, load: loadAt(file, context.env) },
      ...{ controllers: [], types: scannedTypes, fresh: false, listen: null },
      merge: { file, configuration, text },
      out: null,
      writtenBy: `greenhouse2mqtt ${programVersion()}`,
      tell,
    };
    const found = await withPlatform(configuration, { ...context, err: unseen }, (platform) =>
      discoverAccount(request, { platform, clock: systemClock, meter }, stop),
    );
    give({ yaml: found.text, notes: found.notes, changes: keysIn(found.text) });
    await found.settle();
  };
  yield* new ReadableStream<DiscoverStep>({
    start: (steps) => {
      const give = (step: DiscoverStep) => steps.enqueue(step);
      scan(give)
        .catch((error: unknown) => give({ problem: textOf(error) }))
        .finally(() => steps.close())
        // Nobody reads the steps any more.
        .catch(ignored);
    },
  });
}

/** The request that the options describe. */
async function requestFor(
  options: DiscoverOptions,
  { file, configuration }: Named,
  context: ProcessContext,
): Promise<DiscoverRequest> {
  const { account, out = null } = options;
  // What is found of an account is for the account's own file, as its fleet has most of its keys.
  const place = account === undefined ? (out ?? file) : file;
  const load: DiscoverRequest["load"] =
    account === undefined
      ? loadAt(place, context.env)
      : (reads, variables) => loadedFile(options, { ...context.env, ...variables }, reads);
  return {
    ...{ configuration, file, place, load },
    controllers: (options.controller ?? []).map((name) => codeOf(configuration, name)),
    types: options.types ?? scannedTypes,
    fresh: options.fresh === true,
    listen:
      options.listen === true
        ? { forMs: options.for === undefined ? null : parseDuration(options.for) }
        : null,
    merge:
      options.merge === undefined
        ? null
        : await readExisting(options.merge, options, { file, configuration }, context),
    out,
    writtenBy: `greenhouse2mqtt ${programVersion()}`,
    tell: context.speech.tell,
  };
}

interface Named {
  readonly file: string;
  readonly configuration: Configuration;
}

/** The file to compare with. Neither an account's own file nor its fleet's can be read alone. */
async function readExisting(
  merge: string,
  options: DiscoverOptions,
  named: Named,
  context: ProcessContext,
): Promise<NonNullable<DiscoverRequest["merge"]>> {
  const isOfAccount = [named.file, options.config].some((one) => resolve(one) === resolve(merge));
  const { account, ...alone } = { ...options, config: merge };
  const { file, configuration } =
    account !== undefined && isOfAccount ? named : await readNamed(alone, context);
  return { file, configuration, text: await readText(file) };
}

/** The secrets are written first, so that a configuration that exists works. */
async function writeFound(
  out: string,
  { text, secrets }: Pick<Awaited<ReturnType<typeof discoverAccount>>, "text" | "secrets">,
): Promise<void> {
  if (secrets !== null) await addLines(secrets.file, secrets.lines);
  await writeNew(out, text);
}

function whatNext(out: string, { merge, account, config }: DiscoverOptions, file: string): Text {
  if (merge !== undefined) return msg`paste its lines under the same keys of ${merge}`;
  return account === undefined
    ? msg`\`greenhouse2mqtt check ${out}\` checks it`
    : msg`let it replace ${file}; \`greenhouse2mqtt check ${config}\` checks it`;
}

function explain(error: unknown): never {
  if (!(error instanceof ScanEnded)) throw error;
  const goOn = msg`run the same command again to go on from here (--fresh starts over)`;
  throw new CommandFailure(
    error.reason === "stopped"
      ? msg`stopped; ${goOn}`
      : row`${textOf(error)}\n${msg`the scan ended early; ${goOn}`}`,
  );
}
