import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import { nodeRedArguments } from "./install.mjs";

/* A real Node-RED with the flow of deploy/, seen through what its editor sees: debug nodes, and the inject button. */

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Waits until `find()` gives something else than undefined, asked again whenever `changed` calls. */
export function until(what, find, listeners, timeoutMs = 30_000) {
  return new Promise((resolve, reject) => {
    const look = () => {
      const found = find();
      if (found === undefined) return;
      stop();
      resolve(found);
    };
    const late = setTimeout(() => {
      stop();
      reject(new Error(`not within ${timeoutMs} ms: ${what}`));
    }, timeoutMs);
    const stop = () => {
      clearTimeout(late);
      listeners.delete(look);
    };
    listeners.add(look);
    look();
  });
}

/** `edit`: what is another in the text of the flow, such as its times. */
export async function startNodeRed({ brokerPort, file = "flow.json", edit = (text) => text }) {
  const folder = await mkdtemp(join(tmpdir(), "node-red-"));
  const port = await freePort();
  const args = await nodeRedArguments(folder, { flow: await flowFor(brokerPort, file, edit), port });
  const child = spawn(process.execPath, [process.env.NODE_RED, ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, HOME: folder },
  });
  let log = "";
  const listeners = new Set();
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      log += chunk;
      for (const listener of [...listeners]) listener();
    });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    }
    await rm(folder, { recursive: true, force: true });
  };
  const started = () => /Started flows/.exec(log) ?? undefined;
  const comms = await until("Node-RED starts its flow", started, listeners, 60_000)
    .then(() => listen(port))
    .catch(async (error) => {
      await stop();
      throw new Error(`${error.message}\n${log}`);
    });
  return {
    url: `http://127.0.0.1:${port}`,
    version: /Node-RED version: (\S+)/.exec(log)?.[1],
    log: () => log,
    ...comms,
    /** Presses the inject button, with other properties than the flow's where some are given. */
    press: async (properties = {}, button = "g2m-inject") => {
      const flow = JSON.parse(await readFile(join(folder, "flows.json"), "utf8"));
      const { props } = flow.find(({ id }) => id === button);
      const changed = props.map((one) =>
        one.p in properties ? { p: one.p, v: String(properties[one.p]), vt: "str" } : one,
      );
      const answer = await fetch(`http://127.0.0.1:${port}/inject/${button}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ __user_inject_props__: changed }),
      });
      if (!answer.ok) throw new Error(`Node-RED refused the inject: ${answer.status}`);
    },
    stop: async () => {
      comms.close();
      await stop();
    },
  };
}

/** The flow as it is shipped; only the broker's address is another. */
async function flowFor(brokerPort, file, edit) {
  const text = await readFile(new URL(`../../deploy/node-red/${file}`, import.meta.url), "utf8");
  const flow = JSON.parse(edit(text));
  return flow.map((node) =>
    node.type === "mqtt-broker" ? { ...node, broker: "127.0.0.1", port: String(brokerPort) } : node,
  );
}

/** What the debug nodes show, in order. */
async function listen(port) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/comms`);
  await once(socket, "open");
  const shown = [];
  const statuses = new Map();
  const listeners = new Set();
  socket.on("message", (data) => {
    for (const { topic, data: body } of [JSON.parse(data.toString())].flat()) {
      if (topic === "debug") shown.push({ from: body.name, msg: JSON.parse(body.msg) });
      else if (topic?.startsWith("status/")) statuses.set(topic.slice("status/".length), body);
      for (const listener of [...listeners]) listener();
    }
  });
  socket.send(JSON.stringify({ subscribe: "debug" }));
  socket.send(JSON.stringify({ subscribe: "status/#" }));
  return {
    shown,
    /** The first message of a debug node, from `mark` on, of which `test` holds. */
    see: (from, test, mark = 0, timeoutMs = 30_000) =>
      until(
        `the debug node "${from}" shows ${test}`,
        () => shown.slice(mark).find((one) => one.from === from && test(one.msg))?.msg,
        listeners,
        timeoutMs,
      ),
    status: (node, test) =>
      until(
        `the status of ${node} is ${test}`,
        () => (test(statuses.get(node) ?? {}) ? true : undefined),
        listeners,
      ),
    close: () => socket.terminate(),
  };
}
