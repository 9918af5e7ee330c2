/* A result: the answer with a place for each side, and one column of passages a side. */

import { $, badge, button, calm, counted, el, fill, hueOf, link, onlyRead, show } from "./parts.js";

const OTHERS = ["unsorted", "neither"]; // what stands under no side; the server says their titles
const SCORES = {
  relevance: "Similarity to the question (1: the same)",
  fused: "Rank in all searches together",
  selected: "What it added when it was chosen",
  named: "Names the topic (1: yes)",
  given: "Score it came with",
};
const spaced = (name) => name.replace(/[_:]+/g, " ");
const LONG_PASSAGE = 900; // characters from which on a passage is cut
const AROUND = 320; // characters shown before and after its supporting sentence

let view = null;
let can = null; // what a person can do: searchFurther(side); review(card, side, button) or null

/** Shows the cards, and room for ``claims`` sentences of each side, so that nothing moves when
 * they come. */
export function showView(given, { claims, ...actions }) {
  view = given;
  can = actions;
  const columns = view.sides.map((side, place) => ({ ...side, place }));
  if (view.mixed.length)
    columns.push({ text: view.titles.mixed, cards: view.mixed, place: -1 });
  const answered = view.mixed.length > 0 || view.sides.some(({ cards }) => cards.length);
  const nearest = columns.length || view.says_nothing ? null : view.unsorted[0];
  show($("headline"), view.headline);
  fill($("stands"), barOf());
  fill(
    $("body"),
    answered && answerOf(columns.map((column) => cellOf(column, claims))),
    nearest && answerOf([], awaitedOf([sentenceOf(nearest)])),
    columns.length > 0 && passagesOf(columns),
    OTHERS.map(othersOf),
  );
  for (const list of document.querySelectorAll(".claims")) {
    list.style.minHeight = `${list.offsetHeight}px`; // a shorter claim moves nothing up
  }
}

/** How many passages stand where, as a bar; the headline says the same in words. */
function barOf() {
  const parts = view.sides.map(({ name, cards }, place) => [name, cards.length, hueOf(place), place]);
  parts.push(["both ways", view.mixed.length, "mixed", null]);
  parts.push(["no side", view.neither.length, "none", null]);
  parts.push(["not sorted", view.unsorted.length, "open", null]);
  const some = parts.filter(([, count, , place]) => count > 0 || place !== null);
  if (!view.sides.length || !some.some(([, count]) => count)) return null;
  return el(
    "div",
    { class: "stands", "aria-hidden": "true" },
    el(
      "div",
      { class: "bar" },
      some.map(([, count, hue]) => {
        const part = count > 0 && el("span", { "data-hue": hue });
        if (part) part.style.flexGrow = count;
        return part;
      }),
    ),
    el(
      "ul",
      { class: "bar-key" },
      some.map(([name, count, hue]) =>
        el("li", { "data-hue": hue }, el("b", {}, String(count)), ` ${name}`),
      ),
    ),
  );
}

// ---- the answer ----------------------------------------------------------------------------------

/** The section of the answer; ``common``: what it says of no side. */
function answerOf(cells, common = []) {
  return el(
    "section",
    { id: "answer", "aria-labelledby": "answer-title", "aria-busy": "true" },
    el("h3", { id: "answer-title" }, "The answer"),
    cells.length > 0 && el("div", { class: "columns" }, cells),
    common.length > 0 && el("ul", { class: "claims common cell" }, common),
  );
}

/** Places for sentences that are to come, as long as these. */
function awaitedOf(sentences) {
  return sentences.map((words) =>
    el("li", { class: "awaited", "aria-hidden": "true" }, el("span", {}, words, " [0]")),
  );
}

function cellOf({ id, text, name, cards, place, empty }, claims) {
  const head = headOf({ text, name, place });
  const cell = (...rest) => el("div", { class: "cell", "data-hue": hueOf(place) }, head, ...rest);
  if (place < 0)
    return cell(
      el(
        "p",
        { class: "both-ways" },
        "Argued both ways in ",
        cards.map(({ n }) => citation(n, null)),
      ),
    );
  if (!cards.length)
    return cell(el("p", { class: "none" }, empty));
  const likely = Array.from({ length: claims }, (_, at) => sentenceOf(cards[at % cards.length]));
  return cell(el("ul", { class: "claims", "data-side": id }, awaitedOf(likely)));
}

/** One sentence of the answer, under its side. */
export function showClaim({ text, citations, perspective, reported, verified }) {
  const lists = [...document.querySelectorAll(".claims")];
  const list = lists.find((each) => each.dataset.side === perspective) ?? commonClaims();
  const item = el(
    "li",
    { dir: "auto" },
    text,
    reported && el("span", { class: "flag" }, "reports what others say"),
    verified === false && el("span", { class: "flag doubt" }, "its source does not clearly say so"),
    " ",
    citations.map((n) => citation(n, perspective)),
  );
  const place = list.querySelector(".awaited");
  if (place) place.replaceWith(item);
  else list.append(item);
}

