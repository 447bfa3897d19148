// Pushes the form without leaving the page, and shows the receipt of the feed until searches find all of it.
const form = document.querySelector("form");
const shown = document.getElementById("receipt");
const FIRST_POLL_MS = 200;
const LONGEST_POLL_MS = 5000;

function show(lines) {
  shown.hidden = false;
  shown.textContent = lines.join("\n");
}

function describe(receipt) {
  const members = ["id", "datasource", "feedtype", "state", "records", "included", "errors", "received_at", "searchable_at"];
  const lines = members.map((name) => `${name}: ${receipt[name] ?? "…"}`);
  const log = receipt.log.map((entry) => `${entry.level}: ${entry.line ? `line ${entry.line}: ` : ""}${entry.reason}${entry.url ? ` (${entry.url})` : ""}`);
  return [...lines, ...(receipt.stuck ? [`stuck: ${receipt.stuck.queue}: ${receipt.stuck.reason ?? ""}`] : []), ...log];
}

async function follow(id) {
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * 1.5, LONGEST_POLL_MS)) {
    const response = await fetch(`/api/v1/feeds/${id}`);
    if (!response.ok) return;
    const receipt = await response.json();
    show(describe(receipt));
    if (receipt.finished_at && receipt.searchable_at) return;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  show(["…"]);
  try {
    const response = await fetch(form.action, { method: "POST", body: new FormData(form) });
    const id = response.headers.get("X-Feedmill-Feed");
    show([await response.text()]);
    if (response.ok && id) await follow(id);
  } catch (error) {
    show([String(error)]);
  } finally {
    button.disabled = false;
  }
});
