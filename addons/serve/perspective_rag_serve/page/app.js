/* The page of `perspective-rag serve`: what is asked, what comes back, and what goes wrong. */

import { $, button, clean, counted, el, fill, say, show } from "./parts.js";
import { settleAnswer, showClaim, showMissing, showView } from "./result.js";
import {
  bodyOf,
  call,
  eventsOf,
  Failure,
  fragmentOf,
  MOST_TURNS,
  requestOf,
  sentence,
} from "./server.js";
import { showSides } from "./sides.js";

const ENDED = "The connection ended before the answer was complete. What had arrived is shown.";
const UNREACHED = "The server does not answer. Is it still running? Your question is kept here.";
const ENDINGS = { markdown: "md", html: "html", json: "json" };

const app = {
  about: { examples: [], model: null, review: false, longest_question: 500 },
  ready: null, // resolves when the corpus can be asked; null: not known
  request: null, // what was asked: question, perspectives, previous (oldest first), further; or null
  linked: null, // what a link asks for, until a person asks it
  reading: null,
  headline: "",
  stream: null, // the AbortController of the answer under way
  asked: [], // the questions of this tab: key (their address), question, follows (a follow-up)
};
const KEPT = 30; // questions

// ---- asking --------------------------------------------------------------------------------------

/** What is wrong with a question, or an empty text. */
function wrongWith(question) {
  const longest = app.about.longest_question;
  if (!question) return "Please write a question first.";
  if (question.length <= longest) return "";
  return `The question has ${question.length} characters; at most ${longest} can be asked.`;
}

/** Asks what stands in a field, or says beside it what is wrong. */
function askFrom(field, error, previous = null) {
  const question = field.value.trim();
  error.textContent = wrongWith(question);
  field.toggleAttribute("aria-invalid", Boolean(error.textContent));
  if (error.textContent) {
    field.focus();
    return false;
  }
  const linked = !previous && app.linked?.question === question ? app.linked : null;
  ask(linked ?? { question, perspectives: null, previous, further: null });
  return true;
}

function askNew(text) {
  $("question").value = text;
  grow($("question"));
  countCharacters();
  askFrom($("question"), $("question-error"));
}

function askFollowUp() {
  const field = $("follow-question");
  const previous = [...(app.request.previous ?? []), app.request.question].slice(-MOST_TURNS);
  if (askFrom(field, $("follow-error"), previous)) field.value = "";
}

const steps = {
  reading: showReading,
  result: showResult,
  claim: showClaim,
  answer: showAnswer,
  done: showDone,
};

/** Keeps a question in the list of those asked in this tab; a follow-up stands below its own. */
function remember(request) {
  const key = fragmentOf(request);
  if (!app.asked.some((each) => each.key === key)) {
    app.asked.push({ key, question: request.question, follows: Boolean(request.previous) });
  }
  app.asked = app.asked.slice(-KEPT);
  try {
    sessionStorage.setItem("asked", JSON.stringify(app.asked));
  } catch {
    // the list is kept in this page alone
  }
  showAsked(key);
}

function showAsked(current) {
  const list = app.asked.map(({ key, question, follows }) =>
    el(
      "li",
      { class: follows ? "follow" : null },
      el("a", { href: key, "aria-current": key === current ? "true" : null, dir: "auto" }, question),
    ),
  );
  const several = list.length > 1;
  fill($("history").querySelector("ol"), several && list);
  fill($("history").querySelector("summary"), `Asked so far (${list.length})`);
  $("history").hidden = !several;
}

function recall() {
  try {
    const kept = JSON.parse(sessionStorage.getItem("asked") ?? "[]");
    app.asked = kept.filter(({ key, question }) => key.startsWith("#") && question);
  } catch {
    app.asked = [];
  }
  showAsked(location.hash);
}

async function ask(request, { keepAddress = false } = {}) {
  app.stream?.abort();
  const stream = new AbortController();
  Object.assign(app, { stream, request, reading: null, headline: "" });
  app.linked = null;
  if (!keepAddress) history.pushState({ asked: true }, "", fragmentOf(request));
  remember(request);
  startResult();
  try {
    app.ready ??= whenReady();
    await Promise.race([app.ready, stopped(stream.signal)]);
    if (stream !== app.stream) return;
    showStage("Searching for every side …", true);
    await follow(stream);
  } catch (error) {
    if (stream === app.stream) explain(error);
  }
  if (stream === app.stream) settle();
}

