/**
 * The responses of `getKey` and `getUsage`, as far as the page shows them.
 *
 * @typedef {{ limit: number, remaining: number, resetAt: string }} Window
 * @typedef {{ account: string, plan: string, id?: string, label?: string, scopes: string[], createdAt?: string,
 *   expiresAt?: string, limits: { minute: Window, day: Window },
 *   strikes: { count: number, banAfter: number, bannedUntil?: string } }} Key
 * @typedef {'admitted' | 'rejected' | 'failed' | 'errors'} Kind
 * @typedef {{ date: string } & Record<Kind, number>} Usage
 * @typedef {{ name: string, counts: number[] }} Day the counts in the order of `KINDS`
 */

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
/** @type {(selector: string) => NodeListOf<HTMLElement>} */
const all = (selector) => document.querySelectorAll(selector);
const form = document.forms[0];
/** @type {HTMLInputElement} */
const field = byId('key');
// The slash also keeps the query of this page out of an empty base.
const base = new URL(`${form.dataset.base}/`, location.href);
const number = new Intl.NumberFormat('en');
const time = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' });
/** @type {(text: string) => string} */
const timeOf = (text) => time.format(new Date(text));

/** An error whose message is for the person. */
class Problem extends Error {}

/**
 * Follows no redirect, so that the key is sent only to the configured address.
 *
 * @param {string} path
 * @param {string} text of the key
 */
async function read(path, text) {
  const url = `${base.href}${path}`;
  const headers = { Authorization: `Bearer ${text}` };
  const response = await fetch(url, { headers, credentials: 'omit', redirect: 'error' }).catch(() => {
    throw new Problem(`The service cannot be reached at ${url}.`);
  });
  const body = await response.json().catch(() => undefined);
  if (response.ok && body) return body;
  throw new Problem(body?.message ?? `The service responded with status ${response.status}.`);
}

/** @type {(name: string, content: string | Node) => HTMLElement} */
function element(name, content) {
  const made = document.createElement(name);
  made.append(content);
  return made;
}

/** @type {(selector: string, text: string) => void} */
function setText(selector, text) {
  for (const each of all(selector)) each.textContent = text;
}

/** @type {(name: string, window: Window, period: string) => void} */
function showWindow(name, { limit, remaining, resetAt }, period) {
  Object.assign(byId(name), { max: limit, low: limit / 10, optimum: limit, value: remaining });
  const left = `${number.format(remaining)} of ${number.format(limit)} requests are left ${period}`;
  byId(`${name}-text`).textContent = remaining === limit ? `${left}.` : `${left}, until ${timeOf(resetAt)}.`;
}

/**
 * Marks the operations that the key may not use with the scopes that they need.
 *
 * @param {string[]} scopes
 */
function showOperations(scopes) {
  const operations = [...all('[data-scopes]')];
  for (const { dataset, classList, children } of operations) {
    const needed = dataset.scopes ? dataset.scopes.split(' ') : [];
    const isAllowed = needed.length === 0 || needed.some((scope) => scopes.includes(scope));
    classList.toggle('denied', !isAllowed);
    children[children.length - 1].textContent = isAllowed ? '✓ allowed' : `needs ${needed.join(' or ')}`;
  }
  const denied = operations.filter(({ classList }) => classList.contains('denied'));
  const allowed = operations.length - denied.length;
  byId('allowed').textContent = `Your key may use ${allowed} of ${operations.length} operations.`;
}

/** @param {Key} key */
function showFacts({ id, label, scopes, createdAt, expiresAt, strikes: { count, banAfter } }) {
  const facts = {
    Label: label,
    Id: id,
    Scopes: scopes.join(', '),
    Created: createdAt && timeOf(createdAt),
    Expires: expiresAt ? timeOf(expiresAt) : 'never',
    Strikes: banAfter > 0 && `${count} in the last five minutes; the key is banned after ${banAfter}`,
  };
  const known = Object.entries(facts).filter(([, value]) => value);
  byId('facts').replaceChildren(
    ...known.flatMap(([name, value]) => [element('dt', name), element('dd', value || '')]),
  );
}

