import type { Core, Running } from "../feature/core.js";
import { settingsText } from "../greenhouse/wording.js";
import { ignored } from "../runtime/failures.js";
import { journalReader } from "../journal/reader.js";
import type { Port } from "./port.js";
import type { HttpSection } from "./section.js";
import type { PageService, PageSources } from "./service.js";

/** What the page shows and does beyond the core. */
export interface Shown
  extends
    Pick<PageSources, "status" | "groups" | "ask" | "logLevel" | "recentLog">,
    Partial<Pick<PageSources, "doctor" | "discover" | "demo" | "settings">> {
  readonly status: PageSources["status"] & Port["status"];
  readonly metrics: () => Promise<PageSources["metrics"]>;
  /** The section in force. */
  readonly current: () => HttpSection;
  readonly onListening: Port["onListening"];
  /** Called with the keys of settings that were saved, before they are taken up. */
  readonly onSaved: (keys: readonly string[]) => void;
  /** For a page of several accounts that shows this bridge too: the kinds of readings on its overview. */
  readonly elsewhere: Pick<PageSources, "kinds"> | null;
  /** Whether the command line of the same user can use a socket in the data directory; not in a simulated world. */
  readonly hasOwner: boolean;
}

export interface RunningPage extends Running {
  readonly part: NonNullable<Running["part"]>;
  /** Null where no page shows the bridge. */
  readonly page: PageService | null;
}

/** Starts what answers the page and the command line. */
export async function servePage(core: Core, http: HttpSection, shown: Shown): Promise<RunningPage> {
  const isShown = http !== false || shown.elsewhere !== null;
  const page = isShown ? await createPage(core, http, shown) : null;
  const servers = [
    ...(page === null ? [] : [await pageServer(page, core, http, shown)]),
    ...(shown.hasOwner ? [ownerServer(page, core, http, shown)] : []),
  ];
  const run = async (signal: AbortSignal) => {
    await Promise.all(servers.map((serve) => serve(signal)));
  };
  return { page, part: { run } };
}

async function createPage(core: Core, http: HttpSection, shown: Shown): Promise<PageService> {
  const { PageService } = await import("./service.js");
  const { clock, log, mirror, commands, gaps, journal } = core;
  const { metrics, current, elsewhere, onSaved, ...sources } = shown;
  const ownKinds = () => (current() || http || { overview: [] }).overview;
  const page = new PageService({
    ...sources,
    clock,
    log,
    metrics: await metrics(),
    store: mirror.store,
    kinds: http === false ? (elsewhere?.kinds ?? ownKinds) : ownKinds,
    submit: (request) => commands.commander.submit(request),
    sentSince: (readAt) => gaps.sentSince(readAt),
    alarms: () => commands.limits.alarms.list,
    seenAddresses: () => mirror.seen.list(),
    weather: () => commands.limits.weather(),
    settingsSaved: (by, via, keys) => {
      onSaved(keys);
      return noteSaved(core, by, via, keys);
    },
    pastReadings: http !== false && http.past_readings ? pastReadings(core) : null,
    dataDir: core.configuration.data_dir,
    inPlace: core.inPlace,
    journal,
    ...journalReader(journal.directory),
  });
  commands.listen(page);
  return page;
}

/**
 * Records who changed which settings, in the journal and as an event; resolves once the journal has tried to write it.
 */
async function noteSaved(
  { journal, onEvent, clock }: Core,
  by: string | null,
  via: string | null,
  keys: readonly string[],
): Promise<void> {
  const who = by ?? via;
  const facts = { by: who, keys: keys.join(", ").slice(0, 500) };
  const message = String(settingsText(who, facts.keys));
  onEvent({ type: "settings_changed", severity: "info", message, at: clock.now(), facts });
  // With a new value in the file, what was chosen for the run ends.
  const ended = keys.includes("commands.read_only") ? ({ chosen: null } as const) : {};
  const record = { type: "configuration_changed", changes: keys, by: who ?? "somebody", ...ended } as const;
  await journal.append(record, { durable: true }).catch(ignored);
}

/** Past readings of the platform, asked for with requests that polling leaves over. */
const pastReadings = ({ configuration, clock, platform }: Core): PageSources["pastReadings"] => ({
  ask: async (code, signal) => {
    await platform.budget.turn(clock, signal);
    return platform.history(code, signal);
  },
  pauseMs: () => {
    const left = platform.budget.remaining(clock.monotonic());
    return left === null || left > configuration.platform.requests_per_minute / 2 ? 0 : 5_000;
  },
});

type Serve = (signal: AbortSignal) => Promise<void>;

/** Errors of the page must not end the bridge, which others watch over MQTT. */
async function pageServer(page: PageService, core: Core, http: HttpSection, shown: Shown): Promise<Serve> {
  const port = http === false ? null : await createPort(core, http, shown);
  const { openPort } = await import("./port.js");
  return async (signal) => {
    try {
      const elsewhere = shown.elsewhere === null ? null : page.run(signal);
      if (port !== null) {
        const opened = openPort(port);
        const { serveHttp } = await import("./server.js");
        await serveHttp(page, port, signal, opened);
      }
      await elsewhere;
    } catch (error) {
      page.faults.note(error);
    }
  };
}

async function createPort(
  { clock, log, file }: Core,
  http: Exclude<HttpSection, false>,
  { current, status, settings, onListening }: Shown,
): Promise<Port> {
  const { FirstOperator } = await import("./first-operator.js");
  const { Faults } = await import("./faults.js");
  const firstOperator = new FirstOperator(file("page-users.json"), log, () => settings?.isOnTrial() ?? false);
  return {
    clock,
    log,
    listener: () => firstOperator.complete({ ...(current() || http), host: http.host }),
    status,
    sessions: file("sessions.json"),
    firstOperator,
    madeUsers: () => firstOperator.users,
    onListening,
    faults: new Faults(log, clock),
  };
}

/** Answers the command line of the same user. */
const ownerServer =
  (page: PageService | null, core: Core, http: HttpSection, shown: Shown): Serve =>
  async (signal) => {
    const { configuration, broker, clock, log, inPlace } = core;
    const { serveOwner } = await import("./owner.js");
    const { Faults } = await import("./faults.js");
    const faults = new Faults(log, clock);
    let made: Promise<PageService> | null = null;
    const service = () => (made ??= page === null ? createPage(core, http, shown) : Promise.resolve(page));
    const parts = { dataDir: configuration.data_dir, inPlace, brokerPort: broker?.port ?? null, clock, log };
    await serveOwner({ ...parts, faults, service }, signal).catch((error: unknown) => faults.note(error));
  };

/** Loads code early that would otherwise be loaded while the bridge begins to work. */
export const loadOwner = () =>
  Promise.all([import("./owner.js"), import("./faults.js"), import("./server.js")]);
export const loadPage = () =>
  Promise.all([
    import("./service.js"),
    import("./access.js"),
    import("./first-operator.js"),
    import("./port.js"),
  ]);
