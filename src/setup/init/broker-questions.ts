import { urlOf } from "../../config/urls.js";
import type { BrokerAnswer } from "./answers.js";
import { agreed, askUntil, choose, type Dialogue } from "./dialogue.js";
import type { FoundBroker } from "./find-broker.js";
import { brokerFrom, type GivenAnswers } from "./given-answers.js";
import { askSecret } from "./platform-questions.js";

type External = Extract<BrokerAnswer, { type: "external" }>;

/**
 * `find` looks for brokers nearby; it is only called when the command line names none. `before`: the answers of an earlier
 * try, which stand where nothing else is typed.
 */
export async function askBroker(
  dialogue: Dialogue,
  given: GivenAnswers,
  find: () => Promise<readonly FoundBroker[]>,
  before?: BrokerAnswer,
): Promise<BrokerAnswer> {
  if (given.mqttUrl !== undefined || given.embedded === true) return brokerFrom(given);
  dialogue.say("Looking for a broker …");
  const found = await find();
  const earlier = before?.type === "external" ? before : undefined;
  const isAmong = found.some(({ url }) => url === earlier?.url);
  const way = await choose(
    dialogue,
    found.length === 0 ? "No broker was found." : "Which broker?",
    [
      ...found.map(
        ({ url, isLocked }) => [url, `${url}${isLocked ? " (wants a user name and password)" : ""}`] as const,
      ),
      ["embedded", "the embedded one, for this computer only (keeps nothing over a restart)"],
      ["other", "another one"],
    ],
    earlier === undefined ? undefined : isAmong ? earlier.url : "other",
  );
  if (way === "embedded") return { type: "embedded" };
  const url =
    way === "other"
      ? await askUntil(dialogue, "Its address", brokerObjection, earlier?.url ?? "mqtt://localhost:1883")
      : way;
  const isLocked = found.find((one) => one.url === url)?.isLocked;
  return await askLogin(dialogue, url, isLocked, earlier?.url === url ? earlier : undefined);
}

async function askLogin(
  dialogue: Dialogue,
  url: string,
  isLocked: boolean | undefined,
  before: External | undefined,
): Promise<BrokerAnswer> {
  const suggested = before !== undefined && before.username === undefined ? "n" : "y";
  const hasLogin = isLocked ?? (await agreed(dialogue, "Does it want a user name and password?", suggested));
  if (!hasLogin) return { type: "external", url };
  const notEmpty = (answer: string) => (answer === "" ? "it cannot be empty" : null);
  const username = await askUntil(dialogue, "User name at the broker", notEmpty, before?.username);
  const password = await askSecret(dialogue, "Its password", notEmpty, before?.password);
  return { type: "external", url, username, password };
}

export function brokerObjection(address: string): string | null {
  const url = urlOf(address);
  const isUsable =
    url !== null && /^(mqtts?|wss?):$/.test(url.protocol) && url.hostname !== "" && url.username === "";
  return isUsable ? null : "expected an address such as mqtt://localhost:1883, without user and password";
}
