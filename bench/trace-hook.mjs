// Loaded into the traced program: answers each message of its parent with what ran since the last one.
import { Session } from "node:inspector";

/** The program's own modules, not those of a package with a folder of the same name. */
const root = new URL("../dist-modules/", import.meta.url).href;
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

process.on("message", (id) => {
  session.post("Profiler.takePreciseCoverage", (error, taken) => {
    const ours = (taken?.result ?? []).filter(({ url }) => url.startsWith(root));
    const calls = ours.flatMap(({ url, functions }) =>
      functions
        .map(({ functionName, ranges: [whole] }) => [url.slice(root.length), functionName, whole])
        .filter(([, , { count }]) => count > 0)
        .map(([file, name, { count, startOffset }]) => ({ file, name, at: startOffset, count })),
    );
    process.send({ id, calls });
  });
});
// The program ends by itself when it is told to, whether or not it is traced.
process.channel?.unref();