/** Fails when the answer is stopped. */
const stopped = (signal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

/** Shows the events of the answer as they come; raises Failure where the last one is missing. */
async function follow(stream) {
  const options = { signal: stream.signal, accept: "text/event-stream" };
  const response = await call("/api/ask", bodyOf(app.request), options);
  let finished = false;
  for await (const [name, data] of eventsOf(response)) {
    if (stream !== app.stream) return;
    if (name === "error") throw new Failure(sentence(data.message));
    finished ||= name === "done";
    steps[name]?.(data);
  }
  if (!finished) throw new Failure(ENDED);
}

/** Says what happened in a sentence a person understands, with a way on. */
function explain(error) {
  if (error.name === "AbortError") {
    showStage("Stopped", false);
    say("Stopped.");
    return;
  }
  app.ready = null; // another server may be there when it is tried again
  showStage("Not finished", false);
  showNotice(messageOf(error, app.reading ? ENDED : UNREACHED));
}

const messageOf = (error, otherwise = UNREACHED) =>
  error instanceof Failure ? error.message : otherwise;

function showNotice(message) {
  const again = app.request && button("Try again", () => ask(app.request, { keepAddress: true }));
  fill($("notice"), el("p", {}, message), again);
  $("notice").hidden = false;
  $("notice").scrollIntoView({ block: "nearest" });
}

// ---- an answer, step by step ---------------------------------------------------------------------

function startResult() {
  const { question, previous } = app.request;
  document.body.classList.add("asked");
  grow($("question")); // its letters are smaller now
  document.title = `${clean(question)} · every side`;
  show($("asked"), question);
  $("asked").title = clean(question); // a long one is cut after two lines
  show($("follows"), previous && `Follows: ${previous.join(" › ")}`);
  for (const id of ["reading", "body", "spent", "stands"]) fill($(id));
  for (const id of ["headline", "caution"]) show($(id), "");
  for (const id of ["notice", "foot"]) $(id).hidden = true;
  $("result").hidden = false;
  showStage("Waiting for the passages …", true);
  $("asked").focus({ preventScroll: true });
  $("result").scrollIntoView({ block: "nearest" });
}

function showStage(text, busy) {
  $("stage").textContent = text;
  $("result").classList.toggle("busy", busy);
  $("stop").hidden = !busy;
  if (busy) say(text);
}

function settle() {
  $("result").classList.remove("busy");
  $("stop").hidden = true;
  settleAnswer();
}

/** How the question was read; told again where more becomes known of it. */
function showReading(reading) {
  const before = JSON.stringify([app.reading?.text, app.reading?.perspectives]);
  app.reading = reading;
  show($("asked"), reading.question);
  show($("caution"), reading.caution);
  if (before === JSON.stringify([reading.text, reading.perspectives])) return;
  showSides(reading, (perspectives) => ask({ ...app.request, perspectives, further: null }));
}

function showResult(view) {
  app.headline = view.headline;
  show($("caution"), view.caution || app.reading?.caution);
  showView(view, {
    claims: app.about.model ? 3 : 2,
    review: app.about.review ? review : null,
    searchFurther: (side) => ask({ ...app.request, further: side.text }, { keepAddress: true }),
  });
  $("foot").hidden = false;
  showStage("Writing the answer …", true);
  say(view.headline);
  const searched = view.sides.findIndex(({ text }) => text === app.request.further);
  if (searched >= 0) $(`side-${searched}`).focus();
}

function showAnswer({ summary, missing }) {
  if (!app.headline) show($("headline"), summary);
  showMissing(missing ?? []);
}

function showDone({ seconds, searches, degradations }) {
  const failed = degradations.length
    ? `; ${counted(degradations.length, "part")} failed, see below`
    : "";
  showStage(
    `Answered in ${seconds < 0.1 ? "less than 0.1" : seconds.toFixed(1)} s, ${counted(searches, "search", "searches")}${failed}`,
    false,
  );
  fill(
    $("spent"),
    degradations.map((text) =>
      el("p", { class: "degraded" }, `A part failed, the rest went on without it. ${text}`),
    ),
  );
  say(`The answer is complete. ${app.headline}`);
}

async function review(card, side, pressed) {
  const { question } = app.reading;
  pressed.disabled = true;
  try {
    await call("/api/review", {
      question,
      perspective: side.text,
      passage_id: card.id,
      verdict: "wrong side",
    });
    const noted = el("span", { class: "noted", tabindex: "-1" }, "Noted for review");
    pressed.replaceWith(noted);
    noted.focus();
    say("Noted for review. Thank you.");
  } catch (error) {
    pressed.disabled = false;
    showNotice(messageOf(error));
  }
}

// ---- keeping a result ----------------------------------------------------------------------------

async function save(format, pressed) {
  pressed.disabled = true;
  try {
    const response = await call(
      "/api/export",
      { ...bodyOf(app.request), format },
      { accept: "*/*" },
    );
    const header = response.headers.get("Content-Disposition") ?? "";
    const named = /filename="?([\w.-]+)"?/.exec(header)?.[1];
    const address = URL.createObjectURL(await response.blob());
    el("a", { href: address, download: named ?? `perspectives.${ENDINGS[format]}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    say("The file is saved.");
  } catch (error) {
    showNotice(messageOf(error));
  }
  pressed.disabled = false;
}

async function copyLink() {
  const copied = await navigator.clipboard?.writeText(location.href).then(
    () => true,
    () => false,
  );
  const text = copied ? "Link copied" : "Copy it from the address bar";
  show($("copy-link"), text);
  say(text);
  setTimeout(() => show($("copy-link"), "Copy link"), 3000);
}

// ---- the start -----------------------------------------------------------------------------------

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Waits until the corpus can be asked, and shows how far it is; raises Failure where it cannot. */
async function whenReady() {
  for (let asked = 0; ; asked += 1) {
    let status = null;
    try {
      status = await (await call("/api/status")).json();
    } catch (error) {
      // Told to come back later: that is an answer too.
      if (error instanceof Failure) status = { phase: "reading" };
    }
    if (status?.ready) break;
    if (status?.phase === "failed") {
      $("loading").hidden = true;
      throw new Failure(sentence(status.error || "the passages could not be read"));
    }
    showLoading(status);
    await pause(status && asked < 5 ? 400 : 1500);
  }
  $("loading").hidden = true;
}

const PHASES = { reading: "Reading the passages", indexing: "Indexing the passages" };

function showLoading(status) {
  const { phase, done, total } = status ?? {};
  const what = PHASES[phase] ?? "The server does not answer; trying again";
  const of = total ? ` of ${total.toLocaleString("en")}` : "";
  if ($("loading").hidden) say(what);
  show($("loading-text"), done ? `${what}: ${done.toLocaleString("en")}${of}` : `${what} …`);
  $("loading").hidden = false;
  if (total) $("loading-bar").max = total;
  if (total) $("loading-bar").value = done;
  else $("loading-bar").removeAttribute("value");
}

async function learnAbout() {
  const response = await call("/api/about");
  Object.assign(app.about, await response.json());
  const { examples, passages, corpus } = app.about;
  const known = [corpus, passages && counted(passages, "passage")].filter(Boolean);
  show($("corpus"), known.join(" · "));
  const chip = (text) =>
    el(
      "li",
      {},
      button(text, () => askNew(text), { class: "example" }),
    );
  fill($("examples").querySelector("ul"), examples.map(chip));
  $("examples").hidden = !examples.length;
}

function grow(area) {
  if (CSS.supports("field-sizing", "content")) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

function countCharacters() {
  const { length } = $("question").value.trim();
  const longest = app.about.longest_question;
  $("question-count").textContent = length > longest - 100 ? `${length} of ${longest}` : "";
}

/** A form of one text: Enter sends it, Shift and Enter begin a new line. */
function listen(form, area, send) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(area.value);
  });
  area.addEventListener("input", () => grow(area));
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

/** Shows what the address names: at the start, and when a person goes back or forward. What was
 *  asked in this window is asked again; a link from elsewhere only fills in the question. */
function restore() {
  const request = requestOf(location.hash);
  if (!request) return;
  const asked = history.state?.asked || app.asked.some(({ key }) => key === location.hash);
  $("question").value = request.question;
  grow($("question"));
  countCharacters();
  if (asked) ask(request, { keepAddress: true });
  else app.linked = request;
}

function start() {
  listen($("ask"), $("question"), askNew);
  listen($("follow"), $("follow-question"), askFollowUp);
  $("question").addEventListener("input", countCharacters);
  $("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the fragment is the request's
    $("question").focus();
  });
  $("stop").addEventListener("click", () => app.stream.abort());
  $("copy-link").addEventListener("click", copyLink);
  for (const each of document.querySelectorAll("[data-format]")) {
    each.addEventListener("click", () => save(each.dataset.format, each));
  }
  addEventListener("popstate", () => (requestOf(location.hash) ? restore() : location.reload()));
  addEventListener("resize", () => {
    for (const list of document.querySelectorAll(".claims"))
      list.style.removeProperty("min-height");
  });
  const about = () => learnAbout().catch(() => undefined); // the page goes without it
  app.ready = about().then(whenReady);
  app.ready.then(
    () => app.about.passages || about(),
    () => undefined,
  );
  app.ready.catch((error) => showNotice(messageOf(error)));
  recall();
  restore();
}

start();
