import { tellIn } from "../language/languages.js";
import type { Tell } from "../language/words.js";
import { nameOf } from "../greenhouse/documents.js";
import type { Core, Running } from "../feature/core.js";
import type { Configured } from "../feature/feature.js";
import { DailyReport } from "./daily.js";
import type { Message, Wording } from "./message.js";
import { Notifier } from "./notify.js";
import { requestsOf } from "./requests.js";
import type { keys } from "./section.js";
import { HappeningsWatch } from "./happenings-watch.js";

type Settings = Configured<typeof keys>;

/** Tells people, and answers who asks for that. */
export async function tellPeople(core: Core, configuration: Settings): Promise<Running> {
  const tell = await tellIn(configuration.notify.language);
  const notifier = createNotifier(core, configuration, tell);
  const daily = createDaily(notifier, core, configuration);
  const parts = [notifier, daily, ...(notifier.asksForMore ? [happeningsWatchOf(notifier, core)] : [])];
  const run = async (signal: AbortSignal) => {
    await Promise.all(parts.map((one) => one.run(signal)));
  };
  const requests = requestsOf(
    (stop) => notifier.test(stop),
    (isSent) => {
      const message = daily.message();
      if (isSent) notifier.say(message, configuration.notify.daily?.ways);
      return { title: message.title, text: message.text, sent: isSent };
    },
  );
  return { part: { run }, requests };
}

function createNotifier(core: Core, { notify, platform }: Settings, tell: Tell): Notifier {
  const { mirror, commands, secrets } = core;
  const settings = { notify, timeZone: platform.time_zone, secrets };
  const nameFor: Wording["nameOf"] = (id, actuator, sensor) => {
    const controller = mirror.store.byId(id);
    return controller
      ? tell(nameOf(controller, actuator, { id: sensor, language: notify.language }))
      : [id, actuator, sensor].filter(Boolean).join(" / ");
  };
  return new Notifier(settings, core, commands.limits.alarms, { tell, nameOf: nameFor });
}

/** Tells the notifier what ways ask for beside alarms. */
function happeningsWatchOf(notifier: Notifier, core: Core): HappeningsWatch {
  const { mirror, commands, listenToEvents } = core;
  const watch = new HappeningsWatch(core, (one) => notifier.happened(one));
  mirror.store.onChange((before, after) => watch.onChange(before, after), ["actuators"]);
  commands.listen({ phase: () => undefined, result: (result) => watch.onResult(result) });
  listenToEvents((event) => watch.onEvent(event));
  return watch;
}

/** The message of every day, which can be asked for also where none is sent by itself. */
function createDaily(notifier: Notifier, core: Core, { notify }: Settings): DailyReport {
  const { at = null, ways } = notify.daily ?? {};
  const say = (message: Message, day: string) => notifier.sayOnce(message, ways, day);
  const daily = new DailyReport(core, at, notifier.wording, say);
  core.commands.listen({ phase: () => undefined, result: (result) => daily.onResult(result) });
  return daily;
}
