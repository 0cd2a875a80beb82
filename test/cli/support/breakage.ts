import { entityTagOf } from '../../../src/platform/entity-tags/entity-tag';
import type { Breakage, BrokenRequest, BrokenResponse } from './breaking-proxy';

type IsMeant = (request: BrokenRequest, response: BrokenResponse) => boolean;

export const PET = /^\/v1\/pets\/\d+$/;
export const ORDER = /^\/v1\/store\/orders\/\d+$/;
export const at = (method: string, path: RegExp) => (request: BrokenRequest) =>
  request.method === method && path.test(request.path);
export const ADD_PET = at('POST', /^\/v1\/pets$/);
export const LIST_PETS = at('GET', /^\/v1\/pets(\?|$)/);
export const LIST_ORDERS = at('GET', /^\/v1\/store\/orders(\?|$)/);

/** Changes the responses that are meant. */
export function change(
  isMeant: IsMeant,
  apply: (response: BrokenResponse, request: BrokenRequest) => unknown,
): Breakage {
  return {
    response: (response, request) => {
      if (isMeant(request, response)) apply(response, request);
    },
  };
}

export const header = (isMeant: IsMeant, name: string, value?: string) =>
  change(isMeant, ({ headers }) => (headers[name] = value));
/** Changes a body, and its entity tag with it. */
export const rewrite = (isMeant: IsMeant, apply: (text: string) => string) =>
  change(isMeant, (response) => {
    response.text = apply(response.text);
    if (response.headers['etag'] !== undefined) response.headers['etag'] = entityTagOf(response.text);
  });
export const withStatus = (isMeant: IsMeant, status: number) =>
  change(isMeant, (response) => (response.status = status));
export const status =
  (isMeant: (request: BrokenRequest) => boolean, wanted: number): IsMeant =>
  (request, response) =>
    isMeant(request) && response.status === wanted;
export const withoutQuery = (isMeant: (request: BrokenRequest) => boolean, pattern: RegExp): Breakage => ({
  path: (path, method) => (isMeant({ method, path }) ? path.replace(pattern, '$1') : path),
});
export const withoutHeader = (isMeant: (request: BrokenRequest) => boolean, name: string): Breakage => ({
  headers: (headers, request) => {
    if (isMeant(request)) delete headers[name];
  },
});

/** Breaks a deployment in several ways. */
export function combined(breakages: readonly Breakage[]): Breakage {
  return {
    path: (path, method) => breakages.reduce((now, each) => each.path?.(now, method) ?? now, path),
    headers: (headers, request) => {
      for (const each of breakages) each.headers?.(headers, request);
    },
    response: (response, request) => {
      for (const each of breakages) each.response?.(response, request);
    },
  };
}