/** @type {Kind[]} */
const KINDS = ['admitted', 'rejected', 'failed', 'errors'];
const dayName = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** Returns the dates of 30 days. @param {string} end of the last one */
function datesUntil(end) {
  /** @type {(_: unknown, at: number) => string} */
  const dateOf = (_, at) => new Date(Date.parse(end) - 1 - (29 - at) * 86_400_000).toISOString();
  return Array.from({ length: 30 }, dateOf).map((text) => text.slice(0, 10));
}

/** @type {(list: Usage[], kind: Kind) => number} */
const sum = (list, kind) => list.reduce((total, each) => total + each[kind], 0);

/** Draws the counts of the keys of each day. @type {(dates: string[], items: Usage[]) => void} */
function drawUsage(dates, items) {
  const days = dates.map((date) => {
    const keys = items.filter((each) => each.date === date);
    return { name: dayName.format(new Date(date)), counts: KINDS.map((kind) => sum(keys, kind)) };
  });
  const heights = days.map(({ counts: [admitted, rejected] }) => admitted + rejected);
  const most = Math.max(...heights);
  const totals = KINDS.map((kind) => number.format(sum(items, kind)));
  byId('usage-text').textContent =
    most === 0
      ? 'No requests.'
      : `${totals[0]} admitted, ${totals[2]} of them with 4xx, ${totals[3]} with 5xx. ${totals[1]} rejected with 429.`;
  byId('usage').hidden = most === 0;
  byId('first-day').textContent = days[0].name;
  byId('last-day').textContent = days[29].name;
  const scale = [most, most / 2]
    .filter((value) => value && Number.isInteger(value))
    .map((value) => {
      const y = 100 - (value / most) * 100 + (value === most ? 7 : 3);
      return shape('text', { x: 303, y }, number.format(value));
    });
  byId('bars').replaceChildren(...scale, ...days.flatMap((day, at) => barsOf(day, most, at)));
  const rows = days
    .filter((_, at) => heights[at] > 0)
    .map(({ name, counts }) => {
      const row = element('tr', Object.assign(element('th', name), { scope: 'row' }));
      row.append(...counts.map((count) => element('td', number.format(count))));
      return row;
    });
  byId('days').replaceChildren(...rows);
}

/** Makes a part of the plot. @type {(name: string, facts: Record<string, string | number>, text?: string) => Element} */
function shape(name, facts, text = '') {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(facts)) made.setAttribute(key, String(value));
  made.append(text);
  return made;
}

/**
 * Returns a bar for the admitted requests, one above it for the rejected ones, and their numbers.
 *
 * @type {(day: Day, most: number, at: number) => Element[]}
 */
function barsOf({ name: day, counts: [admitted, rejected] }, most, at) {
  let top = 100;
  const bars = Object.entries({ admitted, rejected }).flatMap(([name, count]) => {
    if (count === 0) return [];
    // A line at least.
    const height = Math.max((count / most) * 100, 1);
    top -= height;
    const isOutlined = name === 'rejected' && height > 1;
    const inset = isOutlined ? 0.5 : 0;
    const facts = { x: at * 10 + 1.5 + inset, y: top + inset, width: 7 - 2 * inset };
    return [shape('rect', { ...facts, height: height - 2 * inset, class: name })];
  });
  const numbers = `${day}: ${number.format(admitted)} admitted, ${number.format(rejected)} rejected`;
  const column = shape('rect', { x: at * 10, width: 10, height: 100, class: 'day' });
  column.append(shape('title', {}, numbers));
  return [column, ...bars.map((bar) => (bar.append(shape('title', {}, numbers)), bar))];
}

/**
 * Reads the usage if a request is left: a rejected one could ban the key.
 *
 * @type {(text: string, key: Key, isCurrent: () => boolean) => Promise<void>}
 */
