/*
 * The result of a command, word for word as it is published: the journal keeps the published form, so that a result can
 * be found, repeated and shown without being made again.
 */
export {
  outcomes,
  stepPurposes,
  type CommandResult,
  type Outcome,
  type StepPurpose,
  type StepReport as ResultStep,
  type Via,
} from "../greenhouse/command/outcomes.js";
