import { createHash } from 'node:crypto';

const STYLE = /<style>(.*?)<\/style>/gs;
const SCRIPT = /<script>(.*?)<\/script>/gs;

/**
 * Returns the headers of an HTML page. Its content security policy (CSP 3) allows the page's own inline styles and
 * scripts by hash, and files of this origin. It forbids other inline code, eval, frames and other hosts.
 *
 * @param connectTo further origins that the page's scripts may send requests to
 */
export function pageHeaders(
  html: string,
  { connectTo = [] }: { connectTo?: readonly string[] } = {},
): Record<'Content-Type' | 'Content-Security-Policy' | 'Referrer-Policy', string> {
  const directives = {
    'default-src': ["'none'"],
    'script-src': ["'self'", ...hashesOf(html, SCRIPT)],
    'style-src': ["'self'", ...hashesOf(html, STYLE)],
    'img-src': ["'self'", 'data:'],
    'connect-src': ["'self'", ...connectTo],
    'base-uri': ["'none'"],
    'form-action': ["'none'"],
    'frame-ancestors': ["'none'"],
  };
  const policy = Object.entries(directives).map(([name, sources]) => `${name} ${sources.join(' ')}`);
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'Referrer-Policy': 'no-referrer',
  };
}

/** Lists the origins of base URLs, without those that are paths of this origin. */
export function originsOf(urls: readonly string[]): string[] {
  return urls.filter((url) => URL.canParse(url)).map((url) => new URL(url).origin);
}

function hashesOf(html: string, pattern: RegExp): string[] {
  return [...html.matchAll(pattern)].map(
    ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  );
}
