import { msg } from "../language/text.js";
import { shownController } from "./demo-view.js";
import { command, durationOf, result, shows, type Stage, type Step, tellStory } from "./storm.js";

/* A frost night for the demo: windows stand open, the stoves fail, the crop gets cold, and phones are notified. */

/** 17:00 of a clear January evening in Shandong. */
export const frostBegins = Date.UTC(2027, 0, 18, 9, 0);
/** A night in a few minutes. */
export const frostSpeed = 240;

const houses = "GH-";
const stove = "heating";
const stoveAddress = "320";
const stoveOff = "1001";
const windowAddress = "101";
const ajar = "30";

/** The demo's configuration with limits for the air of every greenhouse. */
export function withFrost(text: string, speed: number): string {
  const delay = durationOf(300, speed);
  return `${text}alarms: { temperature: { low_low: 5, low: 6, deadband: 1, delay: ${delay} } }\n`;
}

/** Whether the air alarm of the first greenhouse has this state and severity. */
const coldAlarm = (state: string, severity?: string) =>
  shows(
    `alarm/reading_low.${shownController}.airtemp`,
    (alarm) => alarm?.["state"] === state && (severity === undefined || alarm["severity"] === severity),
  );

const story: readonly Step[] = [
  {
    tells: msg`A clear evening in January. A window of each greenhouse stands open, and all stoves fail.`,
    actions: [
      ({ control }) => {
        for (const code of control.codes().filter((one) => one.startsWith(houses))) {
          control.moveByHand(code, windowAddress, ajar);
          control.moveByHand(code, stoveAddress, stoveOff);
        }
      },
    ],
    until: [coldAlarm("active")],
  },
  {
    tells: msg`The air is below 6 °C: a warning of each greenhouse, and one message to each phone.`,
    actions: [],
    until: [coldAlarm("active", "error")],
  },
  {
    tells: msg`Below 5 °C the same alarm is an error. Anna reads it and turns her stove on for six hours.`,
    actions: [command(stove, "on", { for: "6h" })],
    until: [result(stove, "confirmed")],
  },
  {
    tells: msg`Her greenhouse gets warmer. The alarm clears at 7 °C, a degree inside of its limit.`,
    actions: [],
    until: [coldAlarm("cleared")],
  },
];

export const tellFrost = (stage: Stage, end: AbortSignal): Promise<void> =>
  tellStory(story, stage, end, msg`The frost night is over. The greenhouse lives on; Ctrl-C ends it.`);
