// Follows Portico's change feed and keeps a list of what exists, as docs/events.md says.
//
//   node follow.mjs poll|stream BASE FILE
//
// FILE holds the token and the list; it is replaced as a whole, so that whoever is killed
// goes on where the file says.
import { readFileSync, renameSync, writeFileSync } from "node:fs";

const [mode, base, file] = process.argv.slice(2);

let state = { token: "", exists: {}, seen: 0 };
try {
  state = JSON.parse(readFileSync(file, "utf8"));
} catch (e) {
  if (e.code !== "ENOENT") throw e;
}

function keep(token) {
  state.token = token;
  writeFileSync(file + ".new", JSON.stringify(state));
  renameSync(file + ".new", file);
}

function take(event) {
  state.seen++;
  const id = event.subject.toLowerCase(); // IDs differ in case alone
  if (event.data.exists === true) state.exists[id] = event.subject;
  if (event.data.exists === false) delete state.exists[id];
}

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

// refused handles an answer that is none: it says whether to try again.
async function refused(answer) {
  const text = await answer.text();
  if (answer.status !== 429 && answer.status < 500) throw new Error(`${answer.status} ${text}`);
  await pause(Number(answer.headers.get("retry-after") ?? 1));
}

async function poll() {
  const url = new URL("/admin/changes?wait=20s&limit=50", base);
  if (state.token) url.searchParams.set("after", state.token);
  const answer = await fetch(url);
  if (!answer.ok) return refused(answer);
  const page = await answer.json();
  page.value.forEach(take);
  if (page.next !== state.token) keep(page.next);
}

async function stream() {
  const headers = { accept: "text/event-stream" };
  if (state.token) headers["last-event-id"] = state.token;
  const answer = await fetch(new URL("/admin/changes", base), { headers });
  if (!answer.ok) return refused(answer);
  let text = "";
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const fields = {};
      for (const line of text.slice(0, end).split("\n")) {
        const [, name, value] = /^([^:]*): ?(.*)$/.exec(line);
        if (name) fields[name] = value;
      }
      if (fields.data) take(JSON.parse(fields.data));
      if (fields.id) keep(fields.id);
    }
  }
}

const once = { poll, stream }[mode];
for (;;) {
  try {
    await once();
  } catch (e) {
    // The gateway is away: its network error is a TypeError of fetch.
    if (!(e instanceof TypeError)) throw e;
    await pause(0.2);
  }
}
