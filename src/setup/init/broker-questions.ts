import { urlOf } from "../../config/urls.js";
import type { BrokerAnswer } from "./answers.js";
import { agreed, askUntil, choose, type Dialogue } from "./dialogue.js";
import type { FoundBroker } from "./find-broker.js";
import { brokerFrom, type GivenAnswers } from "./given-answers.js";
import { askSecret } from "./platform-questions.js";

/** `find` looks for brokers nearby; it is only called when the command line names none. */
export async function askBroker(
  dialogue: Dialogue,
  given: GivenAnswers,
  find: () => Promise<readonly FoundBroker[]>,
): Promise<BrokerAnswer> {
  if (given.mqttUrl !== undefined || given.embedded === true) return brokerFrom(given);
  dialogue.say("Looking for a broker …");
  const found = await find();
  const way = await choose(dialogue, found.length === 0 ? "No broker was found." : "Which broker?", [
    ...found.map(
      ({ url, isLocked }) => [url, `${url}${isLocked ? " (wants a user name and password)" : ""}`] as const,
    ),
    ["embedded", "the embedded one, for this computer only (keeps nothing over a restart)"],
    ["other", "another one"],
  ]);
  if (way === "embedded") return { type: "embedded" };
  const url =
    way === "other" ? await askUntil(dialogue, "Its address", brokerObjection, "mqtt://localhost:1883") : way;
  const isLocked = found.find((one) => one.url === url)?.isLocked;
  return await askLogin(dialogue, url, isLocked);
}

async function askLogin(
  dialogue: Dialogue,
  url: string,
  isLocked: boolean | undefined,
): Promise<BrokerAnswer> {
  const hasLogin = isLocked ?? (await agreed(dialogue, "Does it want a user name and password?", "y"));
  if (!hasLogin) return { type: "external", url };
  const notEmpty = (answer: string) => (answer === "" ? "it cannot be empty" : null);
  const username = await askUntil(dialogue, "User name at the broker", notEmpty);
  const password = await askSecret(dialogue, "Its password", notEmpty);
  return { type: "external", url, username, password };
}

export function brokerObjection(address: string): string | null {
  const url = urlOf(address);
  const isUsable =
    url !== null && /^(mqtts?|wss?):$/.test(url.protocol) && url.hostname !== "" && url.username === "";
  return isUsable ? null : "expected an address such as mqtt://localhost:1883, without user and password";
}
