import { msg } from "../language/text.js";
import type { Running } from "../feature/core.js";
import type { Configured } from "../feature/feature.js";
import { flagField, RequestError } from "../mqtt/requests.js";
import { untilAborted } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { keys } from "./section.js";

/* Tells people while there is a way to, and answers what can be asked for at `bridge/request`: a message to try, and the daily one. */

type Settings = Configured<typeof keys>;

/** What tells people. */
interface People {
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly reload: (next: Settings) => Promise<void>;
  readonly test: (signal: AbortSignal) => unknown;
  readonly daily: (isSent: boolean) => unknown;
}

export const hasWays = ({ notify: { ways } }: Settings): boolean => Object.keys(ways).length > 0;

/** `make` is called once, when the configuration has a way for the first time. */
export async function telling(
  make: (configuration: Settings) => Promise<People>,
  now: () => Settings,
  log: Pick<Logger, "error">,
): Promise<Running> {
  let people = hasWays(now()) ? await make(now()) : null;
  let running: AbortSignal | null = null;
  let taking: Promise<unknown> = Promise.resolve();
  const late: Promise<void>[] = [];
  const take = async () => {
    if (people !== null) return people.reload(now());
    if (!hasWays(now())) return;
    people = await make(now());
    if (running !== null) late.push(people.run(running));
  };
  const somebody = () => {
    if (people !== null && hasWays(now())) return people;
    throw new RequestError(
      msg`No way is configured under notify.ways, so there is nobody to send a message to.`,
    );
  };
  return {
    part: {
      run: async (signal) => {
        running = signal;
        await Promise.all([people?.run(signal), untilAborted(signal)]);
        await taking;
        await Promise.all(late);
      },
    },
    reload: () => {
      taking = taking.then(take).catch((problem: unknown) => {
        log.error({ problem }, "how people are told could not be taken up; the old settings stay");
      });
    },
    requests: [
      ["notify_test", "", (_, signal) => somebody().test(signal)],
      ["notify_daily", "print", (fields) => somebody().daily(!flagField(fields, "print", false))],
    ],
  };
}
