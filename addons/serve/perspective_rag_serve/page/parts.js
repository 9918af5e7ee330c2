/* Elements from text. What passages and models say becomes text here, never mark-up, and an address
   only where it is one of the web. */

// Control characters, and those that turn or hide text: a passage may use them to deceive.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;
const HUES = 6;

export const $ = (id) => document.getElementById(id);
export const clean = (text) => String(text ?? "").replace(UNSEEN, "");
export const stripped = (text) =>
  clean(text)
    .trim()
    .replace(/[.\s]+$/, "");
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const letterOf = (place) => String.fromCharCode(65 + place);
export const hueOf = (place) => (place < 0 ? "mixed" : String(place % HUES));

export function counted(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

const nothing = (child) => child === null || child === undefined || child === false;

/** An element; functions among the attributes listen to the event they are named after. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (nothing(value)) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : clean(value));
  }
  fill(node, ...children);
  return node;
}

/** Gives a node these children, texts as text, and takes the ones it had. */
export function fill(node, ...children) {
  const given = children.flat(Infinity).filter((child) => !nothing(child));
  node.replaceChildren(...given.map((child) => (child instanceof Node ? child : clean(child))));
}

/** Shows a text in a node, or hides the node where there is none. */
export function show(node, text) {
  node.textContent = clean(text);
  node.hidden = !text;
}

export function button(text, click, attributes = {}) {
  return el("button", { type: "button", class: "quiet", click, ...attributes }, text);
}

export const onlyRead = (text) => el("span", { class: "only-read" }, text);

/** A link to another site; null for what is no address of the web. */
export function link(address, text) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return null;
  const attributes = { href: url.href, target: "_blank", rel: "noopener noreferrer" };
  const away = el("span", { "aria-hidden": "true" }, " ↗");
  return el("a", attributes, text, away, onlyRead(" (opens a new tab)"));
}

/** The letter of a side; place -1: what is mixed. */
export function badge(place) {
  const attributes = { class: "badge", "data-hue": hueOf(place), "aria-hidden": "true" };
  return el("span", attributes, place < 0 ? "±" : letterOf(place));
}

/** Says it to a screen reader. */
export function say(text) {
  $("live").textContent = clean(text);
}
