import { sameValue, textOf } from "./actuator-values.js";
import type { Register } from "./model.js";

/**
 * A read from the platform's memory that agrees with what the device itself gave leaves the device's word standing: a later
 * one that differs may still be older than it and has to be asked again.
 */
export const upheld = (held: Register | null | undefined, register: Register): Register =>
  held?.fresh === true && !register.fresh && sameValue(textOf(held.raw), textOf(register.raw))
    ? { ...register, fresh: true }
    : register;
