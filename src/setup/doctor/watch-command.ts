import { msg, row, type Text } from "../../language/text.js";
import type { ActuatorSettings } from "../../greenhouse/settings.js";
import type { Configuration } from "../../config/schema.js";
import { nearest } from "../../runtime/similar-words.js";
import { vocabulary } from "../../greenhouse/command/words.js";
import { degreeOf, sendAddresses } from "../../greenhouse/actuator-kinds.js";
import { parseDuration } from "../../runtime/duration.js";
import { systemClock } from "../../runtime/clock.js";
import { watchMovement } from "./watch.js";
import { adviceYaml, conclude, type WatchedActuator } from "./watch-conclusions.js";
import { mirrorSettings } from "../../sync/settings.js";
import { commentText } from "../../saving/yaml-text.js";
import { readNamed, shortList, withPlatform } from "../../terminal/common.js";
import { codeOf } from "../../terminal/common.js";
import { usageFailure } from "../../runtime/ending.js";
import { type CommonOptions, programVersion, type ProcessContext } from "../../terminal/context.js";

export interface WatchOptions extends CommonOptions {
  readonly watch: string;
  readonly command?: string;
  readonly for?: string;
}

const defaultPatienceMs = 10 * 60_000;

/** `doctor --watch CONTROLLER/ACTUATOR --command WORD`: shows one movement, and which settings follow from it. */
export async function watch(context: ProcessContext, options: WatchOptions): Promise<void> {
  const { file, configuration } = await readNamed(
    { ...options, logLevel: options.logLevel ?? "fatal" },
    context,
  );
  const actuator = watchedActuator(configuration, options.watch);
  const word = wordOf(actuator, options.command);
  const say = (line: Text) => context.out(`${context.speech.tell(line)}\n`);
  const at = new Date(systemClock.now()).toISOString().slice(0, 16);
  say(
    msg`watching ${actuator.code}/${actuator.id} (${actuator.kind}, address ${addressesOf(actuator)}); what it shows now:`,
  );
  const patienceMs = (options.for === undefined ? null : parseDuration(options.for)) ?? defaultPatienceMs;
  const record = await withPlatform(configuration, context, (platform) =>
    watchMovement(platform, { actuator, word, patienceMs }, { clock: systemClock, say }, context.stop),
  );
  const conclusion = conclude(record);
  say("");
  say(msg`What follows from it:`);
  for (const finding of conclusion.findings) say(row`- ${finding}`);
  say("");
  const head = [
    `found by \`doctor --watch\` of greenhouse2mqtt ${programVersion()}, ${at}Z, "${word}" was sent`,
  ];
  const yaml = adviceYaml(record, conclusion, head);
  if (yaml === "") say(msg`You need not set anything.`);
  else {
    say(msg`Write this under the same keys of ${file}:`);
    context.out(`\n${yaml}`);
  }
}

const addressesOf = ({ modeAddress, positionAddress }: WatchedActuator): Text =>
  modeAddress === positionAddress ? modeAddress : msg`${modeAddress}, position ${positionAddress}`;

const addressesIn = (one: ActuatorSettings): readonly string[] => [
  ...sendAddresses(one),
  one.address,
  ...(one.stop ? [one.stop.address] : []),
];

export function watchedActuator(configuration: Configuration, target: string): WatchedActuator {
  const at = target.lastIndexOf("/");
  if (at < 1)
    throw usageFailure(
      msg`--watch takes CONTROLLER/ACTUATOR, such as gh-0001/left_skylight, not "${commentText(target)}"`,
    );
  const controller = target.slice(0, at);
  const id = target.slice(at + 1);
  const code = codeOf(configuration, controller);
  const { actuators = [], parameters = [] } = mirrorSettings(configuration).controllers.get(code) ?? {};
  const settings = actuators.find((one) => one.id === id);
  if (settings === undefined) {
    const known = actuators.map((one) => one.id);
    const near = nearest(id, known);
    const hint =
      known.length === 0 ? msg`the configuration has no actuator of it` : msg`it has ${shortList(known)}`;
    throw usageFailure(
      near === null
        ? msg`${commentText(controller)} has no actuator "${commentText(id)}"; ${hint}`
        : msg`${commentText(controller)} has no actuator "${commentText(id)}", did you mean "${near}"?; ${hint}`,
    );
  }
  const [modeAddress, positionAddress = modeAddress] = sendAddresses(settings);
  return {
    code,
    id,
    kind: settings.kind,
    values: settings.values,
    reads: settings.reads ?? {},
    readings: settings,
    modeAddress,
    positionAddress,
    group: settings.group ?? null,
    owned: [...actuators.flatMap(addressesIn), ...parameters.map(({ address }) => address)],
    running: settings.running ?? [],
    tolerance: settings.tolerance,
    travelMs: settings.travelMs,
  };
}

function wordOf({ kind, values }: WatchedActuator, given: string | undefined): string {
  const { words, degrees } = vocabulary({ kind, values, stop: undefined });
  const all = [...words, ...(degrees === null ? [] : ["0..100"])].join(", ");
  if (given === undefined) throw usageFailure(msg`say with --command what you will send: ${all}`);
  const word = given.trim().toLowerCase();
  if (words.includes(word)) return word;
  if (degrees !== null && /^\d+$/.test(word) && degreeOf(word) !== null) return word;
  throw usageFailure(msg`it does not take --command "${commentText(given)}": ${all}`);
}
