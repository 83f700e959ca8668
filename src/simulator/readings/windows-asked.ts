import type { Trait } from "./trait.js";

export const windowsAsked: Trait = {
  text: "videos are listed for a `deviceCode` alone, and past weather for `deviceCode`, `startTime` and `endTime`",
  needs: {
    "video-data/list": ["deviceCode"],
    "weather-data/list": ["deviceCode", "startTime", "endTime"],
    "weather-data/avg": ["deviceCode", "startTime", "endTime"],
  },
};
