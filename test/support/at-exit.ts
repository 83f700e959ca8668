import type { ChildProcess } from "node:child_process";

const actions = new Set<() => void>();
process.once("exit", () => {
  for (const action of actions) action();
});

/** Runs `action` should this process end before the returned function was called. One listener, however many there are. */
export function atExit(action: () => void): () => void {
  actions.add(action);
  return () => actions.delete(action);
}

/** A test that dies leaves no program behind. */
export function endsWithThisProcess(child: ChildProcess): void {
  const done = atExit(() => child.kill("SIGKILL"));
  child.once("exit", done);
}