/** Where claims of no side stand: below the sides, so that they move none of them. */
function commonClaims() {
  if (!$("answer")) $("body").prepend(answerOf([]));
  const list = $("answer").querySelector(".common") ?? el("ul", { class: "claims common cell" });
  $("answer").append(list);
  return list;
}

/** What a language model found that no passage says. */
export function showMissing(missing) {
  const lines = missing.map((text) => el("li", { dir: "auto" }, text));
  if (lines.length && $("answer"))
    $("answer").append(el("div", { class: "lacks" }, el("p", {}, "No passage says:"), el("ul", {}, lines)));
}

/** The end of the answer, whole or not: what was kept for further claims stays empty. */
export function settleAnswer() {
  document.querySelectorAll(".awaited").forEach((each) => each.remove());
  if ($("answer")?.querySelector(".common:only-of-type:empty")) $("answer").remove();
  $("answer")?.removeAttribute("aria-busy");
}

function citation(n, side) {
  const every = [
    ...view.sides.flatMap(({ cards }) => cards),
    ...view.mixed,
    ...OTHERS.flatMap((name) => view[name]),
  ];
  const card = every.find((each) => each.n === n);
  const name = `Passage ${n}: ${card?.title || card?.source || ""}`;
  return button(String(n), (event) => jump(n, side, event.currentTarget), {
    class: "cite",
    "aria-label": name,
  });
}

/** Goes to the card of a citation, opens what hides it, marks it, and offers the way back. */
function jump(n, side, from) {
  const cards = [...document.querySelectorAll(`.card[data-n="${n}"]`)];
  const card = cards.find((each) => each.dataset.side === side) ?? cards[0];
  if (!card) return;
  for (const each of document.querySelectorAll(".card.cited")) {
    each.classList.remove("cited");
    each.querySelector(".back").remove();
  }
  card.classList.add("cited");
  card
    .querySelector(".actions")
    .append(button("Back to the answer", () => goTo(from), { class: "quiet back" }));
  const hidden = card.closest("details");
  if (hidden) hidden.open = true;
  goTo(card);
}

function goTo(node) {
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block: "center", behavior: calm() ? "auto" : "smooth" });
}

// ---- the passages --------------------------------------------------------------------------------

function passagesOf(columns) {
  return el(
    "section",
    { "aria-labelledby": "passages-title" },
    el("h3", { id: "passages-title" }, "The passages"),
    el("div", { class: "columns" }, columns.map(columnOf)),
  );
}

/** The heading of a side: its short name to the eye, its statement to a screen reader. */
function headOf({ text, name, place }, attributes = {}) {
  const shown = el("span", { title: text }, name ?? text);
  return el("h4", { dir: "auto", "aria-label": text, ...attributes }, badge(place), shown);
}

function columnOf(side) {
  const { cards, place } = side;
  const alone =
    side.one_source && cards.length > 1 && !view.headline.includes("all from one source");
  const note = cards.length ? counted(cards.length, "passage") : "No passage";
  return el(
    "section",
    { class: "column", "data-hue": hueOf(place), "aria-labelledby": `side-${place}` },
    headOf(side, { id: `side-${place}`, tabindex: "-1" }),
    el("p", { class: "column-note" }, note, alone && ", all from one source"),
    cards.length ? grouped(side) : emptySide(side),
  );
}

function emptySide(side) {
  const queries = side.searched ?? [];
  return el(
    "div",
    { class: "empty" },
    el("p", {}, side.empty),
    queries.length > 0 && [el("p", { class: "searched" }, "Searched for:"), queriesOf(queries)],
    button("Search further", () => can.searchFurther(side), {
      "aria-describedby": `side-${side.place}`,
    }),
  );
}

const queriesOf = (queries) =>
  el(
    "ul",
    { class: "queries" },
    queries.map((query) => el("li", { dir: "auto" }, query)),
  );

/** The cards of a side, under their key points where the server found some. */
function grouped({ cards, points, place }) {
  const list = (some, level) =>
    el(
      "ol",
      { class: "cards" },
      some.map((card) => el("li", {}, cardOf(card, place, level))),
    );
  if (!points?.length) return list(cards, "h5");
  const told = new Set(points.flatMap((point) => point.cards));
  const groups = points.map((point) => [
    point.text,
    cards.filter(({ n }) => point.cards.includes(n)),
  ]);
  groups.push(["Further arguments", cards.filter(({ n }) => !told.has(n))]);
  return groups
    .filter(([, some]) => some.length)
    .map(([text, some]) => {
      const count = el("span", { class: "point-count" }, counted(some.length, "passage"));
      return el(
        "div",
        { class: "point" },
        el("h5", { dir: "auto" }, text, count),
        list(some, "h6"),
      );
    });
}

