import { setTimeout as wait } from "node:timers/promises";
import WebSocket from "ws";

/**
 * Simulates browsers that watch these views of a bridge's page, at the port of its `http`; they count what they receive
 * and show nothing. None if nothing is served.
 */
export async function watchPage(http, viewers, views = ["overview"]) {
  let bytes = 0;
  const sockets = await Promise.all(
    Array.from({ length: http === false ? 0 : viewers }, async () => {
      const socket = await opened(`ws://127.0.0.1:${http.port}/api/live`);
      socket.on("message", (data) => (bytes += data.length));
      socket.send(JSON.stringify({ subscribe: ["bridge", "alarms", ...views] }));
      return socket;
    }),
  );
  const close = () => sockets.forEach((socket) => socket.terminate());
  return { bytes: () => bytes, close };
}

async function opened(url, tries = 100) {
  const socket = new WebSocket(url);
  const isOpen = await new Promise((resolve) => {
    socket.once("open", () => resolve(true));
    socket.once("error", () => resolve(false));
  });
  if (isOpen) return socket;
  if (tries === 0) throw new Error(`${url} does not answer`);
  await wait(100);
  return opened(url, tries - 1);
}
