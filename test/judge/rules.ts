/*
 * The rules of a right command, by the names under which planted bugs must be found. S: must never happen; L: must
 * happen in the end. S17 to S23 and L6 concern limits, which only the simulation judges (test/simulation/limits).
 */
export const rules = {
  S1: "one write is one POST, and a step has at most one second one: 5 s after an ambiguous end and a newer read that differs",
  S2: "a degree follows only its mode, and a light's value only its lead-in, once they were read back",
  S3: "a state shows only what a read returned",
  S4: "a POST belongs to a command that was taken by this run, may be sent, has not ended and is no repetition",
  S5: "a POST leaves only once its command is on disk",
  S6: "no POST leaves after the age of its command",
  S7: "a command has one result, which is journaled before it is published and says what happened",
  S8: "confirmed and already were shown by a fresh read, and the platform truly held the value",
  S10: "a state never goes back to an older value",
  S11: "POSTs to one actuator come one after the other, in their order, at their distance, and none after a stop",
  S12: "before its first POST a command has seen the controller online and its own address, and nothing begins after SIGTERM",
  S13: "there is one sign-in at a time, and the end of the program leaves no timer",
  S14: "only the value that was asked for is sent, to its address",
  S15: "no secret is in a result",
  S16: "a confirmed value is looked at again after its travel, and a flood hurts nobody but its own target",
  S17: "no POST against a guard, a lock or a hold",
  S18: "rest, reversal and starts per hour are kept",
  S19: "a lease is on disk before its POST, and ends in its time or is alarmed",
  S20: "an alarm is raised once and cleared once",
  S21: "what a guard sends goes out once each time it begins",
  S22: "an interlock is told where one kept a command back, and nowhere else",
  S23: "no more is said to be allowed than may be sent",
  S24: "one controller that does not answer holds up nobody else, and never a stop",
  S25: "a platform that answers is not unreachable, and what is said of it stands ten seconds",
  S26: "a host whose addresses were found once, or of which one leads there, is reached",
  L1: "every command ends, its result arrives, and the program runs",
  L2: "in the end every state is the truth",
  L3: "in the end no result waits",
  L4: "in the end every command is carried out",
  L5: "in the end nothing says that a command is on its way which is not",
  L6: "in the end no lease and no guard is left over",
} as const;

export type Rule = keyof typeof rules;
