/* What the page asks of the server it came from; it asks no other. */

export const MOST_SIDES = 8;
export const MOST_TURNS = 10; // earlier questions that a follow-up is read with

/** What the server, or this page, has to say to a person. */
export class Failure extends Error {}

/** What the server says begins small and has no full stop. */
export const sentence = (text) =>
  text.charAt(0).toUpperCase() + text.slice(1).replace(/[.\s]*$/, ".");

async function failed(response) {
  const body = await response.json().catch(() => null);
  const said = body?.error?.message;
  if (response.status !== 429) {
    return new Failure(
      sentence(said || `the server could not do that (status ${response.status})`),
    );
  }
  const seconds = Math.ceil(Number(response.headers.get("Retry-After")));
  const when = seconds > 0 ? `in ${seconds} s` : "in a moment";
  return new Failure(`The server is answering as many questions as it can. Try again ${when}.`);
}

/** The response to a GET, or to a POST of ``body``; raises Failure with what the server said. */
export async function call(path, body, { signal, accept = "application/json" } = {}) {
  const options = { signal, headers: { Accept: accept } };
  if (body) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const response = await fetch(path, options);
  if (!response.ok) throw await failed(response);
  return response;
}

/** The server-sent events of a response: pairs of name and data. */
export async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n");
      const field = (name) =>
        lines.filter((line) => line.startsWith(name)).map((line) => line.slice(name.length));
      const [name] = field("event:");
      const data = field("data:").join("\n");
      if (name && data) yield [name.trim(), JSON.parse(data)];
    }
  }
}

export function bodyOf({ question, perspectives, previous, further }) {
  const body = { question };
  if (perspectives) body.perspectives = perspectives;
  if (previous) body.previous = previous;
  if (further) body.further = further;
  return body;
}

/** The address of a request, all in the fragment, which a browser sends to no server. */
export function fragmentOf({ question, perspectives, previous }) {
  const fields = new URLSearchParams({ q: question });
  for (const each of previous || []) fields.append("p", each);
  for (const { text, weight } of perspectives || []) {
    fields.append("s", text);
    fields.append("w", String(weight));
  }
  return `#${fields}`;
}

/** The request that a fragment names, or null. */
export function requestOf(fragment) {
  const fields = new URLSearchParams(fragment.slice(1));
  const question = fields.get("q")?.trim();
  if (!question) return null;
  const weights = fields.getAll("w").map(Number);
  const sides = fields
    .getAll("s")
    .slice(0, MOST_SIDES)
    .map((text, place) => ({ text, weight: weights[place] > 0 ? weights[place] : 1 }));
  const perspectives = sides.length ? sides : null;
  const earlier = fields.getAll("p").slice(-MOST_TURNS);
  return { question, perspectives, previous: earlier.length ? earlier : null, further: null };
}
