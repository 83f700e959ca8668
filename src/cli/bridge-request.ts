import { basename } from "node:path";
import { joined, msg, row, type Text } from "../language/text.js";
import { NotAtSocket } from "../beside/own-socket.js";
import type { Configuration } from "../config/schema.js";
import { CommandFailure } from "../runtime/ending.js";
import { inOptions } from "../terminal/common.js";
import type { ProcessContext } from "../terminal/context.js";
import { askAtSocket, type Document, NotAsked, requestOf } from "../terminal/running-bridge.js";
import { refusalText } from "./wording.js";

/* Sends a request to the running bridge: at its socket, else over the broker. */

/** As long as the disk may take on a busy small computer. */
const longestMs = 30_000;

const endings = (name: string) => ({
  notSent: msg`stopped; "${name}" was not sent`,
  stopped: msg`stopped; "${name}" was sent, and its answer is not known`,
  gone: msg`"${name}" was sent, but the bridge has gone offline; ask again once it runs`,
  late: msg`the bridge did not answer "${name}"; ask again`,
});

/**
 * Somebody who locks an actuator before climbing must not be told to start a second bridge beside the one that runs.
 */
function notReached(asked: NotAsked, { holder, reason }: NotAtSocket): CommandFailure {
  if (holder !== null)
    return new CommandFailure(
      joined(
        [
          msg`a bridge is running (process ${holder.pid}, since ${holder.since}) and was not reached, so nothing was done. Do not start another one.`,
          msg`at its socket: ${reason}`,
          msg`over the broker: ${asked.reason}`,
        ],
        "\n  ",
      ),
    );
  if (asked.why === "offline")
    return new CommandFailure(
      msg`no bridge is running (${asked.reason}), so nothing was done; start it first.`,
    );
  return new CommandFailure(
    asked.why === "no_login"
      ? msg`the running bridge could not be asked, so nothing was done. ${asked.reason}`
      : row`${msg`the broker could not be reached, so nothing was done, and nobody knows whether a bridge is running.`}\n  ${asked.reason}`,
  );
}

type Fields = Readonly<Record<string, string | boolean | undefined>>;

/** The data of the bridge's answer; a refusal ends the command with the bridge's sentence in the user's language. */
export async function request(
  { speech: { language }, stop }: ProcessContext,
  configuration: Configuration,
  name: string,
  about: Fields,
): Promise<unknown> {
  const fields = language === "en" ? about : { ...about, language };
  const patience = { longestMs, endings: endings(name) };
  const answer = await askBridge(
    configuration,
    [`/api/requests/${name}`, fields],
    () => requestOf(configuration, name, fields, patience, stop),
    stop,
  );
  const { status, data } = answer;
  if (status !== "ok") throw new CommandFailure(refusalOf(name, answer));
  return data;
}

/** The bridge's English refusals name JSON fields, where the user typed options. */
const refusalOf = (name: string, { error, message = error }: Document): Text =>
  typeof message === "string" ? refusalText({ error, message: inOptions(message) }) : endings(name).late;

/** Asks at the bridge's socket, else over the broker. With fields it is a request, without them only a look. */
export async function askBridge<Answer>(
  configuration: Configuration,
  [path, fields]: readonly [path: string, fields?: Fields],
  overBroker: () => Promise<Answer | NotAsked>,
  stop: AbortSignal,
): Promise<Answer | Document> {
  const own = await askAtSocket(configuration, (ask) => ask(path, fields), stop);
  if (!(own instanceof NotAtSocket)) {
    if (fields === undefined && own.status >= 400)
      throw new CommandFailure(refusalOf(basename(path), own.document));
    return own.document;
  }
  const answer = await overBroker();
  if (answer instanceof NotAsked) throw notReached(answer, own);
  return answer;
}
