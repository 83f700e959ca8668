import { secretValues } from "../../config/load.js";
import type { Configuration } from "../../config/schema.js";
import { brokerName } from "../../mqtt/connection/stream.js";
import { secretSpellings } from "../../runtime/redaction.js";
import { countOf, type Finding } from "./finding.js";
import type { Scene } from "./scene.js";

const longestId = 25;

/** `failed   token   what; remedy`, always one line. */
export function lineOf({ status, check, summary, remedy }: Finding): string {
  const text = remedy === undefined ? summary : `${summary}; ${remedy}`;
  return `${status.padEnd(8)} ${check.padEnd(longestId)} ${oneLine(text)}`;
}

/** `12 ok, 2 warnings, 1 failed, 3 not tried`. */
export function summaryOf(findings: readonly Finding[]): string {
  const { ok, warning, failed, skipped } = countOf(findings);
  return `${ok} ok, ${warning} ${warning === 1 ? "warning" : "warnings"}, ${failed} failed, ${skipped} not tried`;
}

export interface ReportFacts {
  readonly version: string;
  readonly node: string;
  readonly system: string;
  /** ISO time. */
  readonly at: string;
}

/** The whole report as one JSON document; `isStopped`: before everything was tried. */
export function jsonReport(facts: ReportFacts, findings: readonly Finding[], isStopped: boolean): string {
  const counts = countOf(findings);
  const checks = findings.map(({ check, status, summary, remedy }) => ({
    check,
    status,
    summary: oneLine(summary),
    remedy: remedy === undefined ? null : oneLine(remedy),
  }));
  return JSON.stringify({ ...facts, ok: counts.failed === 0 && !isStopped, counts, checks }, null, 2);
}

const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");

type PrivateText = readonly [kind: string, text: string];

/** What a configuration holds that says where it is, whose it is or how to get in. */
export function privateTexts(configuration: Configuration): readonly PrivateText[] {
  const { platform, mqtt, broker, http } = configuration;
  const hosts = [platform.business_url, platform.realtime_url, ...(mqtt.url === undefined ? [] : [mqtt.url])];
  const users = [mqtt.username, ...broker.users.map(({ username }) => username)];
  const paths = [configuration.data_dir, platform.token_file, mqtt.tls.ca, mqtt.tls.cert, mqtt.tls.key];
  const others = [mqtt.client_id, mqtt.base_topic].filter(
    (text) => text !== "greenhouse2mqtt" && text !== "greenhouse",
  );
  return [
    ...secretSpellings(secretValues(configuration)).map((text) => ["secret", text] as const),
    ...[...hosts.flatMap(spellings), broker.host, ...(http === false ? [] : [http.host])].map(
      (text) => ["host", text] as const,
    ),
    ...given(users).map((text) => ["user", text] as const),
    // `data` alone tells nothing, and stands in many a sentence.
    ...given(paths)
      .filter((text) => text.includes("/"))
      .map((text) => ["path", text] as const),
    ...others.map((text) => ["name", text] as const),
    ...Object.entries(configuration.controllers).flatMap(([code, section]) => controllerTexts(code, section)),
  ];
}

const given = (texts: readonly (string | null | undefined)[]): readonly string[] =>
  texts.filter((text): text is string => typeof text === "string" && text !== "");

/** `https://a.example:8443` as messages may write it. */
function spellings(address: string): readonly string[] {
  const { host, hostname, origin } = new URL(address);
  return [...new Set([address, origin, brokerName(address), host, hostname.replace(/^\[|\]$/g, "")])].filter(
    (text) => text !== "null" && text !== "the broker",
  );
}

function controllerTexts(
  code: string,
  section: Configuration["controllers"][string],
): readonly PrivateText[] {
  const { id, name, area, actuators, sensors, parameters } = section;
  const inner = [...Object.values(actuators), ...Object.values(sensors), ...Object.values(parameters)];
  return [
    ["controller", code],
    ...given([id, name, area, ...inner.map((one) => one.name)]).map((text) => ["name", text] as const),
  ];
}

/** Codes and names of the account itself. */
export function deviceTexts({ controllers, devices }: Scene["evidence"]): readonly PrivateText[] {
  return [...controllers, ...devices].flatMap(({ code, name, stationName, hls }): PrivateText[] => [
    ["controller", code],
    ...given([name, stationName]).map((text) => ["name", text] as const),
    ...given([hls]).map((text) => ["address", text] as const),
  ]);
}

/** Gives each text of a kind the same placeholder, numbered in the order of their first use. */
export interface Pseudonyms {
  /** The placeholder of this text. */
  of(kind: string, text: string): string;
  /** A text with every known one inside it replaced, longest first. */
  replaced(text: string): string;
}

/** `write`: how a placeholder looks, such as `<host-1>`. Texts of one character are only replaced where they stand alone. */
export function pseudonyms(write: (kind: string, number: number) => string): Pseudonyms {
  const known = new Map<string, string>();
  const counts = new Map<string, number>();
  let longestFirst: readonly (readonly [pattern: RegExp, text: string])[] | null = null;
  return {
    of: (kind, text) => {
      const before = known.get(text);
      if (before !== undefined) return before;
      const number = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, number);
      const placeholder = write(kind, number);
      known.set(text, placeholder);
      longestFirst = null;
      return placeholder;
    },
    replaced: (text) => {
      longestFirst ??= [...known.keys()]
        .filter((one) => one.length > 1)
        .sort((one, other) => other.length - one.length)
        .map((one) => [patternOf(one), one] as const);
      const whole = known.get(text);
      if (whole !== undefined) return whole;
      let clean = text;
      for (const [pattern, one] of longestFirst)
        if (pattern.test(clean)) clean = clean.replace(pattern, () => known.get(one) ?? "");
      return clean;
    },
  };
}

/** A name inside a longer word is another word; Chinese has no blanks between words, so there it counts anywhere. */
function patternOf(text: string): RegExp {
  const escaped = text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const before = /^[A-Za-z0-9]/.test(text) ? "(?<![A-Za-z0-9])" : "";
  const after = /[A-Za-z0-9]$/.test(text) ? "(?![A-Za-z0-9])" : "";
  return new RegExp(`${before}${escaped}${after}`, "gu");
}

/** What looks like an address of a machine or a person, whoever wrote it. */
const telling: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["address", /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>,;)]+/gi],
  ["mail", /[\w.+-]+@[\w-]+\.[\w.-]+/g],
  ["host", /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\d.])/g],
  ["host", /(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}(?![\w:])/gi],
  ["number", /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi],
];

/**
 * Makes findings fit for a bug report: hosts, codes, names, users, paths and secrets become placeholders that are the same
 * throughout one report.
 */
export function redactor({ configuration, evidence }: Scene, file: string): (finding: Finding) => Finding {
  const names = pseudonyms((kind, number) => `<${kind}-${number}>`);
  const learn = (texts: readonly PrivateText[]) => {
    for (const [kind, text] of texts) names.of(kind, text);
  };
  const clean = (text: string) =>
    telling.reduce(
      (left, [kind, pattern]) => left.replace(pattern, (found) => names.of(kind, found)),
      names.replaced(text),
    );
  learn(privateTexts(configuration));
  if (file.includes("/")) names.of("path", file);
  return ({ check, status, summary, remedy, foreign = [] }) => {
    learn(deviceTexts(evidence));
    for (const text of foreign) names.of("platform-text", text);
    return {
      check,
      status,
      summary: clean(summary),
      ...(remedy === undefined ? {} : { remedy: clean(remedy) }),
    };
  };
}
