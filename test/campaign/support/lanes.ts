import type { Lane } from "./world.js";

/** Every broker with both protocol versions, and the broker inside the bridge. */
export const lanes: readonly Lane[] = [
  { name: "mosquitto-5", broker: "Mosquitto", version: 5, credential: "token" },
  { name: "mosquitto-4", broker: "Mosquitto", version: 4, credential: "sign_in" },
  { name: "aedes-5", broker: "aedes", version: 5, credential: "sign_in" },
  { name: "aedes-4", broker: "aedes", version: 4, credential: "sign_in" },
  { name: "embedded-5", broker: "embedded", version: 5, credential: "token" },
];