/** The passages of no side, folded unless nothing else is there. */
function othersOf(name) {
  const cards = view[name] ?? [];
  if (!cards.length) return null;
  const alone = !view.sides.some((side) => side.cards.length);
  return el(
    "details",
    { class: "others", open: alone },
    el("summary", {}, view.titles[name], !/\d/.test(view.titles[name]) && ` (${cards.length})`),
    el(
      "ol",
      { class: "cards columns" },
      cards.map((card) => el("li", {}, cardOf(card, null, "h4"))),
    ),
  );
}

let cardsMade = 0; // a passage may stand under two sides, so its number does not name a card

function cardOf(card, place, level) {
  cardsMade += 1;
  const title = `card-${cardsMade}`;
  const side = view.sides[place];
  const hue = hueOf(side ? place : -1);
  const attributes = {
    class: "card",
    tabindex: "-1",
    "data-n": card.n,
    "data-side": side?.id,
    "data-hue": hue,
    "aria-labelledby": title,
  };
  const known = [card.source !== card.title && card.source, card.date].filter(Boolean);
  return el(
    "article",
    attributes,
    el(
      "header",
      {},
      el("span", { class: "number" }, onlyRead("Passage "), String(card.n)),
      el(level, { id: title, dir: "auto" }, card.title || card.source || card.id),
    ),
    (known.length > 0 || card.leaning) &&
      el(
        "p",
        { class: "meta" },
        known.map((text) => el("span", { dir: "auto" }, text)),
        card.leaning && el("span", { class: "outlet" }, `outlet leaning: ${card.leaning}`),
      ),
    textOf(card),
    card.reported && el("p", { class: "flag" }, "reports what others say"),
    card.copies > 0 &&
      el(
        "p",
        { class: "copies" },
        `${counted(card.copies, "nearly identical passage")} folded into this one`,
      ),
    el(
      "div",
      { class: "actions" },
      card.why && whyOf(card.why),
      card.url && link(card.url, "Open the source"),
      can.review &&
        side &&
        button("Wrong side?", (event) => can.review(card, side, event.currentTarget)),
    ),
  );
}

const sentenceOf = ({ text, highlight }) =>
  highlight ? text.slice(...highlight) : text.slice(0, 160);

/** The passage with its supporting sentence marked; a long one is cut around it until opened. */
function textOf({ text, highlight }) {
  const [start, end] = highlight ?? [0, 0];
  const paragraph = el("p", { class: "passage", dir: "auto" });
  const write = (from, to) =>
    fill(
      paragraph,
      from > 0 && "… ",
      text.slice(from, start),
      highlight && el("mark", {}, text.slice(start, end)),
      text.slice(end, to),
      to < text.length && " …",
    );
  const from = start > AROUND ? Math.max(0, text.indexOf(" ", start - AROUND)) : 0;
  const to = text.indexOf(" ", Math.max(end + AROUND, from + LONG_PASSAGE));
  if (text.length <= LONG_PASSAGE || (from === 0 && to < 0)) {
    write(0, text.length);
    return paragraph;
  }
  write(Math.min(from, start), to < 0 ? text.length : to);
  paragraph.tabIndex = -1;
  const whole = button("Show the whole passage", () => {
    write(0, text.length);
    whole.remove();
    paragraph.focus();
  });
  return [paragraph, whole];
}

function whyOf({ scores = {}, found_by: queries = [], support = {} }) {
  const row = (name, ...value) =>
    el("div", {}, el("dt", { dir: "auto" }, name), el("dd", {}, ...value));
  const likely = Object.entries(support).map(([text, value]) => {
    if (typeof value !== "number") return row(text, "not judged");
    return row(
      text,
      el("meter", { min: 0, max: 1, value, "aria-hidden": "true" }),
      `${(100 * value).toFixed(0)} %`,
    );
  });
  const numbers = Object.entries(scores).map(([name, value]) =>
    row(
      SCORES[name] ?? (name.startsWith("search:") ? "What the search gave it" : spaced(name)),
      typeof value === "number" ? value.toFixed(3) : String(value ?? "unknown"),
    ),
  );
  const part = (title, content, some) => some && [el("p", { class: "why-title" }, title), content];
  return el(
    "details",
    { class: "why" },
    el("summary", {}, "Why this passage"),
    part(
      "How probable the judge finds it that the passage supports",
      el("dl", {}, likely),
      likely.length > 0,
    ),
    part("Found by the search for", queriesOf(queries), queries.length > 0),
    part("Scores, higher is better", el("dl", {}, numbers), numbers.length > 0),
  );
}
