import { strict as assert } from "node:assert";
import { spawnSync } from "node:child_process";
import {
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { admitted, instructionsOf, stagesOf } from "./instructions.mjs";
import { contained, createPod, dockersCapabilities } from "./pod.mjs";
import { startSurroundings } from "./surroundings.mjs";
import { createStage, perform } from "./stage.mjs";

const work = mkdtempSync(join(tmpdir(), "dockerfile-"));
spawnSync("mount", ["-t", "tmpfs", "-o", "size=1500m", "tmpfs", work]);
const notDone = new Set();
const step = (text) => console.log(`  ${text}`);
const nobodyUser = 1000;

/** Performs every step; answers the last stage. */
function build(file, context, folder) {
  const stages = new Map();
  let last = null;
  for (const [at, { base, alias, steps }] of stagesOf(instructionsOf(file)).entries()) {
    notDone.add(
      `FROM ${base}: this machine's ${distribution()} with Node.js ${process.version} stood in for it`,
    );
    last = createStage(join(work, folder, String(at)));
    if (alias !== null) stages.set(alias, last);
    for (const one of steps) {
      const left = perform(last, one, { context, stages });
      if (left !== null) notDone.add(left);
    }
    step(`stage ${alias ?? "final"}: ${steps.length} steps`);
  }
  return last;
}

const distribution = () =>
  /^PRETTY_NAME="(.*)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "Linux";

/** What the image's own process may do, from the kernel's own account. */
function rightsOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const field = (name) => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1];
  return {
    uid: field("Uid"),
    effective: field("CapEff"),
    permitted: field("CapPrm"),
    noNewPrivileges: field("NoNewPrivs"),
  };
}

const withoutRights = {
  uid: "1000",
  effective: "0000000000000000",
  permitted: "0000000000000000",
  noNewPrivileges: "1",
};

async function health(pod, stage, wanted, as) {
  const end = Date.now() + 60_000;
  for (;;) {
    const { status } = pod.run(contained(stage, stage.health, as));
    if (status === wanted) return;
    if (Date.now() > end) throw new Error(`the HEALTHCHECK ends with ${status}, not with ${wanted}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** As with `docker run --read-only --cap-drop ALL`: only the volume can be written, by the image's user. */
function closeUp(stage, files) {
  const owner = ["-o", `uid=${nobodyUser},gid=${nobodyUser},mode=755`];
  spawnSync("umount", [`${stage.root}/tmp`]);
  spawnSync("mount", ["-t", "tmpfs", ...owner, "tmpfs", `${stage.root}/data`]);
  spawnSync("mount", ["-o", "remount,ro", stage.root]);
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(`${stage.root}/data/${name}`, text, { mode: 0o600 });
    chownSync(`${stage.root}/data/${name}`, nobodyUser, nobodyUser);
  }
}

function buildBridge() {
  const context = join(work, "context");
  mkdirSync(context);
  for (const path of admitted(".dockerignore")) cpSync(path, join(context, path), { recursive: true });
  const stage = build("Dockerfile", context, "bridge");
  const packages = readdirSync(join(stage.root, "app/node_modules"));
  assert.ok(packages.includes("mqtt") && !packages.includes("typescript"), packages.join(" "));
  assert.equal(stage.user, "node");
  return stage;
}

async function bridgeImage() {
  console.log("Dockerfile:");
  const stage = buildBridge();
  const pod = await createPod();
  const as = { user: nobodyUser, capabilities: [] };
  const inImage = (...command) => pod.run(contained(stage, command, as));
  try {
    const around = await startSurroundings(pod, stage, work);
    closeUp(stage, around.files);
    assert.match(inImage("touch", "/app/x").stderr, /Read-only file system/);
    const checked = inImage("greenhouse2mqtt", "check");
    assert.equal(checked.status, 0, checked.stdout + checked.stderr);
    const doctor = inImage("greenhouse2mqtt", "doctor");
    assert.match(doctor.stdout, /, 0 failed,/, doctor.stdout + doctor.stderr);
    step("check and doctor in the image find nothing wrong");
    const image = pod.start(contained(stage, [...stage.entrypoint, ...stage.command], as));
    await around.online();
    await health(pod, stage, 0, as);
    assert.deepEqual(rightsOf(image.child.pid), withoutRights);
    step("runs as uid 1000 without a capability on a read-only root file system; the HEALTHCHECK is content");
    const result = await around.move();
    assert.equal(result.outcome, "confirmed");
    step("a command of the user `operator` at Mosquitto with the shipped access list is confirmed");
    const journal = inImage("greenhouse2mqtt", "journal", "--json");
    assert.match(journal.stdout, new RegExp(result.id), journal.stderr);
    step("the command stands in the journal on the volume");
    await around.loseBroker();
    await health(pod, stage, 1, as);
    step("the HEALTHCHECK fails when the link to the broker is gone");
    await ends(image);
  } finally {
    await pod.close();
  }
}

async function ends(image) {
  image.child.kill("SIGTERM");
  assert.equal(await image.ended, 0, image.output());
  step("SIGTERM ends it with code 0");
}

async function homeAssistantApp() {
  console.log("deploy/home-assistant-addon/Dockerfile:");
  const context = join(work, "app");
  const assembled = spawnSync("bash", ["deploy/home-assistant-addon/assemble", context], {
    encoding: "utf8",
  });
  assert.equal(assembled.status, 0, assembled.stderr);
  const stage = build(join(context, "Dockerfile"), context, "addon");
  const pod = await createPod();
  try {
    const around = await startSurroundings(pod, stage, work);
    const supervisor = await around.supervisor();
    mkdirSync(`${stage.root}/data`, { recursive: true });
    writeFileSync(`${stage.root}/data/options.json`, JSON.stringify(around.options), { mode: 0o600 });
    stage.env = { ...stage.env, SUPERVISOR_URL: supervisor, SUPERVISOR_TOKEN: around.supervisorToken };
    const as = { user: 0, capabilities: dockersCapabilities };
    const image = pod.start(contained(stage, stage.command, as));
    await around.online();
    await health(pod, stage, 0, as);
    assert.deepEqual(rightsOf(image.child.pid), withoutRights);
    step("the options became a configuration; the bridge runs as uid 1000 without a capability, and healthy");
    assert.equal((await around.move()).outcome, "confirmed");
    step("a command to an actuator of the options is confirmed");
    await ends(image);
  } finally {
    await pod.close();
  }
}

try {
  await bridgeImage();
  await homeAssistantApp();
  console.log("dockerfile: not done here:");
  for (const one of notDone) step(one);
  step("layers, the image itself, and other architectures than this machine's");
} finally {
  spawnSync("umount", ["--recursive", "--lazy", work]);
  rmSync(work, { recursive: true, force: true });
}
