import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";

/* One stage of a Dockerfile, as an overlay over this machine's root file system: its steps see absolute paths. */

function run(program, args, options = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", ...options });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}\n${stdout}${stderr}`);
  return stdout;
}

export function createStage(folder) {
  for (const part of ["upper", "work", "root"]) mkdirSync(join(folder, part), { recursive: true });
  const root = join(folder, "root");
  const layers = `lowerdir=/,upperdir=${folder}/upper,workdir=${folder}/work`;
  run("mount", ["-t", "overlay", "overlay", "-o", layers, root]);
  run("mount", ["--bind", "/dev", `${root}/dev`]);
  run("mount", ["-t", "proc", "proc", `${root}/proc`]);
  run("mount", ["-t", "tmpfs", "tmpfs", `${root}/tmp`]);
  // The official Node image has this user; this machine may not, or under another name.
  if (spawnSync("chroot", [root, "id", "-u", "node"], { encoding: "utf8" }).stdout !== "1000\n") {
    run("chroot", [root, "groupadd", "--non-unique", "--gid", "1000", "node"]);
    run("chroot", [
      root,
      "useradd",
      "--non-unique",
      "--uid",
      "1000",
      "--gid",
      "1000",
      "--create-home",
      "node",
    ]);
  }
  return {
    root,
    upper: join(folder, "upper"),
    env: {},
    cwd: "/",
    user: "root",
    health: null,
    entrypoint: [],
    command: [],
  };
}

/** Does one step; answers what of it could not be done, or null. */
export function perform(stage, { name, text, words, list }, { context, stages }) {
  switch (name) {
    case "WORKDIR":
      stage.cwd = resolve(stage.cwd, text);
      mkdirSync(join(stage.root, stage.cwd), { recursive: true });
      return null;
    case "ENV":
      for (const word of words) stage.env[word.split("=")[0]] = word.slice(word.indexOf("=") + 1);
      return null;
    case "COPY":
      copy(stage, words, context, stages);
      return null;
    case "RUN":
      run("chroot", [stage.root, "sh", "-c", `cd ${stage.cwd} && ${text}`], {
        env: { ...process.env, HOME: "/root", ...stage.env },
      });
      return null;
    case "USER":
      stage.user = text;
      return null;
    case "HEALTHCHECK":
      stage.health = JSON.parse(text.slice(text.indexOf("CMD") + 3));
      return null;
    case "ENTRYPOINT":
      stage.entrypoint = list;
      return null;
    case "CMD":
      stage.command = list;
      return null;
    case "VOLUME":
    case "ARG":
    case "LABEL":
      return `${name} ${text}`;
    default:
      throw new Error(`the check knows no ${name}`);
  }
}

function copy(stage, words, context, stages) {
  const from = words.find((word) => word.startsWith("--from="))?.slice("--from=".length);
  const paths = words.filter((word) => !word.startsWith("--"));
  const target = paths.pop();
  const source = from === undefined ? context : stages.get(from).root;
  const destination = join(stage.root, resolve(stage.cwd, target));
  for (const path of paths) {
    const origin = join(source, path);
    if (!existsSync(origin)) throw new Error(`COPY ${path}: it is not in the build context`);
    const isFolder = statSync(origin).isDirectory();
    const into =
      !isFolder && (target.endsWith("/") || paths.length > 1)
        ? join(destination, basename(path))
        : destination;
    cpSync(origin, into, { recursive: true, verbatimSymlinks: true });
  }
}
