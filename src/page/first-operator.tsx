import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Alert, Button, Field, saveSettings } from "./inputs.js";
import { get, isOpening, post } from "./live.js";
import type { PageAddress } from "./protocol.js";
import { errorSentence, type Sentence } from "./sentences.js";
import { t } from "./words.js";

/* The holder of the printed code becomes the first operator, and may open the page to phones. */

/** Every address of the bridge's computer, also after a change. */
const everyAddress = "0.0.0.0";

/** Saves where the page listens; returns why that failed, or null. */
async function openToPhones(): Promise<Sentence | null> {
  const problem = await saveSettings({ "http.host": everyAddress });
  return problem && { ...problem, text: `${t("first_by_hand")} ${problem.text}`.trim() };
}

const lookEveryMs = 1_000;

/** The page's address for a phone's camera, once it listens there. */
function PhoneEntrance() {
  const pageAddress = useSignal<PageAddress | null>(null);
  useEffect(() => {
    const timer = setInterval(() => {
      void get<PageAddress>("api/entrance").then(({ status, body }) => {
        if (status === 200 && body?.qr) pageAddress.value = body;
      });
    }, lookEveryMs);
    return () => clearInterval(timer);
  }, []);
  const known = pageAddress.value;
  return (
    <div class="first">
      {known?.qr ? (
        <figure class="qr">
          <img src={known.qr} alt={known.page} width="200" height="200" />
          <figcaption>
            {t("first_qr")} {known.page}
          </figcaption>
        </figure>
      ) : (
        <p role="status">{t("setup_busy")}</p>
      )}
      <Button class="primary" act={() => location.reload()}>
        {t("setup_next")}
      </Button>
    </div>
  );
}

export default function FirstOperator() {
  const said = useSignal<Sentence | null>(null);
  const isSaved = useSignal(false);
  const submit = async (form: HTMLFormElement) => {
    const { phones, ...fields } = Object.fromEntries(new FormData(form));
    const { status, body } = await post("api/first_operator", fields);
    if (status !== 204) {
      said.value = errorSentence(body);
      return;
    }
    if (phones === undefined) {
      location.reload();
      return;
    }
    // From now on somebody is logged in, which would close this dialogue.
    isOpening.value = true;
    said.value = await openToPhones();
    isSaved.value = said.value === null;
  };
  if (isSaved.value) return <PhoneEntrance />;
  return (
    <form
      class="first"
      onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      <p>{t("first_where")}</p>
      <div class="bar">
        <Field label={t("first_code")} name="code" autocomplete="one-time-code" required />
        <Field label={t("user_name")} name="username" autocomplete="username" required />
        <Field
          label={t("first_password")}
          name="password"
          type="password"
          required
          autocomplete="new-password"
        />
        <label class="shown">
          <input type="checkbox" name="phones" /> <span>{t("setup_phones")}</span>
        </label>
        <button type="submit" class="primary">
          {t("first_make")}
        </button>
      </div>
      <Alert said={said} />
    </form>
  );
}
