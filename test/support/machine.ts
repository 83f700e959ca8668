import { createHook } from "node:async_hooks";

/**
 * Node's names of requests to the disk and for host names, whose answers depend on the real machine, not on a clock.
 */
const ofTheMachine = /^(FS|FILEHANDLE|GETADDRINFO)/;

/** Runs `work` and returns the kinds of requests that it made to the real machine; empty if all of it is simulated. */
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
