import type { ChildProcess } from "node:child_process";

const actions = new Set<() => void>();
process.once("exit", () => {
  for (const action of actions) action();
});

/** Runs `action` if this process ends before the returned function is called. All actions share one listener. */
export function atExit(action: () => void): () => void {
  actions.add(action);
  return () => actions.delete(action);
}

/** Kills the program if the test dies. */
export function endsWithThisProcess(child: ChildProcess): void {
  const done = atExit(() => child.kill("SIGKILL"));
  child.once("exit", done);
}
