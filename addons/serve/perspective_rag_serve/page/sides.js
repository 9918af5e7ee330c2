/* The sides as the question was read, as chips, and how a person changes them. */

import { $, badge, button, el, fill, hueOf, letterOf, onlyRead, say, stripped } from "./parts.js";
import { MOST_SIDES } from "./server.js";

const WEIGHTS = [
  [0.5, "half"],
  [1, "normal"],
  [2, "double"],
  [3, "triple"],
];
const plain = (sides) => sides.map(({ text, weight }) => ({ text, weight }));
const same = (one, other) => stripped(one).toLowerCase() === stripped(other).toLowerCase();

let reading = null;
let draft = []; // the sides as they are being changed
let editing = null; // the place of the side in the editor; draft.length: a new one
let askWith = null; // called with the changed sides

/** Shows how the question was read; ``ask`` is called with the sides a person asks again with. */
export function showSides(given, ask) {
  reading = given;
  draft = plain(given.perspectives);
  editing = null;
  askWith = ask;
  draw();
}

/** Draws all of it anew and puts the focus on what a selector finds. */
function draw(focus) {
  const told =
    draft.length && reading.perspectives.every(({ text }) => reading.text.includes(stripped(text)));
  const changed = JSON.stringify(draft) !== JSON.stringify(plain(reading.perspectives));
  fill(
    $("reading"),
    el(
      "p",
      { class: "understood", id: "understood", dir: "auto" },
      told ? "I understood:" : reading.text,
    ),
    el(
      "ul",
      { class: "chips", "aria-labelledby": "understood" },
      draft.map(chipOf),
      draft.length < MOST_SIDES && adding(),
    ),
    el("div", { id: "editor" }, editing !== null && editorOf(editing)),
    changed &&
      el(
        "div",
        { class: "again" },
        button("Ask again with these sides", () => askWith(draft), {
          class: "primary",
          id: "ask-again",
        }),
        button("Undo the changes", undo),
      ),
  );
  if (focus) ($("reading").querySelector(focus) ?? $("reading").querySelector("button")).focus();
}

function chipOf(side, place) {
  const attributes = { class: "chip", "data-hue": hueOf(place), ...opensEditor(place) };
  const text = el("span", { dir: "auto" }, side.text);
  const weight =
    side.weight !== 1 && el("span", { class: "weight" }, onlyRead("weight "), `×${side.weight}`);
  const chip = button("", () => edit(editing === place ? null : place), attributes);
  fill(chip, badge(place), onlyRead(`Change side ${letterOf(place)}: `), text, weight);
  return el("li", {}, chip);
}

function adding() {
  const attributes = { class: "chip add", ...opensEditor(draft.length) };
  return el(
    "li",
    {},
    button("Add a side", () => edit(draft.length), attributes),
  );
}

function opensEditor(place) {
  return { "aria-expanded": String(editing === place), "aria-controls": "editor" };
}

function edit(place) {
  const left = editing ?? 0;
  editing = place;
  draw(place === null ? `li:nth-child(${left + 1}) .chip` : "#side-text");
}

function undo() {
  showSides(reading, askWith);
  $("reading").querySelector("button").focus();
}

function editorOf(place) {
  const isNew = place === draft.length;
  const side = draft[place] ?? { text: "", weight: 1 };
  const text = el(
    "textarea",
    { id: "side-text", rows: "2", dir: "auto", "aria-describedby": "side-wrong" },
    side.text,
  );
  const known = WEIGHTS.some(([value]) => value === side.weight);
  const weights = known ? WEIGHTS : [...WEIGHTS, [side.weight, `×${side.weight}`]];
  const weight = selectOf("side-weight", weights, side.weight);
  const others = draft
    .map(({ text: said }, at) => [at, `${letterOf(at)}: ${said}`])
    .filter(([at]) => at !== place);
  const other = selectOf("side-other", others);
  const wrong = el("p", { class: "error", id: "side-wrong", role: "alert" });

  function keep(event) {
    event.preventDefault();
    const written = text.value.replace(/\s+/g, " ").trim();
    const twice = draft.some((each, at) => at !== place && same(each.text, written));
    if (!written || twice) {
      wrong.textContent = written ? "Another side says the same." : "Write the side as a sentence.";
      text.focus();
      return;
    }
    draft[place] = { text: written, weight: Number(weight.value) };
    editing = null;
    draw("#ask-again");
  }
  function merge() {
    const at = Number(other.value);
    const both = `${stripped(text.value)} or ${stripped(draft[at].text)}`;
    draft[place] = { text: both, weight: Math.max(Number(weight.value), draft[at].weight) };
    draft.splice(at, 1);
    editing = at < place ? place - 1 : place;
    say("Merged. You can word the merged side anew.");
    draw("#side-text");
  }
  function remove() {
    draft.splice(place, 1);
    editing = null;
    say("The side is removed.");
    draw("#ask-again");
  }
  function onKey(event) {
    if (event.key === "Escape") edit(null);
    if (event.key === "Enter" && event.target === text && !event.isComposing) keep(event);
  }

  const name = isNew ? "Add a side" : `Change side ${letterOf(place)}`;
  return el(
    "form",
    { class: "editor", "aria-label": name, submit: keep, keydown: onKey },
    el("label", { for: "side-text" }, "The side, as a sentence that a passage can support"),
    text,
    wrong,
    el(
      "div",
      { class: "fields" },
      el("span", { class: "pair" }, el("label", { for: "side-weight" }, "Weight"), weight),
      !isNew &&
        others.length > 0 &&
        el(
          "span",
          { class: "pair" },
          el("label", { for: "side-other" }, "Merge with"),
          other,
          button("Merge", merge),
        ),
    ),
    el(
      "div",
      { class: "fields" },
      el("button", { class: "primary" }, isNew ? "Add" : "Keep"),
      button("Cancel", () => edit(null)),
      !isNew && draft.length > 1 && button("Remove this side", remove, { class: "quiet away" }),
    ),
  );
}

function selectOf(id, choices, chosen) {
  return el(
    "select",
    { id },
    choices.map(([value, name]) => el("option", { value, selected: value === chosen }, name)),
  );
}
