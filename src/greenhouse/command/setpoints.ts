import { msg, type Text } from "../../language/text.js";
import type { Refusal } from "./outcomes.js";

/** What a writable parameter takes: numbers as people write them, sent as whole digits of `scale`. */
export interface NumberRange {
  readonly type: "number";
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly scale: number;
}

/** What a raw address takes: a control value as the platform writes it. */
export interface RawText {
  readonly type: "raw";
}

export interface Setpoint {
  /** Canonical text of the command. */
  readonly text: string;
  /** What is sent to the platform. */
  readonly value: string;
}

const setpointRefusal = (reason: Refusal["reason"], message: Text): Refusal => ({ reason, message });

/** As many decimals as sums of decimals have in binary: 0.1 + 0.2 is what automations send. */
const plainDecimal = /^-?(0|[1-9]\d*)(\.\d{1,20})?$/;
/** Sums of decimal steps are not exact in binary. */
const stepTolerance = 1e-6;

/** The whole number a value is sent as; below 0 it cannot be sent. */
export const digitsSent = (value: number, scale: number): number =>
  Math.round(Number((value / scale).toPrecision(12)));

/** Reads a number within the limits; the value sent is round(x / scale) in digits. */
export function readNumberSetpoint(text: string, range: NumberRange): Setpoint | Refusal {
  const { min, max, step, scale } = range;
  if (!plainDecimal.test(text)) {
    return setpointRefusal(
      "bad_payload",
      msg`"${text.slice(0, 40)}" is not a plain number; send ${min} to ${max} such as ${min}, without leading zeros, exponent or unit.`,
    );
  }
  const number = Number(text);
  if (number < min || number > max)
    return setpointRefusal("out_of_range", msg`${text.slice(0, 40)} is outside ${min} to ${max}.`);
  const steps = (number - min) / step;
  if (Math.abs(steps - Math.round(steps)) > stepTolerance) {
    return setpointRefusal(
      "out_of_range",
      msg`${text.slice(0, 40)} lies between two steps; values go from ${min} to ${max} in steps of ${step}.`,
    );
  }
  const sent = digitsSent(number, scale);
  if (sent < 0)
    return setpointRefusal(
      "out_of_range",
      msg`${text.slice(0, 40)} would be sent as a negative value, which the platform has no digits for; check min and scale.`,
    );
  if (!Number.isSafeInteger(sent))
    return setpointRefusal(
      "out_of_range",
      msg`${text.slice(0, 40)} would be sent with more digits than can be exact; check max and scale.`,
    );
  return { text: String(Number(number.toPrecision(15))), value: String(sent) };
}

/** Reads a value for a raw address: what words mean there, only an actuator of the configuration says. */
export function readRawSetpoint(text: string): Setpoint | Refusal {
  if (/^\d{1,64}$/.test(text)) return { text, value: text };
  if (/^[a-z_][a-z_\d]*$/i.test(text))
    return setpointRefusal(
      "unknown_command",
      msg`A raw address knows no words such as "${text.slice(0, 40)}": send the control value in digits, or configure an actuator with values.`,
    );
  return setpointRefusal(
    "bad_payload",
    msg`A raw address takes one control value of at most 64 digits, such as 00000100.`,
  );
}
