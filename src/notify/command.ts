import { CommandFailure, usageFailure } from "../runtime/ending.js";
import type { CommandCall } from "../feature/command.js";
import type { Configured } from "../feature/feature.js";
import { msg } from "../language/text.js";
import { systemClock } from "../runtime/clock.js";
import { testOnce } from "./notify.js";
import type { keys } from "./section.js";
import { fieldsOf } from "../runtime/objects.js";

/* The command `notify`: sends a test through each way without a bridge, or asks for the daily message. */

type Call = CommandCall<Configured<typeof keys>>;

export async function notify(call: Call): Promise<void> {
  const { daily, test } = call.options;
  if (daily === true) return tellDay(call);
  if (test !== true)
    throw usageFailure(
      msg`say --test: one message through each way of notify; or --daily: the daily message`,
    );
  await tryWays(call);
}

/** Asks the running bridge for the daily message, sent or only printed. */
async function tellDay({ options, request, out, isTerminal }: Call): Promise<void> {
  const data = await request("notify_daily", { print: options["print"] === true });
  const { title = "", text = "" } = fieldsOf(data);
  out(isTerminal ? `${String(title)}\n${String(text)}\n` : `${JSON.stringify(data)}\n`);
}

/** Sends one message through each way and prints the results. */
async function tryWays({ read, secrets, stop, out, isTerminal, tell }: Call): Promise<void> {
  const configuration = await read();
  if (Object.keys(configuration.notify.ways).length === 0)
    throw usageFailure(msg`no way is configured under notify.ways; docs/notify.md shows each`);
  const results = await testOnce(
    {
      notify: configuration.notify,
      timeZone: configuration.platform.time_zone,
      secrets: await secrets(),
    },
    systemClock,
    stop,
  );
  if (isTerminal)
    for (const [way, { service, problem }] of Object.entries(results))
      out(`${way} (${service}): ${tell(problem === null ? msg`sent` : msg`not sent: ${problem}`)}\n`);
  else out(`${JSON.stringify(results)}\n`);
  const failed = Object.entries(results).flatMap(([way, { ok }]) => (ok ? [] : [way]));
  if (failed.length > 0) throw new CommandFailure(msg`not sent by ${failed.join(", ")}`);
}
