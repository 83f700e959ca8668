// node troubled.mjs KIND BROKER_PORT
// The platform of an account of (p), which prints its port. From SIGUSR1 to SIGUSR2: `flood` sends a thousand commands
// a second to the account; `dead` closes its port. Other kinds of trouble are made within the program.
import { startRegisterPlatform } from "./register-platform.mjs";
import { Counter } from "./wire.mjs";

const [kind, broker] = process.argv.slice(2);
const code = `GH-${kind}`;
const platform = await startRegisterPlatform(code);
const sender = kind === "flood" ? await Counter.open(Number(broker), ["none"]) : null;
let [isOn, sent, began] = [false, 0, 0];

setInterval(() => {
  if (!isOn || sender === null) return;
  // Catches up after a late timer.
  for (; sent < performance.now() - began; sent += 1)
    sender.publish(
      `greenhouse/flood/${code.toLowerCase()}/actuator/fan/set`,
      sent % 2 === 0 ? "on" : "off",
      1,
    );
}, 10);

process.on("SIGUSR1", () => {
  [isOn, sent, began] = [true, 0, performance.now()];
  if (kind === "dead") platform.pause();
});
process.on("SIGUSR2", () => {
  isOn = false;
  if (kind === "dead") platform.resume();
});
console.log(`port ${new URL(platform.url).port}`);
