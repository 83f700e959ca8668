// npm run replay -- FILE
// Plays a recording of `GREENHOUSE2MQTT_RECORD=FILE greenhouse2mqtt run` by the step of the book alone, and says where it does something
// else now. Exit code 1 where it does.
import { readFileSync } from "node:fs";
import { inspect } from "node:util";

const { replay } = await import(new URL("../dist-modules/commands/recording.js", import.meta.url));
const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error("usage: npm run replay -- FILE");
  process.exit(2);
}
const { steps, book, differences } = replay(readFileSync(file));
const mostShown = 5;
for (const { place, input, then, now } of differences.slice(0, mostShown))
  console.log(inspect({ place, input, then, now }, { depth: 8 }));
const counts = { steps, differences: differences.length, lanes: book.lanes.size, open: book.busy.size };
console.log(JSON.stringify(counts));
process.exit(differences.length === 0 ? 0 : 1);
