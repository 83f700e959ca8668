import { msg, row, type Text, textOf as sentenceOf } from "../language/text.js";
import { nearest } from "../runtime/similar-words.js";
import type { Configuration } from "../config/schema.js";
import { controllerTopicId } from "../settings/controllers.js";
import { textOf } from "../greenhouse/actuator-kinds.js";
import { PlatformError } from "../greenhouse/ports.js";
import type { PlatformClient } from "../platform/client.js";
import { commentText } from "../saving/yaml-text.js";
import { codeOf, readConfiguration, shortList, withPlatform } from "../terminal/common.js";
import { CommandFailure, usageFailure } from "../runtime/ending.js";
import type { CommonOptions, ProcessContext } from "../terminal/context.js";

/** `greenhouse2mqtt read CONTROLLER ADDRESS`: the present value from the device itself. */
export async function read(
  context: ProcessContext,
  controller: string,
  address: string,
  options: CommonOptions,
): Promise<void> {
  const configuration = await readConfiguration(options, context);
  let code = codeOf(configuration, controller);
  const value = await withPlatform(configuration, context, async (platform) => {
    code = await listedCode(platform, code, context.stop);
    const shown = await platform.value(code, address, true, context.stop).catch((error: unknown) => {
      if (error instanceof PlatformError && error.facts.kind === "rejected") return error;
      throw error;
    });
    if (shown !== null && !(shown instanceof PlatformError)) return shown;
    // The platform answers alike for an address and a controller that do not exist; only its lists tell them apart.
    const known = await codesOf(platform, context.stop);
    if (known.length > 0 && !known.includes(code)) throw unknownController(configuration, code, known);
    throw shown ?? noValue(code, address);
  });
  context.out(
    context.isTerminal
      ? `${context.speech.tell(msg`${code} address ${address}: ${textOf(value)}`)}\n`
      : `${JSON.stringify({ controller: code, address, value: textOf(value) })}\n`,
  );
}

/** The code of the listed controller with this code or topic id; otherwise the name as it is. */
export async function listedCode(
  platform: PlatformClient,
  name: string,
  signal: AbortSignal,
): Promise<string> {
  if (name !== name.toLowerCase()) return name;
  const records = await platform.controllers(signal).catch(() => []);
  if (records.some(({ code }) => code === name)) return name;
  return records.find(({ code }) => controllerTopicId(code) === name)?.code ?? name;
}

const noValue = (code: string, address: string): CommandFailure =>
  new CommandFailure(
    msg`the platform shows no value for address ${address} of ${code}; check the address, and whether the controller is online`,
  );

/** The codes of everything that the account lists; empty if a list cannot be read. */
async function codesOf(platform: PlatformClient, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const lists = [await platform.controllers(signal), await platform.devices("TEXT", signal)];
    return [...new Set(lists.flatMap((list) => list.map(({ code }) => code)))];
  } catch (error) {
    if (error instanceof PlatformError) return [];
    throw error;
  }
}

function unknownController(
  { controllers }: Configuration,
  name: string,
  known: readonly string[],
): CommandFailure {
  const idOf = (code: string) => (Object.hasOwn(controllers, code) ? controllers[code]?.id : undefined);
  const near = nearest(name, [...known, ...known.map((code) => idOf(code) ?? controllerTopicId(code))]);
  const hint = near === null ? msg`it has` : msg`did you mean "${commentText(near)}"? It has`;
  const named = known.map((code): Text => {
    const id = idOf(code);
    return id === undefined ? commentText(code) : row`${commentText(code)} (${id})`;
  });
  return new CommandFailure(
    msg`the account has no controller "${commentText(name)}"; ${hint} ${shortList(named)}`,
  );
}

/** `greenhouse2mqtt get OPERATION key=value…`: the platform's unchanged answer, as JSON. */
export async function get(
  context: ProcessContext,
  operation: string,
  parameters: readonly string[],
  options: CommonOptions,
): Promise<void> {
  const query = Object.fromEntries(parameters.map(keyAndValue));
  const configuration = await readConfiguration(options, context);
  const answer = await withPlatform(configuration, context, (platform) =>
    platform.get(operation, query, context.stop).catch((error: unknown) => {
      if (error instanceof PlatformError && error.facts.kind === "invalid_request") {
        throw usageFailure(sentenceOf(error));
      }
      throw error;
    }),
  );
  context.out(`${JSON.stringify(answer, null, context.isTerminal ? 2 : undefined)}\n`);
}

export function keyAndValue(text: string): readonly [string, string] {
  const equals = text.indexOf("=");
  if (equals < 1) throw usageFailure(msg`expected key=value, got "${text}"`);
  return [text.slice(0, equals), text.slice(equals + 1)];
}
