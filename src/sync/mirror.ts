import { bestEffortFile, type TextFile } from "../runtime/file-system.js";
import { suggestion } from "../runtime/similar-words.js";
import type { CoreConfiguration } from "../settings/sections/core.js";
import { ownerOf } from "../greenhouse/command/words.js";
import {
  contradictionRemedy,
  type ParameterGroup,
  takesCommands,
  typeName,
} from "../greenhouse/device-types.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Freshness } from "../greenhouse/freshness.js";
import type { Controller } from "../greenhouse/model.js";
import type { PlatformReader } from "../greenhouse/ports.js";
import type { Transliterate } from "../greenhouse/topic-ids.js";
import type { Clock, Random } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { AddressesSeen } from "./addresses-seen.js";
import type { PlatformWatch } from "./hosts.js";
import { Inventory, type InventoryNews, isAdded } from "./inventory.js";
import { guardInputs, shownBy } from "./poll-plan.js";
import { Poller } from "./poller.js";
import { PollTroubles } from "./poll-troubles.js";
import type { Compared } from "./read-comparison.js";
import type { RequestBudget } from "../runtime/schedule.js";
import { mirrorSettings } from "./settings.js";
import { GreenhouseStore } from "./store.js";

/** The parts that ask the platform and hold what it showed. */
export interface Mirror {
  readonly store: GreenhouseStore;
  readonly inventory: Inventory;
  readonly poller: Poller;
  readonly watch: PlatformWatch;
  readonly budget: RequestBudget;
  readonly seen: AddressesSeen;
}

interface MirrorParts {
  readonly configuration: Pick<
    CoreConfiguration,
    "mirror" | "controllers" | "polling" | "commands" | "platform" | "kinds" | "running_status" | "alarms"
  >;
  /** The platform for polling. */
  readonly platform: PlatformReader & { readonly budget: RequestBudget };
  /** Hears from the platform's client how its hosts answer. */
  readonly watch: PlatformWatch;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly transliterate: Transliterate;
  /** Keeps absent controllers over restarts; without it they count from zero. */
  readonly absences?: TextFile;
  /** Keeps pushed addresses that belong to nothing; without it they are learned again. */
  readonly seenAddresses?: TextFile;
  readonly onEvent: (event: BridgeEvent) => void;
}

export function createMirror(parts: MirrorParts): Mirror {
  const { configuration, clock, random, log, platform, watch } = parts;
  const settings = mirrorSettings(configuration);
  const store = new GreenhouseStore(settings, clock, parts.transliterate);
  const { polling } = configuration;
  const longestGapMs = () => polling.controllers * poller.stretch * intervalsUntilStale;
  const absences = keptIn(parts.absences, log, absencesNotKept);
  const inventory = new Inventory(store, longestGapMs, absences);
  const troubles = new PollTroubles(
    log,
    () => clock.monotonic(),
    (host) => watch.isAway(host),
  );
  const poller: Poller = new Poller(
    {
      intervals: polling,
      concurrency: configuration.platform.concurrency,
      requestsPerMinute: configuration.platform.requests_per_minute,
      random,
      guardInputs: guardInputs(settings.controllers.values()),
      showsVideos: [...settings.controllers.values()].some(
        ({ stream, ignore }) => stream === true && !ignore,
      ),
      onStretch: stretchListener(polling, { store, watch, log }),
      onUnlisted: (code, group, addresses) => warnOfUnlisted(store.get(code), group, addresses, log),
      onApart: (found) => tellOfApart(store.get(found.code), found, parts),
    },
    { platform, store, inventory, clock },
    platform.budget,
    troubles,
  );
  followWatch(parts, store, poller);
  inventory.onNews(newsLogger(parts, store));
  inventory.onNews((news) => followNews(news, poller));
  followRawAddresses(store, poller);
  warnOfTypes(store, log);
  warnOfAbsentSensors(store, log);
  for (const { code, ignore } of settings.controllers.values()) if (!ignore) store.admit(code);
  return { store, inventory, poller, watch, budget: platform.budget, seen: addressesSeen(parts, store) };
}

const keptIn = (file: TextFile | undefined, log: Logger, trouble: string): TextFile =>
  bestEffortFile(file, (error) => log.warn({ reason: String(error) }, trouble));

const addressesSeen = (
  { seenAddresses, clock, log, onEvent }: MirrorParts,
  store: GreenhouseStore,
): AddressesSeen => new AddressesSeen(store, clock, keptIn(seenAddresses, log, addressesNotKept), onEvent);

const absencesNotKept = "which controllers are absent cannot be kept; a restart counts that anew";
const addressesNotKept = "addresses learnt from what is pushed cannot be kept; a restart learns them anew";

