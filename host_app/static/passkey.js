// Passkeys: a button with `data-passkey` ("create" or "get") asks the browser for one, with the
// options in `data-options`, puts what it says into the form's `answer`, and sends the form.
// Without scripts, or in a browser that knows no passkeys, there is no such button.

const able = window.PublicKeyCredential?.parseRequestOptionsFromJSON !== undefined;

async function ask(kind, options) {
  if (kind === "create") {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    return navigator.credentials.create({ publicKey });
  }
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return navigator.credentials.get({ publicKey });
}

for (const text of document.querySelectorAll("[data-passkey-missing]")) text.hidden = able;

for (const button of document.querySelectorAll("[data-passkey]")) {
  const form = button.form;
  button.hidden = !able;
  form.addEventListener("submit", async (event) => {
    if (event.submitter !== button) return;
    event.preventDefault();
    if (!form.reportValidity()) return;
    const problem = form.querySelector("[data-passkey-problem]");
    problem.hidden = true;
    try {
      const credential = await ask(button.dataset.passkey, JSON.parse(button.dataset.options));
      form.elements.answer.value = JSON.stringify(credential.toJSON());
      form.submit();
    } catch {
      // Cancelled, timed out, or not known to this device.
      problem.hidden = false;
      button.focus();
    }
  });
}
