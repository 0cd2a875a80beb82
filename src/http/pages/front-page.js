/**
 * The responses of `getKey` and `getUsage`, as far as the page shows them.
 *
 * @typedef {{ limit: number, remaining: number, resetAt: string }} Window
 * @typedef {{ account: string, plan: string, id?: string, label?: string, scopes: string[], createdAt?: string,
 *   expiresAt?: string, limits: { minute: Window, day: Window },
 *   strikes: { count: number, banAfter: number, bannedUntil?: string } }} Key
 * @typedef {'admitted' | 'rejected' | 'failed' | 'errors'} Kind
 * @typedef {{ date: string } & Record<Kind, number>} Usage
 */

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const form = document.forms[0];
/** @type {HTMLInputElement} */
const field = byId('key');
// The slash also keeps the query of this page out of an empty base.
const base = new URL(`${form.dataset.base}/`, location.href).href;
/** @type {(value: number) => string} */
const numberOf = (value) => value.toLocaleString('en');
const time = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' });
/** @type {(text: string) => string} */
const timeOf = (text) => time.format(new Date(text));

/** @type {(name: string, ...content: (string | Node)[]) => HTMLElement} */
function element(name, ...content) {
  const made = document.createElement(name);
  made.append(...content);
  return made;
}

/**
 * Shows what the service responds to the key, unless the field has another key by then. It follows no redirect, so that
 * the key is sent only to the configured address.
 *
 * @type {(path: string, show: (body: any) => void, showProblem: (message: string) => void) => Promise<void>}
 */
async function load(path, show, showProblem) {
  const key = field.value.trim();
  const headers = { Authorization: `Bearer ${key}` };
  const options = /** @type {const} */ ({ headers, credentials: 'omit', redirect: 'error' });
  const response = await fetch(base + path, options).catch(() => undefined);
  const body = await response?.json().catch(() => undefined);
  if (field.value.trim() !== key) return;
  if (!response) return showProblem(`The service cannot be reached at ${base}${path}.`);
  if (!response.ok || !body)
    return showProblem(body?.message ?? `The service responded with status ${response.status}.`);
  try {
    show(body);
  } catch {
    showProblem('The response has an unexpected form.');
  }
}

/** @param {string} message */
function showKeyProblem(message) {
  byId('problem').textContent = message;
  field.setAttribute('aria-invalid', 'true');
  field.focus();
}

/** @type {(name: string, window: Window, period: string) => void} */
function showWindow(name, { limit, remaining }, period) {
  Object.assign(byId(name), { max: limit, low: limit / 10, optimum: limit, value: remaining });
  byId(`${name}-text`).textContent =
    `${numberOf(remaining)} of ${numberOf(limit)} requests are left ${period}.`;
}

/** @param {Key} key */
function showKey({ account, plan, id, label, scopes, createdAt, expiresAt, limits, strikes }) {
  const { minute, day } = limits;
  showWindow('minute', minute, 'this minute');
  showWindow('day', day, 'today (UTC)');
  const { count, banAfter, bannedUntil } = strikes;
  byId('ban').textContent = bannedUntil
    ? `The key is banned until ${timeOf(bannedUntil)}, because it did not wait as Retry-After says.`
    : '';
  const facts = {
    Label: label,
    Id: id,
    Scopes: scopes.join(', '),
    Created: createdAt && timeOf(createdAt),
    Expires: expiresAt ? timeOf(expiresAt) : 'never',
    Strikes: banAfter > 0 && `${count} in the last five minutes; the key is banned after ${banAfter}`,
  };
  byId('facts').replaceChildren(
    ...Object.entries(facts).flatMap(([name, value]) =>
      value ? [element('dt', name), element('dd', value)] : [],
    ),
  );
  byId('usage').hidden = true;
  showUsageText('');
  byId('summary').textContent = `The key is valid. It belongs to the account ${account}, plan ${plan}.`;
  byId('result').hidden = false;
  // A rejected request could ban the key.
  if (bannedUntil || minute.remaining === 0 || day.remaining === 0)
    showUsageText('No request is left to read the usage.');
  else void load('usage', (items) => showUsage(items, day.resetAt), showUsageText);
}

/** @param {string} text */
function showUsageText(text) {
  byId('usage-text').textContent = text;
}

/** @type {Kind[]} */
const KINDS = ['admitted', 'rejected', 'failed', 'errors'];
const dayName = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** Returns the sum of each kind. @param {Usage[]} items */
const countsOf = (items) => KINDS.map((kind) => items.reduce((sum, item) => sum + item[kind], 0));

/** Draws the 30 days until the end of a day. @type {(items: Usage[], end: string) => void} */
function showUsage(items, end) {
  const days = Array.from({ length: 30 }, (_, at) => {
    const date = new Date(Date.parse(end) - (30 - at) * 86_400_000);
    const ofDay = items.filter((item) => date.toISOString().startsWith(item.date));
    return { name: dayName.format(date), counts: countsOf(ofDay) };
  });
  const used = days.filter(({ counts: [admitted, rejected] }) => admitted + rejected > 0);
  if (used.length === 0) return showUsageText('No requests.');
  const [admitted, rejected, failed, errors] = countsOf(items).map(numberOf);
  showUsageText(
    `${admitted} admitted, ${failed} of them with 4xx, ${errors} with 5xx. ${rejected} rejected with 429.`,
  );
  const most = Math.max(...used.map(({ counts }) => counts[0] + counts[1]));
  byId('period').textContent =
    `${days[0].name} to ${days[29].name}, up to ${numberOf(most)} a day. Filled: admitted. Outlined: rejected.`;
  byId('bars').replaceChildren(...days.map(({ name, counts }) => barOf(name, counts, most)));
  byId('days').replaceChildren(
    ...used.map(({ name, counts }) => {
      const cells = counts.map((count) => element('td', numberOf(count)));
      return element('tr', Object.assign(element('th', name), { scope: 'row' }), ...cells);
    }),
  );
  byId('usage').hidden = false;
}

/** Returns the bar of a day: the admitted requests below the rejected ones. @type {(day: string, counts: number[], most: number) => HTMLElement} */
function barOf(day, counts, most) {
  const bar = element('div');
  bar.title = `${day}: ${numberOf(counts[0])} admitted, ${numberOf(counts[1])} rejected`;
  for (const [at, className] of ['admitted', 'rejected'].entries()) {
    if (counts[at] === 0) continue;
    const part = Object.assign(element('span'), { className });
    part.style.height = `${(counts[at] / most) * 100}%`;
    bar.append(part);
  }
  return bar;
}

function clear() {
  byId('problem').textContent = byId('summary').textContent = '';
  field.removeAttribute('aria-invalid');
  byId('result').hidden = true;
}

for (const each of document.querySelectorAll('.base')) each.textContent = base.slice(0, -1);
field.addEventListener('input', clear);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  clear();
  void load('key', showKey, showKeyProblem);
});
for (const program of document.querySelectorAll('pre')) {
  // The page shows no key: the copy has it.
  program.addEventListener('copy', (event) => {
    const text = String(getSelection()).replace('API_KEY', field.value.trim() || 'API_KEY');
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
  });
  program.parentElement?.querySelector('button')?.addEventListener('click', () => {
    getSelection()?.selectAllChildren(program);
    // Also for pages without TLS, where `navigator.clipboard` is missing.
    document.execCommand('copy');
    byId('copied').textContent = 'Copied.';
  });
}
// A browser may keep the page for the way back.
addEventListener('pagehide', () => {
  form.reset();
  clear();
});