function followWatch(parts: MirrorParts, store: GreenhouseStore, poller: Poller): void {
  const { watch } = parts;
  watch.onReachable((reachable, answers) => store.setReachable(reachable, answers));
  watch.onHost((host, reachable) => poller.hostReachable(host, reachable));
  watch.onDoubt((host, request) => poller.askAnother(host, request));
  watch.onCredential(() => poller.credentialRenewed());
  watch.onMixedUp(mixUpListener(parts, store, poller));
}

/** The shortest time between two reports of a server that answers twice. */
const mixUpAgainMs = 600_000;

/** Marks readings that may belong to another request as uncertain until they are read again. */
function mixUpListener(
  { log, clock }: Pick<MirrorParts, "log" | "clock">,
  store: GreenhouseStore,
  poller: Poller,
): (request: string, code: string | undefined) => void {
  let toldAt = -Infinity;
  return (request, code) => {
    const what = shownBy.get(request);
    if (what !== undefined && code !== undefined) store.dispatch(code, { type: "doubted", what });
    poller.readAnew(request, code);
    if (clock.monotonic() - toldAt < mixUpAgainMs) return;
    toldAt = clock.monotonic();
    log.warn(
      { request, controller: code },
      "the platform's server, or something on the way, answers what nobody asked for: what was read over that connection is uncertain and read anew, and for an hour each request has a connection of its own",
    );
  };
}

function followNews(news: InventoryNews, poller: Poller): void {
  if (news.type === "removed") poller.forget(news.code);
  if (news.type === "doubted") poller.readSoon({ kind: "connection", code: news.code }, 0, null);
  if (news.type === "settled") poller.spareConnection(news.code);
  if (isAdded(news)) poller.follow(news.code);
}

/** Logs news of the inventory. Many sites have too many controllers to name each at every start. */
function newsLogger(
  { log, clock, onEvent }: Pick<MirrorParts, "log" | "clock" | "onEvent">,
  store: GreenhouseStore,
): (news: InventoryNews) => void {
  const logCounts = countsLogger(store, log, clock);
  return (news) => {
    if (news.type === "listed") logCounts();
    if (news.type === "account_empty")
      onEvent({ type: "account_empty", severity: "warning", message: accountEmpty, at: clock.now() });
    if (!("name" in news)) return;
    const isGone = news.type === "removed" || news.type === "absent";
    log[isGone ? "info" : "debug"]({ controller: news.code }, `controller ${news.type}: ${news.name}`);
    const controller = news.type === "removed" ? undefined : store.get(news.code);
    if (controller) logActuators(log, controller);
  };
}

const accountEmpty =
  "The platform lists no controllers at all; nothing is removed. Check the account and the rights of its token.";

/** The lists of a start come one by one within this time. */
const listsMs = 1_000;

/**
 * Logs the number of mirrored things soon after lists changed it: once for the lists of a start, and not a line for
 * each thing, as large sites have too many.
 */
export function countsLogger(
  store: Pick<GreenhouseStore, "controllers">,
  log: Logger,
  clock: Pick<Clock, "after">,
): () => void {
  let logged = "";
  let isDue = false;
  const tell = () => {
    isDue = false;
    const controllers = [...store.controllers()];
    const actuators = controllers.reduce((sum, one) => sum + one.actuators.size, 0);
    const counts = `${countOf(controllers.length, "controller")} with ${countOf(actuators, "actuator")}`;
    if (counts === logged) return;
    logged = counts;
    log.info({ controllers: controllers.length, actuators }, `mirroring ${counts}`);
  };
  return () => {
    if (!isDue) clock.after(listsMs, tell);
    isDue = true;
  };
}

const countOf = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

/** Logs a line for each actuator of a found controller. */
export function logActuators(log: Logger, { info, actuators }: Controller): void {
  for (const { settings } of actuators.values()) {
    const { id, kind, address, readOnly } = settings;
    const about = { controller: info.id, actuator: id, kind, address };
    log.debug(about, `actuator found${readOnly ? ", read-only" : ""}: ${info.id}/${id}`);
  }
}

/**
 * Warns once about actuators that contradict the platform's type of their device; contradictions of type_id are
 * reported from the configuration.
 */
function warnOfTypes(store: GreenhouseStore, log: Logger): void {
  store.onChange(
    (before, after) => {
      const type = after?.info.type ?? null;
      if (after === undefined || type === null || before?.info.type === type || takesCommands(type)) return;
      for (const { settings, contradiction: why } of after.actuators.values()) {
        if (why === null) continue;
        const about = { controller: after.info.code, actuator: settings.id };
        log.warn(
          about,
          `actuator ${settings.id} cannot be commanded: ${why}; ${String(contradictionRemedy)}`,
        );
      }
    },
    ["info"],
  );
}

