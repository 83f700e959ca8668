import type { Trait } from "./trait.js";

export const channelsAsk: Trait = {
  text: "a push channel says nothing before a first message was sent to it",
};
