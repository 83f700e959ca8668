import { useSignal } from "@preact/signals";
import { Button, Choice, Field } from "./inputs.js";
import type { ActuatorView } from "./protocol.js";
import { lengthText, t } from "./words.js";

/* Durations for water, heat, mist, CO2 and light. */

type Terms = Pick<ActuatorView, "for_s" | "at_most_s">;

const usualMinutes = [5, 10, 15, 20, 30];
const usualSeconds = [10, 20, 30, 60, 120, 240];
const daySeconds = 86_400;

/** How long a command without a time lasts; null if it goes on. */
export const configuredSeconds = ({ for_s: usual, at_most_s: most }: Terms): number | null => usual ?? most;

/** Below the least of the usual minutes, durations are given in seconds. */
const isShort = (of: Terms): boolean => (configuredSeconds(of) ?? daySeconds) < 300;

/** Durations offered as buttons, in seconds. */
const usualLengths = (of: Terms): readonly number[] =>
  (isShort(of) ? usualSeconds : usualMinutes.map((one) => one * 60)).filter(
    (one) => one <= (of.at_most_s ?? daySeconds),
  );

type Unit = "s" | "m";
const unitSeconds: Readonly<Record<Unit, number>> = { s: 1, m: 60 };

/** The number in the largest unit that keeps it whole. */
const splitLength = (seconds: number): readonly [text: string, unit: Unit] =>
  seconds % 60 === 0 ? [String(seconds / 60), "m"] : [String(seconds), "s"];

type LengthProps = Readonly<{
  name: string;
  of: Terms;
  what: string;
  isOff: boolean;
  /** `time` is empty for the configured duration, or for none. */
  act: (time: string) => unknown;
}>;

/**
 * Begins with the configured duration, left empty so that no other number stands there; without one, with some minutes.
 */
export function Length({ name, of, what, isOff, act }: LengthProps) {
  const configured = configuredSeconds(of);
  const longest = of.at_most_s ?? daySeconds;
  const text = useSignal(configured === null ? "20" : "");
  const unit = useSignal<Unit>(isShort(of) ? "s" : "m");
  const seconds = Number(text.value) * unitSeconds[unit.value];
  const isConfigured = text.value.trim() === "" && configured !== null;
  const isRight = isConfigured || (Number.isInteger(seconds) && seconds >= 1 && seconds <= longest);
  const choose = (one: number) => ([text.value, unit.value] = splitLength(one));
  return (
    <>
      <div class="bar">
        <span class="buttons">
          {configured === null ? null : (
            <Button aria-pressed={isConfigured} act={() => (text.value = "")}>
              {t("as_configured", { time: lengthText(configured) })}
            </Button>
          )}
          {usualLengths(of).map((one) => (
            <Button key={one} aria-pressed={!isConfigured && seconds === one} act={() => choose(one)}>
              {lengthText(one)}
            </Button>
          ))}
        </span>
        <Field
          label={t("length")}
          type="number"
          inputMode="decimal"
          min={0}
          max={longest / unitSeconds[unit.value]}
          step="any"
          bound={text}
        />
        <Choice
          label={t("unit")}
          bound={unit}
          options={[
            ["s", t("seconds")],
            ["m", t("minutes")],
          ]}
        />
      </div>
      <Button class="primary" disabled={isOff || !isRight} act={() => act(isConfigured ? "" : `${seconds}s`)}>
        {t("send_for", {
          what,
          name,
          time: isRight ? lengthText(isConfigured ? configured : seconds) : "–",
        })}
      </Button>
      {isRight || of.at_most_s === null ? null : <small>{t("at_most", { time: lengthText(longest) })}</small>}
      {configured === null ? (
        <Button disabled={isOff} act={() => act("")}>
          {t("send_endless", { what })}
        </Button>
      ) : null}
    </>
  );
}