async function showUsage(text, { limits: { minute, day }, strikes }, isCurrent) {
  const dates = datesUntil(day.resetAt);
  byId('usage-card').hidden = false;
  byId('usage').hidden = true;
  byId('usage-text').textContent = '';
  let problem = 'No request is left to read the usage.';
  if (!strikes.bannedUntil && minute.remaining > 0 && day.remaining > 0) {
    try {
      const items = await read(`usage?from=${dates[0]}&to=${dates.at(-1)}`, text);
      if (isCurrent()) drawUsage(dates, items);
      return;
    } catch (error) {
      problem = error instanceof Problem ? error.message : 'The usage has an unexpected form.';
    }
  }
  if (isCurrent()) byId('usage-text').textContent = problem;
}

/** @param {Key} key */
function show(key) {
  const { account, plan, limits, strikes } = key;
  showWindow('minute', limits.minute, 'this minute');
  showWindow('day', limits.day, 'today (UTC)');
  showOperations(key.scopes);
  showFacts(key);
  byId('ban').textContent = strikes.bannedUntil
    ? `The key is banned until ${timeOf(strikes.bannedUntil)}, because it did not wait as Retry-After says.`
    : '';
  byId('summary').textContent = `The key is valid. It belongs to the account ${account}, plan ${plan}.`;
  byId('result').hidden = false;
}

/** @param {string} message */
function showProblem(message) {
  byId('problem').textContent = message;
  field.setAttribute('aria-invalid', String(message !== ''));
  if (message !== '') field.focus();
}

let turn = 0;
/** @param {string} text */
async function submit(text) {
  const own = (turn += 1);
  showProblem('');
  byId('summary').textContent = '';
  byId('result').hidden = byId('usage-card').hidden = true;
  setSecret();
  try {
    if (!/^[!-~]+$/.test(text)) throw new Problem('Paste an API key, without spaces.');
    const key = await read('key', text);
    if (own !== turn) return;
    show(key);
    setSecret(text);
    void showUsage(text, key, () => own === turn);
  } catch (error) {
    const message = error instanceof Problem ? error.message : 'The response has an unexpected form.';
    if (own === turn) showProblem(message);
  }
}

/** Puts the key into the snippets. @param {string} [key] */
function setSecret(key) {
  setText('.secret', key ?? 'API_KEY');
  document.body.classList.toggle('has-key', key !== undefined);
}

/** @param {boolean} isShown */
function reveal(isShown) {
  field.type = isShown ? 'text' : 'password';
  byId('reveal').setAttribute('aria-pressed', String(isShown));
  byId('reveal').textContent = isShown ? 'Hide' : 'Show';
  document.body.classList.toggle('hidden-key', !isShown);
}

setText('.base', base.href.slice(0, -1));
setText('.mcp', base.href.replace(/(\/v1)?\/$/, '/mcp'));
reveal(false);
byId('reveal').addEventListener('click', () => reveal(field.type === 'password'));
form.addEventListener('submit', (event) => {
  event.preventDefault();
  void submit(field.value.trim());
});
for (const snippet of all('.snippet pre')) {
  snippet.parentElement?.querySelector('button')?.addEventListener('click', () => {
    getSelection()?.selectAllChildren(snippet);
    // Also for pages without TLS, where `navigator.clipboard` is missing.
    document.execCommand('copy');
    getSelection()?.removeAllRanges();
    byId('copied').textContent = `Copied the ${snippet.ariaLabel} snippet.`;
  });
}
for (const link of all('a[href*="docs"]')) {
  link.addEventListener('click', ({ ctrlKey, metaKey, shiftKey }) => {
    const isHere = !ctrlKey && !metaKey && !shiftKey;
    const key = document.querySelector('.has-key .secret')?.textContent;
    // The reference keeps it, until the tab is closed.
    if (isHere && key) sessionStorage.setItem('key', key);
  });
}
// A browser may keep the page for the way back.
addEventListener('pagehide', () => {
  form.reset();
  setSecret();
});
