import { tellIn } from "../language/languages.js";
import type { Tell } from "../language/words.js";
import { bridgeItself } from "../greenhouse/limits.js";
import { nameOf } from "../greenhouse/documents.js";
import type { Core, Running } from "../feature/core.js";
import type { Configured } from "../feature/feature.js";
import { DailyReport } from "./daily.js";
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
  const { clock, log, mirror, commands, secrets } = core;
  const { alarms } = commands.limits;
  return new Notifier({
    tell,
    settings: { notify, timeZone: platform.time_zone, secrets },
    clock,
    log,
    alarms: () => alarms.list,
    alarm: (message) => alarms.set("notify_failed", bridgeItself, message),
    nameOf: (id, actuator, sensor) => {
      const controller = mirror.store.byId(id);
      return controller
        ? tell(nameOf(controller, actuator, { id: sensor, language: notify.language }))
        : [id, actuator, sensor].filter(Boolean).join(" / ");
    },
    memory: core.file("notified.json"),
  });
}

/** Tells the notifier what ways ask for beside alarms. */
function happeningsWatchOf(notifier: Notifier, core: Core): HappeningsWatch {
  const { clock, log, mirror, configuration, commands, listenToEvents } = core;
  const watch = new HappeningsWatch({
    clock,
    log,
    memory: core.file("guards-told.json"),
    controller: mirror.store.find,
    unitOf: (name) => configuration.weather[name]?.unit,
    onHappened: (one) => notifier.happened(one),
  });
  mirror.store.onChange((before, after) => watch.onChange(before, after), ["actuators"]);
  commands.listen({ phase: () => undefined, result: (result) => watch.onResult(result) });
  listenToEvents((event) => watch.onEvent(event));
  return watch;
}

/** The message of every day, which can be asked for also where none is sent by itself. */
function createDaily(notifier: Notifier, core: Core, { notify }: Settings): DailyReport {
  const { clock, log, mirror, commands } = core;
  const daily = new DailyReport({
    clock,
    log,
    at: notify.daily?.at ?? null,
    wording: notifier.wording,
    kinds: core.page.kinds,
    controllers: () => mirror.store.controllers(),
    controller: mirror.store.find,
    alarms: () => commands.limits.alarms.list,
    say: (message, day) => notifier.sayOnce(message, notify.daily?.ways, day),
    memory: core.file("daily.json"),
  });
  commands.listen({ phase: () => undefined, result: (result) => daily.onResult(result) });
  return daily;
}
