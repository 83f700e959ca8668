import { textOf } from "./actuator-values.js";
import type { Parameter, Register } from "./model.js";
import { upheld } from "./register-fold.js";

/** Folds one read address in; a parameter that is a number is scaled, anything else is shown as it is. */
export function foldParameter(parameter: Parameter, address: string, register: Register): Parameter {
  const { settings, register: held } = parameter;
  if (settings.address !== address || (held !== null && register.startedAt < held.startedAt))
    return parameter;
  if (register.startedAt < (parameter.postedAt ?? -Infinity)) return parameter;
  const text = textOf(register.raw);
  const number = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : null;
  const value = number === null ? text : scaledParameter(number, settings.scale, settings.decimals);
  return { ...parameter, register: upheld(held, register), value };
}

function scaledParameter(number: number, scale: number, decimals: number | undefined): number {
  const exact = scale === 1 ? number : Number((number * scale).toPrecision(12));
  return decimals === undefined ? exact : Number(exact.toFixed(decimals));
}
