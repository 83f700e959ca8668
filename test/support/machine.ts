import { createHook } from "node:async_hooks";

/** What Node calls requests to the disk and for a name: they come back when the machine has the time, not when a clock says so. */
const ofTheMachine = /^(FS|FILEHANDLE|GETADDRINFO)/;

/** Runs `work` and says what it asked of the machine meanwhile, in kinds; nothing, where all of it is simulated. */
export async function askedOfTheMachine(work: () => Promise<unknown>): Promise<readonly string[]> {
  const asked = new Set<string>();
  const hook = createHook({
    init: (_, type) => {
      if (ofTheMachine.test(type)) asked.add(type);
    },
  }).enable();
  try {
    await work();
  } finally {
    hook.disable();
  }
  return [...asked];
}
