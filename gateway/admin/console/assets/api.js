// What calls the gateway. Every call says that it is the page's own; whether a person uses
// the page just now decides whether the session counts as idle.

const personFor = 60000;
let lastDoing = Date.now();
for (const kind of ['pointerdown', 'keydown']) addEventListener(kind, () => { lastDoing = Date.now(); }, { capture: true, passive: true });

export class Failure extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const ourHeader = () => ({ 'X-Portico-Console': Date.now() - lastDoing < personFor ? 'person' : 'page' });

export async function failureOf(response) {
  const body = await response.json().catch(() => ({}));
  if (response.status === 401) dispatchEvent(new Event('signedout'));
  return new Failure(response.status, body.error?.code ?? '', body.error?.message ?? `The gateway answered ${response.status}.`);
}

export async function call(method, path, body, signal) {
  let response;
  const headers = ourHeader();
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  try {
    response = await fetch(path, { method, headers, signal, cache: 'no-store', body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new Failure(0, '', 'The gateway does not answer.');
  }
  if (!response.ok) throw await failureOf(response);
  return response.json();
}

export const get = (path, signal) => call('GET', path, undefined, signal);

// pages reads a list up to a number of pages.
export async function pages(path, signal, most = 3) {
  const value = [];
  let next = path;
  for (let i = 0; next && i < most; i++) {
    const page = await get(next, signal);
    value.push(...page.value ?? []);
    next = page.nextLink;
  }
  return { value, more: Boolean(next) };
}
