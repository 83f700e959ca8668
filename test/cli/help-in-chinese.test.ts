import { describe, expect, it } from "vitest";
import { greenhouse2mqtt } from "./in-process.js";

/* What `--help` shows under a Chinese locale: no English but names, options, values and what a person types. */

const env = { LC_ALL: "zh_CN.UTF-8" };

/** Names that Chinese people write with Latin letters too. */
const names =
  /\b(?:greenhouse2mqtt|MQTT|Home Assistant|Node-RED|Node\.js|Docker|Mosquitto|NATS|Sparkplug|Lovelace|Prometheus|YAML|JSON|CSV|TLS|HTTPS?|URL|IP|QR|ID|ISO|GET|POST|API|SSH|DNS|UTF-8|BOM|GH-\d+|C|A|SCADA|Chromium|systemd|fleet|ntfy|topic|Ctrl-C|zh|en|schema|stderr|stdout)\b/g;

/** What is typed as it stands. */
const typed = [
  // The name of an argument before what it means.
  /^ {2}[a-z]+ {2,}/gm,
  /^\s*(?:用法：)?\s*greenhouse2mqtt .*$/gm,
  /`[^`]*`/g,
  /--?[a-z][a-z-]*(?:[ =](?:<[^>]+>|\[[^\]]+\]))?/g,
  /<[^>]+>|\[[^\]]+\]|\([a-z0-9 ,".-]+\)/g,
  /（(?:可选|默认)：[^）]*）/g,
  /\S*[/._]\S*/g,
  /"[^"]*"/g,
  /trace, debug, info, warn, error, fatal/g,
];

const latin = (text: string): readonly string[] =>
  typed
    .reduce((left, pattern) => left.replace(pattern, " "), text)
    .replace(names, " ")
    .split("\n")
    // A word alone is a value, such as `stop`; two in a row are English.
    .filter((line) => /[A-Za-z]{2,} +[A-Za-z]{2,}/.test(line))
    .map((line) => line.trim());

/** The first word of each line below a heading with commands. */
async function commands(): Promise<readonly string[]> {
  const { out } = await greenhouse2mqtt(["--help"], { env });
  return [...out.matchAll(/^ {2}([a-z]+)(?: |\|)/gm)].map(([, name = ""]) => name);
}

describe("--help in Chinese", async () => {
  const all = await commands();

  it("names the commands", () => expect(all.length).toBeGreaterThan(20));

  it.each([[""], ...all.map((name) => [name])])("of %s has no English sentence", async (name) => {
    const { out } = await greenhouse2mqtt([...(name === "" ? [] : [name]), "--help"], { env });
    const own = name === "" ? out.replace(/^ {2}[a-z]+(?:\|\S+)?.*? {2}/gm, "") : out;
    expect(latin(own.replace(new RegExp(`\\b(?:${all.join("|")})\\b`, "g"), " "))).toEqual([]);
  });
});
