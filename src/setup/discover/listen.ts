import { anyOf } from "../../runtime/signals.js";
import { counted, msg, row, type Text } from "../../language/text.js";
import { likenessOf, seeAddress, type SeenAddress, valuesText } from "../../greenhouse/addresses-seen.js";
import { sameValue, textOf } from "../../greenhouse/actuator-kinds.js";
import type { Language } from "../../greenhouse/labels.js";
import { addressPattern } from "../../greenhouse/model.js";
import type { PlatformPush, PushChannel, PushNews, RawValue } from "../../greenhouse/ports.js";
import type { Clock } from "../../runtime/clock.js";
import { formatDuration } from "../../runtime/duration.js";
import { commentText } from "../../saving/yaml-text.js";
import { findingsOf } from "./findings.js";
import type { KnownFile } from "./given-file.js";
import type { DeviceSurvey, Survey } from "./survey.js";

export interface ListenParts {
  readonly platform: PlatformPush;
  readonly clock: Clock;
  /** Prints a line for the person who listens. */
  readonly say: (line: Text) => void;
  /** Null: until it is stopped. */
  readonly forMs: number | null;
  /** The language for names of what is known. */
  readonly language: Language;
  /** The zone of times such as `14:02:03`; the computer's own if absent. */
  readonly timeZone?: string;
}

const channels: readonly PushChannel[] = [{ type: "set-value" }, { type: "device-status" }];

/**
 * Listens to the platform's pushes while somebody moves things, and reports line by line. Resolves with the survey and
 * the values that each device pushed. Sends nothing. Ends after the time or with the signal; never rejects.
 */
export async function listenToAccount(
  survey: Survey,
  known: KnownFile,
  parts: ListenParts,
  stop: AbortSignal,
): Promise<Survey> {
  const ear = new AccountListener(survey, known, parts);
  const { clock, forMs, platform, say } = parts;
  const over = new AbortController();
  const signal = anyOf(stop, over.signal);
  const until =
    forMs === null
      ? msg`until you press Ctrl-C`
      : msg`for ${formatDuration(forMs)}, or until you press Ctrl-C`;
  say(
    msg`listening ${until}; nothing is sent. Move one thing after the other in the vendor's app, and note which one it was.`,
  );
  const listening = channels.map((channel) => platform.listen(channel, ear.listener(channel), anyOf(signal)));
  if (forMs !== null)
    clock.wait(forMs, signal).then(
      () => over.abort(),
      () => undefined,
    );
  await Promise.all(listening);
  for (const line of ear.summary()) say(line);
  return {
    ...survey,
    devices: survey.devices.map((one) => ({ ...one, heard: ear.heardOf(one.device.code) })),
  };
}

/** Collects what is heard, and reports it. */
class AccountListener {
  readonly #parts: ListenParts;
  readonly #devices: ReadonlyMap<string, DeviceSurvey>;
  readonly #known: KnownFile;
  readonly #names: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly #heard = new Map<string, Map<string, SeenAddress>>();
  readonly #closed = new Map<string, string>();
  readonly #opened = new Set<string>();

  constructor({ devices }: Survey, known: KnownFile, parts: ListenParts) {
    this.#parts = parts;
    this.#known = known;
    this.#devices = new Map(devices.map((one) => [one.device.code, one]));
    this.#names = new Map(devices.map((one) => [one.device.code, namesIn(one, parts.language)]));
    for (const one of devices) this.#heard.set(one.device.code, shownIn(one));
  }

  listener({ type }: PushChannel) {
    return {
      knows: (code: string) => this.#devices.has(code),
      onOpen: () => {
        this.#opened.add(type);
        this.#closed.delete(type);
      },
      news: (news: PushNews) => this.#hear(news),
      onLost: () => undefined,
      onClosed: (why: Text) => {
        if (this.#closed.get(type) !== String(why))
          this.#parts.say(msg`ws/${type} is not open: ${why}; it is tried again`);
        this.#closed.set(type, String(why));
      },
    };
  }

  #hear(news: PushNews): void {
    if (news.type !== "registers") return;
    for (const [address, raw] of news.values)
      if (addressPattern.test(address)) this.#hearAddress(news.code, address, raw);
  }

  #hearAddress(code: string, address: string, raw: RawValue): void {
    const { clock, say } = this.#parts;
    const heard = this.#heard.get(code);
    if (heard === undefined) return;
    const before = heard.get(address);
    // A number that lost its leading zeros is no change.
    if (before !== undefined && sameValue(before.values.at(-1) ?? "", textOf(raw))) {
      heard.set(address, { ...before, lastAt: clock.now() });
      return;
    }
    const now = seeAddress(before, code, address, raw, clock.now());
    heard.set(address, now);
    say(row`${this.#time()} ${commentText(code)} ${this.#what(code, address)}: ${this.#change(code, now)}`);
  }

  #what(code: string, address: string): Text {
    const name = this.#names.get(code)?.get(address);
    return name === undefined ? msg`address ${address}` : msg`${name} (address ${address})`;
  }

  #change(code: string, { address, values }: SeenAddress): Text {
    const change = commentText(valuesText(values.slice(-2)), 100);
    const isKnown =
      this.#names.get(code)?.has(address) === true ||
      this.#known.controllers.get(code)?.addresses.has(address) === true;
    return isKnown ? change : msg`${change}, looks like ${likenessOf(values).text}`;
  }

  #time(): string {
    const { clock, timeZone } = this.#parts;
    return new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", ...(timeZone && { timeZone }) }).format(
      clock.now(),
    );
  }

  /** Only what was pushed, without what the scan showed. */
  heardOf(code: string): readonly SeenAddress[] {
    return [...(this.#heard.get(code)?.values() ?? [])].filter(({ lastAt }) => lastAt > 0);
  }

  summary(): readonly Text[] {
    const all = [...this.#devices.keys()].flatMap((code) => this.heardOf(code));
    if (all.length > 0) {
      const codes = new Set(all.map(({ code }) => code));
      return [
        msg`heard ${counted(all.length, "address", "addresses")} of ${counted(codes.size, "controller", "controllers")}`,
      ];
    }
    if (this.#opened.size === 0)
      return [msg`no channel opened, so nothing could be heard; \`doctor\` says more (push.…)`];
    return [
      msg`nothing was heard: either nothing was moved meanwhile, or this platform does not push control parameters to this account`,
    ];
  }
}

/** The names that the scan gives to addresses. */
function namesIn(survey: DeviceSurvey, language: Language): ReadonlyMap<string, string> {
  const { actuators, parameters } = findingsOf(survey);
  return new Map(
    [...actuators, ...parameters].map(({ address, row }) => [
      address,
      language === "zh" ? row.zh : row.meaning,
    ]),
  );
}

/** The values of the scan, so that a first change can be shown with the value before it. */
function shownIn({ device: { code }, answers }: DeviceSurvey): Map<string, SeenAddress> {
  const values = [...answers.values()].flatMap((answer) => (answer.type === "values" ? answer.values : []));
  return new Map(
    values.map(([address, raw]) => [address, { ...seeAddress(undefined, code, address, raw, 0), lastAt: 0 }]),
  );
}
