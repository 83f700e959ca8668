import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";

/* A network of its own with nothing but a loopback, as the processes of one check share it; ports are always free there. */

/** What Docker leaves a container that drops nothing. */
export const dockersCapabilities = [
  ...["chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap", "net_bind_service"],
  ...["net_raw", "sys_chroot", "mknod", "audit_write", "setfcap"],
];

export async function createPod() {
  const holder = spawn("unshare", [
    "--net",
    "sh",
    "-c",
    "ip link set lo up && echo up && exec sleep infinity",
  ]);
  await once(holder.stdout, "data");
  const inside = (command) => ["nsenter", `--net=/proc/${holder.pid}/ns/net`, "--", ...command];
  const children = [];
  return {
    /** Starts a process there; `printed` waits for its output. */
    start(command, options = {}) {
      const [program, ...args] = inside(command);
      const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
      const state = { output: "", changed: () => undefined };
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk) => {
          state.output += chunk;
          state.changed();
        });
      const ended = once(child, "close").then(([code]) => {
        state.changed();
        return code;
      });
      children.push(child);
      return {
        child,
        ended,
        output: () => state.output,
        printed: (pattern, timeoutMs = 30_000) =>
          new Promise((found, failed) => {
            const fail = (why) => failed(new Error(`${why} without ${pattern}:\n${state.output}`));
            const late = setTimeout(() => fail(`${timeoutMs} ms went by`), timeoutMs);
            state.changed = () => {
              const match = pattern.exec(state.output);
              if (match === null && child.exitCode === null) return;
              clearTimeout(late);
              if (match === null) fail(`${command[0]} ended`);
              else found(match);
            };
            state.changed();
          }),
      };
    },
    /** Runs a command there to its end. */
    run(command, options = {}) {
      const [program, ...args] = inside(command);
      return spawnSync(program, args, { encoding: "utf8", timeout: 60_000, ...options });
    },
    async close() {
      for (const child of [...children, holder].filter(
        (one) => one.exitCode === null && one.signalCode === null,
      )) {
        const gone = once(child, "exit");
        child.kill("SIGKILL");
        await gone;
      }
    },
  };
}

/** A command as a container would run it: in its root, as its user, with these capabilities and no way to more. */
export function contained(stage, command, { user, capabilities }) {
  const environment = Object.entries({ PATH: process.env.PATH, HOME: "/tmp", ...stage.env });
  const bounding = ["-all", ...capabilities.map((name) => `+${name}`)].join(",");
  return [
    ...[
      "chroot",
      stage.root,
      "setpriv",
      `--reuid=${user}`,
      `--regid=${user}`,
      "--clear-groups",
      "--no-new-privs",
    ],
    ...["--inh-caps=-all", `--bounding-set=${bounding}`],
    ...["env", "--ignore-environment", ...environment.map(([name, value]) => `${name}=${value}`)],
    ...["sh", "-c", 'cd "$0" && exec "$@"', stage.cwd, ...command],
  ];
}
