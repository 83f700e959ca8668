import { msg, type Text } from "../../language/text.js";
import type { Refusal } from "./outcomes.js";

/** The values of a writable parameter: numbers as people write them, sent divided by `scale`, in whole digits. */
export interface NumberRange {
  readonly type: "number";
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly scale: number;
}

/** The values of a raw address: control values as the platform writes them. */
export interface RawText {
  readonly type: "raw";
}

export interface Setpoint {
  /** Canonical text of the command. */
  readonly text: string;
  /** The value for the platform. */
  readonly value: string;
}

const setpointRefusal = (reason: Refusal["reason"], message: Text): Refusal => ({ reason, message });

/** Allows the many decimals of binary sums: automations send 0.1 + 0.2. */
const plainDecimal = /^-?(0|[1-9]\d*)(\.\d{1,20})?$/;
/** Sums of decimal steps are not exact in binary. */
const stepTolerance = 1e-6;

/** The whole number that is sent for a value; below 0 nothing can be sent. */
export const digitsSent = (value: number, scale: number): number =>
  Math.round(Number((value / scale).toPrecision(12)));

/** Parses a number within the limits; the value to send is round(x / scale) in digits. */
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

/** Parses a value for a raw address; words have a meaning only for configured actuators. */
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
