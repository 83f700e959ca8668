import type { Page } from "playwright-core";

/* English in a page that somebody reads in Chinese. */

/** Product names and units. */
const names =
  /\b(?:Home Assistant|Node-RED|greenhouse2mqtt|MQTT|JSON|YAML|CSV|CO2|PAR|VPD|EC|GH|WS|Docker Compose|Sparkplug B|Let's Encrypt|Bot API)\b/g;
const typed = [/connect E[A-Z]+/g, /`[^`]*`/g, /\S*[/._]\S*/g, /“[^”]*”/g, /[a-z]+[:=]\S*/g];

/** Lines with two words of Latin letters in a row; a word alone is a value. */
const english = (text: string): readonly string[] =>
  text.split("\n").filter((line) => {
    const left = [...typed, names].reduce((rest, pattern) => rest.replace(pattern, "·"), line);
    return /[A-Za-z]{2,} +[A-Za-z]{2,}/.test(left);
  });

/** What the program writes for programs: YAML, differences of a file, and lines of its log. */
const ofPrograms = 'pre, .log [lang="en"], .log .facts';

/** What stands on the page, what is only heard or pointed at too. */
export async function englishOn(page: Page): Promise<readonly string[]> {
  const text = await page.evaluate((without) => {
    const hidden = [...document.querySelectorAll("[title], [aria-label], [placeholder]")].flatMap((node) =>
      ["title", "aria-label", "placeholder"].flatMap((name) => node.getAttribute(name) ?? []),
    );
    const left = [...document.querySelectorAll<HTMLElement>(without)].filter((one) => one.checkVisibility());
    for (const one of left) one.style.display = "none";
    const shown = document.body.innerText;
    for (const one of left) one.style.display = "";
    return [shown, ...hidden].join("\n");
  }, ofPrograms);
  return english(text);
}
