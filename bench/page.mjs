// (k) The cost of the page: memory and CPU without it, with it but no viewers, and with viewers; a sweep and commands
// with viewers.
import { setTimeout as wait } from "node:timers/promises";
import { measureCommands } from "./commands.mjs";
import { figure } from "./figures.mjs";
import { sampleMemory } from "./memory.mjs";
import { cpuSeconds, stop } from "./processes.mjs";
import { freePort, startBroker, startPlatform, startSettledBridge } from "./setup.mjs";
import { measureSweep } from "./sweep.mjs";
import { watchPage } from "./viewers.mjs";

async function measureOne(what, controllers, viewers, { samples, settleMs, seconds }) {
  const [broker, platform] = await Promise.all([startBroker(), startPlatform(controllers)]);
  const http = what === "off" ? false : { port: await freePort() };
  const child = await startSettledBridge(platform, broker, controllers, { measured: true, http });
  const watching = await watchPage(http, viewers);
  await wait(settleMs);
  const [cpuBefore, bytesBefore] = [cpuSeconds(child), watching.bytes()];
  await wait(seconds * 1000);
  const cpu = ((cpuSeconds(child) - cpuBefore) / seconds) * 100;
  const bytes = ((watching.bytes() - bytesBefore) / seconds) * 60;
  const { rss } = await sampleMemory(child, samples);
  watching.close();
  await Promise.all([stop(child), platform.stop(), broker.stop()]);
  return { what, controllers, viewers, cpu, rss, bytes };
}

/** `bare` of these figures is the bridge without its page. */
function figuresOf(off, { what, controllers, viewers, cpu, rss, bytes }) {
  const who = viewers > 0 ? `${viewers} viewers` : what === "off" ? "no page" : "nobody there";
  const name = (of) => `page, ${controllers} controllers, ${who}, ${of}`;
  return [
    figure("k", name("resident"), "MiB", rss.median, { bare: off.rss.median, range: rss }),
    figure("k", name("CPU"), "%", cpu, { bare: off.cpu }),
    ...(viewers > 0 ? [figure("k", name("sent to each"), "kB/min", bytes / viewers / 1000)] : []),
  ];
}

export async function measurePage({ sizes, viewers, rounds, commands, say, ...counts }) {
  const figures = [];
  for (const controllers of sizes) {
    const [off, ...others] = await Promise.all([
      measureOne("off", controllers, 0, counts),
      measureOne("on", controllers, 0, counts),
      measureOne("on", controllers, viewers, counts),
    ]);
    say(
      `page with ${controllers}: ${[off, ...others].map(({ rss }) => Math.round(rss.median)).join(", ")} MiB`,
    );
    for (const one of [off, ...others]) figures.push(...figuresOf(off, one));
  }
  const part = { viewers, part: "k", say };
  figures.push(...(await measureSweep({ ...part, controllers: 500, warmUp: 2, rounds })));
  figures.push(...(await measureCommands({ ...part, commands })));
  return figures;
}
