import { msg } from "../language/text.js";
import { idKey, list, map, optional, required, section, text, writtenText } from "../settings/values.js";

/*
 * The sections of actuators that are commanded together. Whether these exist and accept their commands is checked
 * between keys.
 */

const reference = /^\S(?:.*\S)?\/[a-z0-9_-]{1,64}$/;
const memberWords = msg`an actuator as controller/actuator, such as GH-0001/left_skylight`;

const group = section({
  name: optional(writtenText(), "Name to show; default: the id.", "Skylights"),
  members: required(
    list(text(memberWords, reference)),
    "Actuators, as `controller/actuator`.",
    "[GH-0001/left_skylight, GH-0001/right_skylight]",
  ),
});

export const groupsSection = map(idKey(), group);

const scene = section({
  name: optional(writtenText(), "Name to show; default: the id.", "Night"),
  commands: required(
    map(text(msg`${memberWords}, or group/skylights`, reference), writtenText()),
    "What each is sent.",
    "{ group/skylights: close, GH-0001/grow_light: off }",
  ),
});

export const scenesSection = map(idKey(), scene);
