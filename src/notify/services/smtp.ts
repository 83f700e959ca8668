import { msg } from "../../language/text.js";
import { isLoopback } from "../../runtime/sockets.js";
import {
  choice,
  expecting,
  flag,
  list,
  optional,
  required,
  section,
  text,
  whole,
  withDefault,
  writtenText,
} from "../../settings/values.js";
import { loginErrors, secretExample, service } from "../service.js";

const mailAddress = () =>
  writtenText(
    msg`a mail address such as house@example.com`,
    /^(?:[^\s<>@]+@[^\s<>@]+|[^<>\r\n]{1,100} <[^\s<>@]+@[^\s<>@]+>)$/,
  );

export const smtp = service({
  key: optional(
    section({
      host: required(
        text(msg`a host name or address`, /^[A-Za-z0-9._:[\]%-]{1,253}$/),
        "The mail server.",
        "mail.example.com",
      ),
      port: withDefault(whole(1, 65_535), 587, "Mostly 587 with starttls, 465 with tls."),
      encryption: withDefault(
        choice(["starttls", "tls", "none"]),
        "starttls",
        "starttls: encrypted before anything is said, or not sent; tls: from the first byte.",
      ),
      reject_unauthorized: withDefault(flag(), true, "Refuse a server whose certificate cannot be verified."),
      username: optional(writtenText(), "Its login, where it asks for one.", "house@example.com"),
      password: optional(writtenText(), "Its password.", secretExample("smtp_password")),
      from: required(mailAddress(), "Who writes.", "house@example.com"),
      to: required(
        list(mailAddress()).min(1, { error: expecting(msg`at least one mail address`) }),
        "Who gets it.",
        "[anna@example.com]",
      ),
    }),
    "Or a mail.",
    { off: true },
  ),
  errors: loginErrors,
  messenger: (mail) => ({
    name: "mail",
    mail,
    private: { hosts: [mail.host], users: [mail.username, mail.from, ...mail.to] },
    doubts: [
      ...(mail.encryption === "none" && !isLoopback(mail.host)
        ? ([["encryption", msg`messages and the login travel unencrypted`]] as const)
        : []),
      ...(mail.reject_unauthorized
        ? []
        : ([["reject_unauthorized", msg`the mail server's certificate is not verified`]] as const)),
    ],
  }),
});
