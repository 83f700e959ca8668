import anyAscii from "any-ascii";
import { controllerTopicId as topicIdOf } from "../greenhouse/topic-ids.js";

/** The topic id of a controller that was given none: the bridge, `check` and the command line must mean the same one. */
export const controllerTopicId = (code: string): string => topicIdOf(code, anyAscii);