/**
 * Warns about an address that the answer of its group lacks: it costs a request of its own, and its purpose may be
 * wrong.
 */
export function warnOfUnlisted(
  controller: Controller | undefined,
  group: ParameterGroup,
  addresses: readonly string[],
  log: Logger,
): void {
  if (controller === undefined) return;
  const named = addresses.map(
    (address) => `${address} (${String(ownerOf(controller, address) ?? "unknown")})`,
  );
  log.warn(
    { controller: controller.info.code, type_id: group, addresses },
    `what the platform lists for ${String(typeName(group))} of ${controller.info.id} does not hold the ${unlistedRemedy(named)}`,
  );
}

/**
 * Reports two differing reads. Nothing shows which one is right, but a request to the device is the better evidence.
 */
function tellOfApart(
  controller: Controller | undefined,
  { address, group, value }: Compared,
  { log, clock, onEvent }: Pick<MirrorParts, "log" | "clock" | "onEvent">,
): void {
  if (controller === undefined) return;
  const { code, id } = controller.info;
  const owner = ownerOf(controller, address) ?? "unknown";
  const message = `Address ${address} of ${id} (${String(owner)}) is ${String(group)} by set-value/flush and ${String(value)} by get-value, for longer than it travels: get-value is used for it from now on. Leave its type_id out to read it so from the start.`;
  log.warn({ controller: code, address }, message);
  const facts = { controller: id, address, group: String(group), value: String(value) };
  onEvent({ type: "reads_differ", severity: "warning", message, at: clock.now(), facts });
}

const unlistedRemedy = (named: readonly string[]): string =>
  named.length === 1
    ? `address ${named.join()}: it is read by itself (get-value), which costs a request each time; correct its type_id, or leave type_id out`
    : `addresses ${named.join(", ")}: they are read one by one (get-value), which costs a request each time; correct their type_id, or leave type_id out`;

const warnOfAbsentSensors = (store: GreenhouseStore, log: Logger): unknown =>
  store.onChange(
    (before, after) => {
      if (after && before?.layout.length === 0 && after.layout.length > 0) warnOfSensors(after, log);
    },
    ["layout"],
  );

/**
 * Warns about sensors whose `from` fits nothing: they have no topics, and the intended sensor has another id, so both
 * go unnoticed.
 */
export function warnOfSensors({ info, settings, sensors, layout }: Controller, log: Logger): void {
  const shown = layout.map(({ name, factor }) => name || (factor ?? ""));
  for (const { id, from, ignore } of settings?.sensors ?? []) {
    if (ignore || sensors.has(id)) continue;
    const hint = suggestion(from, shown) || `; it shows ${shown.slice(0, 20).join(", ")}`;
    log.warn({ controller: info.code, sensor: id }, `the platform shows no sensor "${from}"${String(hint)}`);
  }
}

/** Polls a raw address from the moment a command reads it back. */
function followRawAddresses(store: GreenhouseStore, poller: Poller): void {
  store.onChange(
    (before, after) => {
      if (after && (before?.addresses.size ?? 0) < after.addresses.size) poller.follow(after.info.code);
    },
    ["addresses"],
  );
}

/** How many effective intervals a reading may be old, and a list may cover, when the budget stretches them. */
const intervalsUntilStale = 3;

function freshnessFor(polling: CoreConfiguration["polling"], factor: number): Freshness {
  const floor = (intervalMs: number) => intervalMs * factor * intervalsUntilStale;
  const floorWhenStretched = (intervalMs: number) => (factor > 1 ? floor(intervalMs) : 0);
  return {
    staleAfterMs: polling.stale_after,
    sensorFloorMs: floorWhenStretched(polling.sensors),
    registerFloorMs: floorWhenStretched(polling.actuators),
    // Statuses change rarely and are asked for rarely; their lifetime is not configured.
    statusFloorMs: floor(polling.running_status),
  };
}

function stretchListener(
  polling: CoreConfiguration["polling"],
  { store, watch, log }: Pick<Mirror, "store" | "watch"> & { readonly log: Logger },
): (factor: number) => void {
  store.setFreshness(freshnessFor(polling, 1));
  return (factor) => {
    const stretched = factor > 1;
    store.setFreshness(freshnessFor(polling, factor));
    watch.onStretch(stretched);
    if (stretched) {
      log.warn(
        { sensors_every_s: Math.round((polling.sensors * factor) / 1000) },
        `the account needs ${factor.toFixed(1)} times the requests that platform.requests_per_minute allows; all intervals are stretched`,
      );
    } else log.info("the request budget is enough again; intervals are as configured");
  };
}
